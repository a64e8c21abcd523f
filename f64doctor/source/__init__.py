"""Static reading of a script and its local modules: which files they are, and where they decide a precision. Runs nothing."""

from __future__ import annotations

import ast
import gc

from f64doctor.observe.facts import Mention, Source, SourceFile
from f64doctor.source.mentions import Mentions
from f64doctor.source.modules import LocalModules
from f64doctor.source.names import Names
from f64doctor.source.purpose import Purposes
from f64doctor.source.scopes import Call, File

_TENSORFLOW = frozenset({"tensorflow", "keras", "tf_keras"})

__all__ = ["read_source"]


def read_source(script: str, cwd: str) -> Source:
    """Reads a script, by its path from the folder ``cwd``, and the local modules that it imports. Never raises.

    A file that cannot be read, decoded or parsed is there with its lines and without mentions.
    """
    collecting = gc.isenabled()
    gc.disable()  # syntax trees are many small objects that all stay until the end: collecting doubles the time
    try:
        return _read(script, cwd)
    finally:
        if collecting:
            gc.enable()


def _read(script: str, cwd: str) -> Source:
    modules = LocalModules(script, cwd)
    names = Names(modules)
    mentions = Mentions(names, Purposes(names))
    found: list[Mention] = []
    for file in modules.files.values():
        in_order = sorted(file.calls, key=_place)
        of_file = [mention for call in in_order for mention in _mentions(mentions, call)]
        found.extend(sorted(of_file, key=lambda mention: mention.line))
    return Source(
        files=[SourceFile(path=file.path, lines=file.lines) for file in modules.files.values()],
        mentions=found,
        imports_tensorflow=any(_imports_tensorflow(file, modules) for file in modules.files.values()),
    )


def _mentions(mentions: Mentions, call: Call) -> list[Mention]:
    """The mentions of one call; code too strange to follow has none, and leaves the rest of the file readable."""
    try:
        return mentions.of(call)
    except RecursionError:
        return []


def _place(call: Call) -> tuple[int, int, int, int]:
    node = call.node
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _imports_tensorflow(file: File, modules: LocalModules) -> bool:
    for found in file.imports:
        if found.dead:
            continue
        node = found.node
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        roots = [] if isinstance(node, ast.ImportFrom) and node.level else [name.partition(".")[0] for name in names]
        if any(root in _TENSORFLOW and modules.absolute(root) is None for root in roots):
            return True
    return False
