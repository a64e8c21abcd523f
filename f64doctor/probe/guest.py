"""Makes the script a guest: what it would leave behind is held back, here and in the Python processes that it starts, and told."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable, Optional

from . import stack
from .imports import ImportWatch
from .native_writes import NativeWrites
from .overlay import Overlay, real_open
from .uploads import Uploads
from .wire import Wire
from .writes import Writes

VARIABLE = "F64DOCTOR_GUEST"
MOST_TOLD = 500
_CHILDREN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "children")


class Guest:
    """Everything that holds back, for one process. ``wire`` None: a child, which leaves word in a file for the process that has one."""

    def __init__(self, scratch: str, guarded: bool, wire: Optional[Wire], imports: ImportWatch) -> None:
        self._scratch = scratch
        self._guarded = guarded
        self._wire = wire
        self._told: set[tuple[str, str]] = set()
        self._word = os.path.join(scratch, "held_back")
        self.overlay = Overlay(scratch, self.note)
        self._writes = Writes(self.overlay, guarded)
        self._native = NativeWrites(self.overlay, imports)
        self._uploads = Uploads(self.note, imports)

    def hold_back(self) -> None:
        """Put everything in place, and see to it that Python processes started from here do the same."""
        self._writes.hold_back()
        self._native.hold_back()
        self._uploads.hold_back()
        self._prepare_children()

    def note(self, kind: str, what: str) -> None:
        """Tell, once, that something was held back."""
        if (kind, what) in self._told or len(self._told) >= MOST_TOLD:
            return
        if kind == "gone":
            self._told.discard(("file", what))
            if self._wire is not None and self._wire.in_charge:
                self._wire.send("held_back", kind=kind, what=what)
            return
        self._told.add((kind, what))
        if kind == "deletion":
            os.putenv(VARIABLE, self.order())
        frames = stack.user_frames()
        if self._wire is not None and self._wire.in_charge:
            self._wire.send("held_back", kind=kind, what=what, frames=frames)
            return
        line = json.dumps({"kind": kind, "what": what, "frames": frames}).encode("utf-8", "backslashreplace") + b"\n"
        try:
            descriptor = real_open(self._word, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError:
            pass

    def tell_of_children(self) -> None:
        """Tell what child processes left word of."""
        if self._wire is None:
            return
        try:
            with open(self._word, "rb") as file:
                lines = file.read(4 * 2**20).splitlines()
        except OSError:
            return
        for line in lines:
            try:
                held = json.loads(line)
                kind, what = str(held["kind"]), str(held["what"])
            except (ValueError, KeyError, TypeError):
                continue
            if (kind, what) not in self._told and len(self._told) < MOST_TOLD:
                self._told.add((kind, what))
                self._wire.send("held_back", kind=kind, what=what, frames=held.get("frames") or [])

    def _prepare_children(self) -> None:
        """Children find ``sitecustomize`` of ours first. The variables are set for them only: ``os.environ`` stays as it is."""
        os.putenv(VARIABLE, self.order())
        os.putenv("PYTHONPATH", os.pathsep.join(filter(None, [_CHILDREN, os.environ.get("PYTHONPATH")])))
        _wrap_children(self.order, self.overlay)

    def order(self) -> str:
        """What a child has to know."""
        return json.dumps([self._scratch, self._guarded, sorted(self.overlay.removed)])


def _wrap_children(order: Callable[[], str], overlay: Overlay) -> None:
    """Let children that are given an environment of their own have the two variables as well, and programs find the files that are named to them."""
    import subprocess

    original: Callable[..., Any] = subprocess.Popen.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        env = args[10] if len(args) > 10 else kwargs.get("env")
        if env is not None and not any(isinstance(key, bytes) for key in env):
            paths = os.pathsep.join(filter(None, [_CHILDREN, env.get("PYTHONPATH")]))
            env = {**env, VARIABLE: order(), "PYTHONPATH": paths}
            if len(args) > 10:
                args = (*args[:10], env, *args[11:])
            else:
                kwargs["env"] = env
        words = args[0] if args else kwargs.get("args")
        if overlay.touched and isinstance(words, (list, tuple)) and not kwargs.get("shell"):
            led = [_found(word, overlay) for word in words]
            if led != list(words):
                args, kwargs = (led, *args[1:]), {key: kwargs[key] for key in kwargs if key != "args"}
        original(self, *args, **kwargs)
        self.args = words

    init.__wrapped__ = original  # type: ignore[attr-defined]
    init.__name__, init.__qualname__, init.__doc__ = "__init__", "Popen.__init__", original.__doc__
    init.__module__ = "subprocess"
    subprocess.Popen.__init__ = init  # type: ignore[method-assign]


def _found(word: Any, overlay: Overlay) -> Any:
    """An argument of a program, led to the overlay when it names a file there."""
    if not isinstance(word, (str, os.PathLike)) or not os.fspath(word):
        return word
    try:
        place = overlay.for_reading(word)
    except (OSError, ValueError):
        return word
    return place if str(place).startswith(overlay.root) and os.path.isfile(place) else word


def in_child() -> None:
    """What a Python process that the script started does first."""
    order = os.environ.pop(VARIABLE, None)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != _CHILDREN]
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    else:
        os.environ.pop("PYTHONPATH", None)
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _CHILDREN]
    if order is None:
        return
    scratch, guarded, removed = json.loads(order)
    guest = Guest(scratch, guarded, None, ImportWatch(lambda where, error: None))
    guest.overlay.removed.update(removed)
    guest.hold_back()
