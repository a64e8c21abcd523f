"""Tells which functions of the local files nothing ever calls or hands on."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from f64doctor.source.scopes import File, Scope, spelled

_SILENT_DECORATORS = frozenset(
    {
        "function", "staticmethod", "classmethod", "property", "wraps", "lru_cache", "cache", "cached_property", "jit",
        "njit", "contextmanager", "abstractmethod", "override", "overload", "recompute_grad", "custom_gradient",
        "do_not_convert", "no_grad", "dataclass",
    }
)  # fmt: skip
_REACHES_ANYTHING = frozenset({"eval", "exec", "globals", "vars", "locals"})
_REACHES_ANYTHING_IN = frozenset({"Fire", "getmembers"})


def dead_functions(files: Iterable[File]) -> set[Scope]:
    """The functions and methods that no reachable code of these files mentions by name.

    Methods of a class that has a base class may be called by that base, decorated functions by their decorator, and any
    function by code that looks names up while running: those count as reachable.
    """
    files = [file for file in files if file.module is not None]
    functions = [function for file in files for function in file.functions]
    if not functions or any(_looks_names_up(file) for file in files):
        return set()
    if not any(_does_something(file) for file in files if file.is_script):
        return set()
    by_word: dict[str, list[Scope]] = {}
    nested: dict[int, list[Scope]] = {}
    for function in functions:
        by_word.setdefault(function.qualified_name.rpartition(".")[2], []).append(function)
        if function.parent is not None and function.parent.kind == "class":
            by_word.setdefault(function.parent.qualified_name.rpartition(".")[2], []).append(function)
        around = function.parent.function if function.parent is not None else None
        nested.setdefault(id(around), []).append(function)
    seen: set[str] = set()
    alive: set[Scope] = set()
    waiting = [file.module for file in files if file.module is not None]
    candidates = nested.get(id(None), [])
    while waiting or candidates:
        for function in candidates:
            if function not in alive and _reached(function, seen, alive):
                alive.add(function)
                waiting.append(function)
        candidates = []
        if waiting:
            scope = waiting.pop()
            fresh = scope.words - seen
            seen |= fresh
            candidates = [function for word in fresh for function in by_word.get(word, [])] + nested.get(id(scope), [])
    return set(functions) - alive


def _reached(function: Scope, seen: set[str], alive: set[Scope]) -> bool:
    around = function.parent.function if function.parent is not None else None
    if around is not None and around not in alive:
        return False
    name = function.qualified_name.rpartition(".")[2]
    if name in seen or _is_registered(function.node):
        return True
    owner = function.parent
    if owner is None or owner.kind != "class" or not isinstance(owner.node, ast.ClassDef):
        return False
    has_base = any(spelled(base) != "object" for base in owner.node.bases) or bool(owner.node.keywords)
    by_framework = has_base or (name.startswith("__") and name.endswith("__"))
    return by_framework and (owner.node.name in seen or _is_registered(owner.node))


def _is_registered(node: ast.AST) -> bool:
    """Whether a decorator may hand the function or class to someone else."""
    for decorator in getattr(node, "decorator_list", []):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if spelled(called).rpartition(".")[2] not in _SILENT_DECORATORS:
            return True
    return False


def _looks_names_up(file: File) -> bool:
    if any(word in file.loads for word in _REACHES_ANYTHING):
        return True
    for call in file.calls:
        name = call.last
        if name in _REACHES_ANYTHING_IN:
            return True
        if name == "getattr" and len(call.node.args) > 1 and not isinstance(call.node.args[1], ast.Constant):
            return True
    return False


def _does_something(file: File) -> bool:
    """Whether running a file calls anything at all: a file of definitions alone is there to be imported."""
    return any(call.scope.body.kind == "module" and not isinstance(call.statement, _DEFINITIONS) for call in file.calls)


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
