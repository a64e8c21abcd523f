"""The fold of all facts of one checkup: what the checks judge, and all that they may know."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from f64doctor.observe.events import AnyEvent, Event, Failure, Frame
from f64doctor.observe.facts import CardUse, Machine, Source
from f64doctor.report import Location

E = TypeVar("E", bound=Event)


class Run(msgspec.Struct):
    """One execution of the target: its events in order, and how the process ended as seen from outside.

    ``outcome``: completed, stopped, raised, exited, killed (by a signal), timed-out, or unstarted. ``peak_bytes``: the largest resident set seen.
    ``oom_kills``: kills for memory that the kernel counted while it ran. ``notices``: the first lines of its log that
    TensorFlow's runtime wrote. ``undecoded``: lines of the pipe that were no events.
    ``cards``: what each card did meanwhile. ``left_behind``: processes that were still running when it was over, and were ended.
    """

    name: str
    outcome: str = "unstarted"
    seconds: float = 0.0
    exit_code: int | None = None
    signal: str = ""
    events: list[AnyEvent] = []
    log: str = ""
    log_lines_dropped: int = 0
    notices: list[str] = []
    peak_bytes: int | None = None
    oom_kills: int = 0
    undecoded: list[str] = []
    trouble: str = ""
    left_behind: int = 0
    cards: list[CardUse] = []

    def all(self, kind: type[E]) -> list[E]:
        """Every event of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    def last(self, kind: type[E]) -> E | None:
        """The last event of one kind, or None."""
        found = self.all(kind)
        return found[-1] if found else None

    @property
    def failure(self) -> Failure | None:
        """The exception that ended the script, if one did."""
        return self.last(Failure)


class Limits(msgspec.Struct, frozen=True):
    """The bounds under which the target ran: training steps in each fit (None: no bound), seconds for one run."""

    steps: int | None = 3
    time_limit: float = 300.0


class Observations(msgspec.Struct):
    """Everything known about the target. ``runs`` holds ``as-is`` first when the target ran at all; ``not_run`` says why it did not."""

    script: str
    cwd: str
    runs: list[Run] = []
    source: Source = Source()
    machine: Machine = Machine()
    limits: Limits = Limits()
    not_run: str = ""

    def run(self, name: str = "as-is") -> Run | None:
        """The run of that name, or None."""
        return next((run for run in self.runs if run.name == name), None)

    def shown(self, path: str) -> str:
        """A path as the user would write it: relative to the working folder where it can be."""
        relative = os.path.relpath(path, self.cwd)
        return path if relative.startswith("..") else relative

    def location(self, frame: Frame) -> Location:
        """A frame as a place to show, with its source text."""
        return Location(self.shown(frame.file), frame.line, frame.text or self.text(frame.file, frame.line))

    def text(self, path: str, line: int) -> str:
        """The text of one line of the user's source, stripped, or nothing where it is not known."""
        lines = self.lines(path)
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def lines(self, path: str) -> list[str]:
        """The lines of one of the user's files, empty where it is not known."""
        return next((file.lines for file in self.source.files if file.path == path), [])


def innermost(frames: Iterable[Frame]) -> Frame | None:
    """The user's line nearest to the event, or None when no user code was on the stack."""
    return next(reversed(list(frames)), None)
