"""Follows an array back to the lines that made it: through names, calls, and objects that are the same."""

from __future__ import annotations

from pathlib import PurePath

from f64doctor.observe import Frame, Run, events

NARROW_FLOATS = frozenset({"float32", "float16", "bfloat16"})
MOST_ANCESTORS = 400


class Lineage:
    """The array events of one run, with the relation "was made from"."""

    def __init__(self, run: Run) -> None:
        self.arrays = run.all(events.Array)
        self._by_serial = {array.serial: array for array in self.arrays}
        self._by_name: dict[str, list[events.Array]] = {}
        self._at_line: dict[tuple[str, int], list[events.Array]] = {}
        for array in self.arrays:
            if array.how == "assigned":
                base = array.name.split("[", 1)[0]
                self._by_name.setdefault(base, []).append(array)
            if array.frames:
                here = array.frames[-1]
                self._at_line.setdefault((here.file, here.line), []).append(array)
        # Which events were made inside a statement: those with the statement's line as one of their outer frames.
        self._inside: dict[tuple[str, int], list[events.Array]] = {}
        for array in self.arrays:
            for frame in array.frames[:-1]:
                self._inside.setdefault((frame.file, frame.line), []).append(array)

    def get(self, serial: int | None) -> events.Array | None:
        """The event of this serial, or None."""
        return self._by_serial.get(serial) if serial is not None else None

    # -- one step back

    def parents(self, array: events.Array) -> list[events.Array]:
        """The events from which this one was made, as far as the run showed it."""
        found: dict[int, events.Array] = {}
        same = self.get(array.same_as)
        if same is not None:
            found[same.serial] = same
        if array.frames:
            here = array.frames[-1]
            for line in range(here.line, max(here.line, array.last_line) + 1):
                for inner in self._inside.get((here.file, line), []):
                    if inner.serial < array.serial:
                        found[inner.serial] = inner
                for beside in self._at_line.get((here.file, line), []):
                    if beside.serial < array.serial and beside.how == "called":
                        found[beside.serial] = beside
        # The object that a method was called on is known by identity; names tell only what identity does not.
        for event in self._named(array.uses, array.frames, array.scope, array.serial):
            found[event.serial] = event
        found.pop(array.serial, None)
        return list(found.values())

    def _named(self, names: list[str], frames: list[Frame], scope: str, before: int) -> list[events.Array]:
        found: list[events.Array] = []
        here = frames[-1] if frames else None
        for name in names:
            event = self._latest(name, here, scope, before)
            if event is not None:
                found.append(event)
            elif here is not None and scope and "." not in name and len(frames) > 1:
                # A parameter, perhaps: what the caller's statement reads may be what was passed.
                found.extend(self._passed(frames[:-1], before))
        return found

    def _latest(self, name: str, here: Frame | None, scope: str, before: int) -> events.Array | None:
        if here is None:
            return None
        candidates = [
            e for e in self._by_name.get(name, []) if e.serial < before and e.frames and e.frames[-1].file == here.file
        ]
        local = [e for e in candidates if e.scope == scope] or [e for e in candidates if not e.scope or "." in name]
        if local:
            return local[-1]
        if "." in name:
            module, _, attribute = name.rpartition(".")
            stem = module.rsplit(".", 1)[-1]
            foreign = [
                e
                for e in self._by_name.get(attribute, [])
                if e.serial < before and not e.scope and e.frames and PurePath(e.frames[-1].file).stem == stem
            ]
            return foreign[-1] if foreign else None
        imported = [e for e in self._by_name.get(name, []) if e.serial < before and not e.scope and "[" not in e.name]
        return imported[-1] if imported and not candidates else None

    def _passed(self, frames: list[Frame], before: int) -> list[events.Array]:
        caller = frames[-1]
        found: list[events.Array] = []
        for statement in self._at_line.get((caller.file, caller.line), []):
            for name in statement.uses:
                event = self._latest(name, caller, statement.scope, min(before, statement.serial))
                if event is not None and event.serial < before:
                    found.append(event)
        return found

    # -- all the way back

    def ancestors(self, starts: list[events.Array]) -> list[events.Array]:
        """The starts and everything that they were made from, oldest first."""
        seen: dict[int, events.Array] = {}
        pending = list(starts)
        while pending and len(seen) < MOST_ANCESTORS:
            array = pending.pop()
            if array.serial in seen:
                continue
            seen[array.serial] = array
            pending.extend(self.parents(array))
        return sorted(seen.values(), key=lambda event: event.serial)

    def starts(self, feed: events.Feed) -> list[events.Array]:
        """The events that are what was fed: the same object, else what the argument's expression reads or calls."""
        made = self.get(feed.made)
        if made is not None:
            # The last name that the object had before it was fed keeps the way through the user's statements.
            here = feed.frames[-1] if feed.frames else None
            named = [
                e
                for n in feed.uses
                if (e := self._latest(n, here, feed.scope, 1 << 60)) is not None and e.same_as == made.serial
            ]
            return [made, *named]
        if feed.loader is not None:
            return self._named(feed.uses, [feed.loader], feed.scope, 1 << 60)
        found: list[events.Array] = []
        if feed.frames:
            here = feed.frames[-1]
            found.extend(
                event
                for event in self._at_line.get((here.file, here.line), [])
                if event.how == "called" and set(event.uses) & set(feed.uses)
            )
            found.extend(self._named(feed.uses, feed.frames, feed.scope, 1 << 60))
        return found

    def at(self, frame: Frame | None) -> list[events.Array]:
        """The events of a line, latest first where a name was given, for a value whose object is not known."""
        return list(reversed(self._at_line.get((frame.file, frame.line), []))) if frame is not None else []

    def behind(self, feed: events.Feed) -> list[events.Array]:
        """Everything that was fed and what it was made from, oldest first."""
        return self.ancestors(self.starts(feed))

    def first_with(self, arrays: list[events.Array], dtypes: frozenset[str]) -> events.Array | None:
        """The event that first had one of these dtypes: it has it, and nothing that it was made from has.

        A conversion that was seen to lose digits comes before one that was not; among equals the oldest is the first.
        """
        having = {array.serial: array for array in arrays if array.dtype in dtypes and array.kind != "symbolic"}
        firsts = [
            array
            for array in having.values()
            if not any(p.serial in having and p.serial < array.serial for p in self.parents(array))
        ]
        firsts = [array for array in firsts if not harmless(array)] or firsts
        return min(firsts, key=lambda array: (not seen_to_lose(array), array.serial), default=None)


def harmless(array: events.Array) -> bool:
    """Whether the values are known and float32 holds them exactly: integers, labels, short binary fractions."""
    given = array.before_values
    if given is not None and array.before is not None and (array.values is None or array.values.size == given.size):
        return given.max_relative_error == 0.0
    if array.call.rsplit(".", 1)[-1] in ("empty", "empty_like", "memmap"):
        return False  # a container: what it holds when it is made says nothing
    return (
        array.values is not None
        and array.values.sampled > 0
        and array.values.nontrivial == 0
        and array.kind != "variable"
    )


def seen_to_lose(array: events.Array) -> bool:
    """Whether the call was given numbers that its result does not hold."""
    lost = array.before_values
    return array.before is not None and lost is not None and bool(lost.max_relative_error)
