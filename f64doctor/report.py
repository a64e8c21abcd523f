"""The vocabulary of conclusions: what a checkup says, in structs that encode to the public JSON report."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

SCHEMA_VERSION = 1


class Status(str, Enum):
    """How a check ended."""

    PASSED = "passed"
    INFO = "info"
    WARNING = "warning"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"
    CRASHED = "crashed"


class Severity(str, Enum):
    """What a finding means for the user's work.

    ``error``: the run fails, or digits are lost on the way to the loss or the weights. ``warning``: it will bite on
    another device, another batch or a path not taken in this run. ``info``: worth knowing, nothing to do.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Grade(str, Enum):
    """How sure a finding is: seen while running, resolved statically, or only written in the source."""

    OBSERVED = "observed"
    INFERRED = "inferred"
    SUSPECTED = "suspected"


class Location(msgspec.Struct, frozen=True):
    """A line of the user's code. ``file`` is relative to the working folder where it can be; ``line`` counts from 1."""

    file: str
    line: int
    snippet: str = ""


class Related(msgspec.Struct, frozen=True):
    """Another line that belongs to a finding, and the part that it plays."""

    file: str
    line: int
    note: str = ""


class TimelineRow(msgspec.Struct, frozen=True):
    """One event: seconds since the run began (None when the order alone is known), where, what happened, the state after."""

    what: str
    state: str = ""
    seconds: float | None = None
    location: Location | None = None
    turning_point: bool = False


class Timeline(msgspec.Struct, frozen=True, tag_field="kind", tag="timeline"):
    """Events in the order in which they came to be; at most one of them is the turning point."""

    title: str
    rows: list[TimelineRow]


class Table(msgspec.Struct, frozen=True, tag_field="kind", tag="table"):
    """Rows of text cells under column heads."""

    title: str
    columns: list[str]
    rows: list[list[str]]


class Code(msgspec.Struct, frozen=True, tag_field="kind", tag="code"):
    """Consecutive source lines from ``first_line`` on; ``marked`` are the line numbers that matter."""

    title: str
    file: str
    first_line: int
    lines: list[str]
    marked: list[int] = []


class Message(msgspec.Struct, frozen=True, tag_field="kind", tag="message"):
    """Words of TensorFlow, Keras or the script itself, as they were."""

    title: str
    text: str


class Measure(msgspec.Struct, frozen=True, tag_field="kind", tag="measure"):
    """One number with its unit, and the same in words."""

    title: str
    value: float
    unit: str
    text: str


class ComparisonRow(msgspec.Struct, frozen=True):
    """One property, its value in each run, and whether the runs differ in it."""

    label: str
    values: list[str]
    differs: bool = False


class Comparison(msgspec.Struct, frozen=True, tag_field="kind", tag="comparison"):
    """Runs side by side: one column a run."""

    title: str
    columns: list[str]
    rows: list[ComparisonRow]


class BarPart(msgspec.Struct, frozen=True):
    """One part of a bar, in the unit of its bars."""

    name: str
    value: float


class Bar(msgspec.Struct, frozen=True):
    """One bar: its label, and its parts in the order in which they are stacked."""

    label: str
    parts: list[BarPart]

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return sum(part.value for part in self.parts)


class Bars(msgspec.Struct, frozen=True, tag_field="kind", tag="bars"):
    """Amounts of one unit (``bytes``, ``s``, …) to be seen beside each other, and beside a limit where there is one."""

    title: str
    unit: str
    bars: list[Bar]
    limit: float | None = None
    limit_label: str = ""


class SeriesLine(msgspec.Struct, frozen=True):
    """The values of one quantity, one for each place on the axis; None where it is not known."""

    name: str
    values: list[float | None]


class Series(msgspec.Struct, frozen=True, tag_field="kind", tag="series"):
    """Quantities of one unit over steps, batches or time: ``axis`` names what is counted, from ``first`` on."""

    title: str
    axis: str
    unit: str
    lines: list[SeriesLine]
    first: int = 1


Evidence = Timeline | Table | Code | Message | Measure | Comparison | Bars | Series


class Edit(msgspec.Struct, frozen=True):
    """A change of one file: the lines from ``line`` on that read ``old`` become ``new``."""

    file: str
    line: int
    old: str
    new: str


class Remedy(msgspec.Struct, frozen=True):
    """What to change and why it works; ``proved`` is None until the change was tried."""

    title: str
    why: str = ""
    before: str = ""
    after: str = ""
    edits: list[Edit] = []
    proved: bool | None = None


