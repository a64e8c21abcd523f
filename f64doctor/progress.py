"""What a checkup tells while it goes on: one struct for each kind of news, shown by every front end."""

from __future__ import annotations

import msgspec

from f64doctor.report import CheckResult, Environment, Finding, Report, RunReport, TargetReport


class Planned(msgspec.Struct, frozen=True):
    """Said first: what will be examined, by which interpreter, in which runs, and within which bounds.

    ``allow_writes``: what it writes, deletes and sends is not held back.
    """

    target: TargetReport
    interpreter: str
    runs: list[str]
    steps: int | None
    time_limit: float
    allow_writes: bool = False


class RunStarted(msgspec.Struct, frozen=True):
    """A run of the target began."""

    name: str
    why: str


class RunProgress(msgspec.Struct, frozen=True):
    """Where a run stands: seconds so far, training steps seen, last loss, resident bytes of its processes, new lines of its log."""

    name: str
    seconds: float
    steps: int = 0
    loss: float | None = None
    resident_bytes: int | None = None
    stage: str = ""
    log: list[str] = []


class RunEnded(msgspec.Struct, frozen=True):
    """A run of the target is over."""

    run: RunReport


class EnvironmentKnown(msgspec.Struct, frozen=True):
    """Versions, devices and memory are known, or known better."""

    environment: Environment


class CheckStarted(msgspec.Struct, frozen=True):
    """A check is being judged, or waits for a run that it needs."""

    name: str


class CheckJudged(msgspec.Struct, frozen=True):
    """One of the checks has its result."""

    result: CheckResult
    findings: list[Finding]


class Finished(msgspec.Struct, frozen=True):
    """The last news: the whole report."""

    report: Report


Progress = Planned | RunStarted | RunProgress | RunEnded | EnvironmentKnown | CheckStarted | CheckJudged | Finished
