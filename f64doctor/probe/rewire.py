"""Watching functions: wrappers put on classes, and functions changed in place so that every name for them is watched."""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from typing import Any, Callable

# A constant that no program contains; the compiled stub carries it until the hook takes its place.
_MARK = 1.7976931348623e308j


def signature_kept(wrapper: Any, original: Any) -> None:
    """Let ``inspect.signature`` and ``getfullargspec`` see the original's parameters."""
    try:
        wrapper.__signature__ = inspect.signature(original)
    except (TypeError, ValueError):
        pass


def wrap_method(cls: type, name: str, around: Callable[..., Any]) -> bool:
    """Replace ``cls.name`` by a function that calls ``around(original, self, args, kwargs)``. False when the class has none."""
    original = cls.__dict__.get(name)
    if not callable(original):
        return False

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return around(original, self, args, kwargs)

    signature_kept(method, original)
    setattr(cls, name, method)
    return True


def change_in_place(function: Any, around: Callable[..., Any]) -> bool:
    """Make a plain function call ``around(original, args, kwargs)``, whichever name it is called by. False when it is no plain function."""
    if not isinstance(function, types.FunctionType):
        return False
    original = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    original.__dict__.update(function.__dict__)
    signature_kept(function, original)

    def hook(args: Any, kwargs: Any) -> Any:
        return around(original, args, kwargs)

    function.__code__ = _stub(function.__code__, hook)
    return True


def _stub(code: types.CodeType, hook: Callable[..., Any]) -> types.CodeType:
    """Code with the free variables and the name of ``code`` that calls ``hook(args, kwargs)``."""
    free = code.co_freevars
    body = ["def outer():"]
    body += ["    {} = None".format(name) for name in free]
    body += ["    def inner(*args, **kwargs):"]
    body += ["        if args is None: {}".format(", ".join(free))] if free else []
    body += ["        return {!r}(args, kwargs)".format(_MARK)]
    body += ["    return inner"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = compile("\n".join(body), code.co_filename, "exec")
    outer = next(const for const in module.co_consts if isinstance(const, types.CodeType))
    inner = next(const for const in outer.co_consts if isinstance(const, types.CodeType))
    consts = tuple(hook if isinstance(const, complex) and const == _MARK else const for const in inner.co_consts)
    return inner.replace(co_consts=consts, co_name=code.co_name, co_firstlineno=code.co_firstlineno)
