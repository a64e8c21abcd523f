"""Turns what the instrumented lines show into array events: each line, dtype and caller once, and each object's maker remembered."""

from __future__ import annotations

import sys
import threading
from typing import Any, Optional

from . import arrays, stack
from .instrument import Site
from .wire import Wire

CALLERS_OF_A_LINE = 12
MOST_EVENTS = 3000
MOST_PENDING = 32


class Recorder:
    """Receives the values of instrumented lines (see ``instrument.Sites``) and sends ``array`` events."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._lock = threading.RLock()
        self._told: dict[tuple[int, str, str, int], int] = {}
        self._callers: dict[int, int] = {}
        self._pending: dict[tuple[int, int], Any] = {}
        self._serial = 0
        self._busy = threading.local()
        self.makers = arrays.Makers()

    def _enter(self) -> bool:
        if getattr(self._busy, "on", False) or not self._wire.in_charge or self._serial >= MOST_EVENTS:
            return False
        self._busy.on = True
        return True

    def _leave(self) -> None:
        self._busy.on = False

    def assigned(self, number: int, site: Site, values: tuple[Any, ...]) -> None:
        """One or more names have new values."""
        if not self._enter():
            return
        try:
            for name, value in zip(site.names, values):
                if "." in name:
                    holder = getattr(value, "__dict__", None)
                    value = holder.get(name.split(".", 1)[1]) if isinstance(holder, dict) else None
                if type(value) is dict and 0 < len(value) <= 64:
                    for key, item in list(value.items()):
                        self._note(number, site, item, "{}[{!r}]".format(name, key))
                else:
                    self._note(number, site, value, name)
        except Exception as error:  # noqa: BLE001 - the script must not notice
            self._wire.trouble("recording an assignment", error)
        finally:
            self._leave()

    def before(self, number: int, value: Any) -> None:
        """A call is about to convert this value; it is kept until the call has returned, so that it can still be described then."""
        if len(self._pending) > MOST_PENDING:
            self._pending.clear()  # of calls that raised
        self._pending[(threading.get_ident(), number)] = value

    def after(self, number: int, site: Site, value: Any) -> None:
        """A call gave this value."""
        before = self._pending.pop((threading.get_ident(), number), None)
        if not self._enter():
            return
        try:
            self._note(number, site, value, "", before)
        except Exception as error:  # noqa: BLE001 - the script must not notice
            self._wire.trouble("recording a call", error)
        finally:
            self._leave()

    def _note(self, number: int, site: Site, value: Any, name: str, before: Any = None) -> None:
        last = site.call.rsplit(".", 1)[-1] if site.call else ""
        described = arrays.describe(value)
        if described is None and last == "FloatList":
            described = arrays.Described("message", "float32", None)
        if described is None:
            # Of the exact types: a subclass may do anything when it is asked for its length.
            if type(value) in (list, tuple) and value and site.how == "assigned":
                # Of many only the first is looked at: the others are most likely made by the same line.
                for index, item in enumerate(value if len(value) <= 16 else value[:1]):
                    if arrays.describe(item) is not None:
                        self._note(number, site, item, "{}[{}]".format(name, index))
            return
        caller: Optional[Any] = sys._getframe(1)
        while caller is not None and stack.owner(caller.f_code.co_filename) == stack.PROBE:
            caller = caller.f_back
        outer = caller.f_back if caller is not None else None
        while outer is not None and stack.owner(outer.f_code.co_filename) != stack.USER:
            outer = outer.f_back
        taken = arrays.describe_numbers(before) if before is not None else None
        outer_line = 0 if outer is None else hash((outer.f_code.co_filename, outer.f_lineno))
        key = (number, name, described.dtype + ">" + (taken.dtype if taken else ""), outer_line)
        serial = self._told.get(key)
        if serial is not None:
            self.makers.remember(value, serial, first=site.how == "assigned")
            return
        if self._callers.get(number, 0) >= CALLERS_OF_A_LINE:
            return
        with self._lock:
            self._callers[number] = self._callers.get(number, 0) + 1
            self._serial += 1
            serial = self._told[key] = self._serial
        earlier = self.makers.of(value)
        values = described.values()
        if earlier is None and described.kind == "scalar" and described.dtype == "float32" and site.how == "assigned":
            earlier = self.makers.of_scalar(float(value))  # a number has no identity that lasts
        if described.dtype == "float32" and hasattr(described.value, "tobytes"):
            if earlier is None and site.how == "assigned":
                # What this run wrote to a file and reads back is another object with the same numbers.
                earlier = self.makers.of_content(described.value)
            self.makers.remember_content(described.value, serial if earlier is None else earlier)
        if values is not None and values["size"] == 1 and values["exact"] == values["nontrivial"] == 1:
            self.makers.remember_value(_only(described.value), serial if earlier is None else earlier)
        frames = stack.user_frames(caller)
        if frames:
            frames[-1] = dict(frames[-1], line=site.line, text=stack.frame_facts(site.file, site.line, "")["text"])
        self._wire.send(
            "array",
            serial=serial,
            how=site.how,
            kind=described.kind,
            dtype=described.dtype,
            name=name,
            text=site.text,
            call=site.call,
            before=taken.dtype if taken else None,
            before_values=_lost(taken, described, before),
            shape=described.shape,
            values=values,
            scope=site.scope,
            last_line=site.last_line,
            uses=site.uses,
            same_as=earlier,
            frames=frames,
        )
        # A name given to an object that a call on the same line made does not make it: its maker stays the maker.
        self.makers.remember(value, serial, first=earlier is not None and site.how == "assigned")

    def note_variable(self, value: Any, frames: list[dict[str, Any]], how: str) -> Optional[int]:
        """An object that no instrumented line showed, made at ``frames``; its serial, or None when it holds no numbers."""
        described = arrays.describe(value)
        if described is None or self._serial >= MOST_EVENTS:
            return None
        with self._lock:
            self._serial += 1
            serial = self._serial
        self._wire.send(
            "array",
            serial=serial,
            how=how,
            kind=described.kind,
            dtype=described.dtype,
            shape=described.shape,
            frames=frames,
        )
        self.makers.remember(value, serial)
        return serial


def _lost(taken: Optional[arrays.Described], given: arrays.Described, before: Any) -> Optional[dict[str, Any]]:
    """The values that a call was given, where comparing them with its result can tell a loss."""
    if taken is None:
        return None
    if taken.dtype in ("int64", "uint64", "int32", "uint32") and arrays.is_narrow(given.dtype):
        return arrays.whole_numbers(before)  # above 2**24 float32 has no place for each of them
    if taken.dtype != "float64":
        return None
    cut = arrays.is_narrow(given.dtype) or given.dtype.startswith(("int", "uint"))
    return taken.values() if cut or taken.kind in ("number", "list") else None


def _only(value: Any) -> float:
    """The one number in a float, a list of one, or an array of one."""
    if isinstance(value, list):
        value = value[0]
    return float(value.item() if hasattr(value, "item") else value)