class Finding(msgspec.Struct, frozen=True):
    """One cause, with the line to change, its proof and its remedies."""

    code: str
    check: str
    title: str
    severity: Severity
    grade: Grade
    summary: str
    location: Location | None = None
    related: list[Related] = []
    evidence: list[Evidence] = []
    remedies: list[Remedy] = []


class CheckResult(msgspec.Struct, frozen=True):
    """How one of the five checks ended, in one sentence; ``evidence`` is what was verified, whatever the outcome."""

    name: str
    status: Status
    summary: str
    seconds: float = 0.0
    evidence: list[Evidence] = []


class ExceptionReport(msgspec.Struct, frozen=True):
    """The exception that ended a run: its type, its message, and the user's own frames, outermost first."""

    type: str
    message: str
    frames: list[Location] = []


class StepReport(msgspec.Struct, frozen=True):
    """One training step: the loss after it (None when unknown) and its wall time in seconds."""

    number: int
    loss: float | None = None
    seconds: float | None = None


class HeldBack(msgspec.Struct, frozen=True):
    """Something that the script did and that did not become real.

    ``kind``: ``file`` or ``folder`` (written to a scratch folder instead), ``deletion`` (hidden from the script only), ``upload`` or ``mail``
    (not sent). ``what``: the path, the address, or the recipients.
    """

    kind: str
    what: str
    location: Location | None = None


class RunReport(msgspec.Struct, frozen=True):
    """One execution of the target. ``bounded`` says in words what was cut short; memory in bytes.

    ``held_back``: what it would have written, deleted or sent.
    """

    name: str
    outcome: str
    seconds: float
    exit_code: int | None = None
    exception: ExceptionReport | None = None
    log_tail: str = ""
    bounded: list[str] = []
    steps: list[StepReport] = []
    peak_process_bytes: int | None = None
    peak_device_bytes: dict[str, int] = {}
    held_back: list[HeldBack] = []


class TargetReport(msgspec.Struct, frozen=True):
    """What was examined."""

    kind: str
    path: str
    args: list[str] = []


class Gpu(msgspec.Struct, frozen=True):
    """A card as the driver describes it; bytes, or None where the driver did not say."""

    index: int
    name: str
    total_bytes: int | None = None
    free_bytes: int | None = None
    compute_capability: str | None = None
    driver: str | None = None


class MemoryLimit(msgspec.Struct, frozen=True):
    """Bytes that the process may use, and where that number was read."""

    bytes: int
    source: str


class MemoryReport(msgspec.Struct, frozen=True):
    """Memory of this machine as the process may use it: the smallest limit wins. Bytes."""

    total_bytes: int | None = None
    available_bytes: int | None = None
    limits: list[MemoryLimit] = []


class Environment(msgspec.Struct, frozen=True):
    """Where the target ran. A version that is not known is None."""

    python: str | None = None
    executable: str | None = None
    tensorflow: str | None = None
    keras: str | None = None
    keras_backend: str | None = None
    numpy: str | None = None
    platform: str | None = None
    devices: list[str] = []
    gpus: list[Gpu] = []
    memory: MemoryReport = MemoryReport()


class Verdict(msgspec.Struct, frozen=True):
    """The one sentence, and the one thing to do."""

    status: Status
    root_cause: str | None
    summary: str
    float64_intended: bool | None
    advice: str = ""


class Report(msgspec.Struct, frozen=True):
    """Everything that a checkup concluded; encodes to the public JSON report."""

    target: TargetReport
    environment: Environment
    verdict: Verdict
    checks: list[CheckResult]
    findings: list[Finding]
    runs: list[RunReport]
    f64doctor: str
    schema_version: int = SCHEMA_VERSION
    seconds: float = 0.0

    def findings_of(self, check: str) -> list[Finding]:
        """The findings of one check, in the report's order."""
        return [finding for finding in self.findings if finding.check == check]


def worst(findings: list[Finding]) -> Status:
    """The status that a check with these findings has; ``passed`` when there are none."""
    severities = {finding.severity for finding in findings}
    if Severity.ERROR in severities:
        return Status.FAILED
    if Severity.WARNING in severities:
        return Status.WARNING
    return Status.INFO if severities else Status.PASSED


def encode(report: Report) -> bytes:
    """The report as JSON (UTF-8), two spaces a level."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2)


def decode(data: bytes) -> Report:
    """A report from its JSON. Raises ``msgspec.MsgspecError`` when it is none."""
    return msgspec.json.decode(data, type=Report)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the report."""
    return msgspec.json.schema(Report)
