"""Folders that a file adds to ``sys.path``, as far as the expressions say so without running."""

from __future__ import annotations

import ast
import os

from f64doctor.source.scopes import File, spelled

_SAME_FOLDER = frozenset({"abspath", "realpath", "normpath", "expanduser", "Path", "PurePath", "str", "fspath"})
_SAME_PATH_METHODS = frozenset({"resolve", "absolute", "as_posix", "expanduser", "__str__"})
_ADDS = frozenset({"append", "insert", "extend", "addsitedir"})
_DEEPEST = 20


def added_folders(file: File, cwd: str) -> list[str]:
    """Absolute folders that ``sys.path.append``, ``insert``, ``extend`` or ``site.addsitedir`` calls of this file name."""
    folders: list[str] = []
    for call in file.calls:
        arguments = call.node.args
        if call.last not in _ADDS or call.region.dead or not arguments:
            continue
        name = spelled(call.node.func)
        if name in ("sys.path.append", "site.addsitedir"):
            values = arguments[:1]
        elif name == "sys.path.insert":
            values = arguments[1:2]
        elif name == "sys.path.extend" and isinstance(arguments[0], (ast.List, ast.Tuple)):
            values = arguments[0].elts
        else:
            continue
        for value in values:
            folder = _path(value, file, cwd, 0)
            if folder is not None:
                folders.append(os.path.normpath(os.path.join(cwd, folder)))
    return folders


def _path(node: ast.expr, file: File, cwd: str, depth: int) -> str | None:
    """The path that an expression gives, None when it cannot be told."""
    if depth > _DEEPEST:
        return None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        if node.id == "__file__":
            return file.path
        bindings = file.module.bindings.get(node.id, []) if file.module is not None else []
        values = [binding.node for binding in bindings if binding.kind == "value"]
        return _path(values[-1], file, cwd, depth + 1) if values and isinstance(values[-1], ast.expr) else None
    if isinstance(node, ast.Attribute):
        if node.attr == "parent":
            return _parent(_path(node.value, file, cwd, depth + 1))
        return {"pardir": "..", "curdir": "."}.get(node.attr)
    if isinstance(node, ast.Subscript):
        return _ancestor(node, file, cwd, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Add)):
        left = _path(node.left, file, cwd, depth + 1)
        right = _path(node.right, file, cwd, depth + 1)
        if left is None or right is None:
            return None
        return os.path.join(left, right) if isinstance(node.op, ast.Div) else left + right
    if isinstance(node, ast.JoinedStr):
        parts = [
            _path(part.value if isinstance(part, ast.FormattedValue) else part, file, cwd, depth + 1)
            for part in node.values
        ]
        return "".join(part or "" for part in parts) if None not in parts else None
    if isinstance(node, ast.Call):
        return _call(node, file, cwd, depth)
    return None


def _call(node: ast.Call, file: File, cwd: str, depth: int) -> str | None:
    name = spelled(node.func).rpartition(".")[2] or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
    if name in ("getcwd", "cwd"):
        return cwd
    if isinstance(node.func, ast.Attribute) and not node.args and name in _SAME_PATH_METHODS:
        return _path(node.func.value, file, cwd, depth + 1)
    parts = [_path(argument, file, cwd, depth + 1) for argument in node.args]
    known = [part for part in parts if part is not None]
    if not known or len(known) != len(parts):
        return None
    if name == "dirname":
        return _parent(known[0])
    if name == "join" or (name in _SAME_FOLDER and len(known) > 1):
        return os.path.join(*known)
    return os.path.join(cwd, known[0]) if name in _SAME_FOLDER else None


def _ancestor(node: ast.Subscript, file: File, cwd: str, depth: int) -> str | None:
    """``path.parents[n]``."""
    if not (isinstance(node.value, ast.Attribute) and node.value.attr == "parents"):
        return None
    if not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int) and 0 <= node.slice.value < 50):
        return None
    folder = _path(node.value.value, file, cwd, depth + 1)
    for _ in range(node.slice.value + 1):
        folder = _parent(folder)
    return folder


def _parent(path: str | None) -> str | None:
    return None if path is None else os.path.dirname(path)
