"""Tells the condition under which a stretch of code runs, as it is written."""

from __future__ import annotations

import ast

from f64doctor.source.scopes import File, Region

LONGEST_GUARD = 200


def guard(region: Region, file: File) -> str:
    """The nearest condition around a region within its function, empty when there is none."""
    conditions = region.conditions()
    if not conditions:
        return ""
    nearest = conditions[0]
    owner = nearest.owner
    if isinstance(owner, (ast.If, ast.While, ast.IfExp)):
        test = written(owner.test, file)
        return test if nearest.branch == "body" else f"not ({test})"
    if isinstance(owner, ast.ExceptHandler):
        return f"except {written(owner.type, file)}" if owner.type is not None else "except"
    if isinstance(owner, ast.Match):
        case = owner.cases[int(nearest.branch)]
        pattern = written(case.pattern, file)
        condition = f" if {written(case.guard, file)}" if case.guard is not None else ""
        return f"match {written(owner.subject, file)}: case {pattern}{condition}"
    return ""


def written(node: ast.AST, file: File) -> str:
    """The source text of a node on one line."""
    first = getattr(node, "lineno", 0)
    last = getattr(node, "end_lineno", 0) or 0
    lines = [line.encode("utf-8", "surrogatepass") for line in file.lines[first - 1 : last]]
    if not lines:
        return ""
    lines[-1] = lines[-1][: getattr(node, "end_col_offset", 0)]
    lines[0] = lines[0][getattr(node, "col_offset", 0) :]
    text = b" ".join(line.strip() for line in lines).decode("utf-8", "replace")
    return text[:LONGEST_GUARD]
