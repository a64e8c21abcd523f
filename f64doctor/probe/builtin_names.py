"""Gives the probe back the built-in functions that it needs, where the script has put others in their place."""

from __future__ import annotations

import builtins
from contextlib import contextmanager
from typing import Any, Iterator


class BuiltinNames:
    """The built-in names as they are when this is made."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = dict(vars(builtins))

    def keep(self) -> None:
        """Take the names as they are now."""
        self._names = dict(vars(builtins))

    @contextmanager
    def restored(self) -> Iterator[None]:
        """The names as they were, and then again as the script left them."""
        names = vars(builtins)
        theirs = dict(names)
        names.update(self._names)
        try:
            yield
        finally:
            names.update(theirs)
            for name in [name for name in names if name not in theirs]:
                del names[name]
