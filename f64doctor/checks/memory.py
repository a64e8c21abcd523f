"""Check 5: is it a memory limit in disguise, and would float32 have fitted?"""

from __future__ import annotations

import math
import re

from f64doctor.amounts import bytes_in_words
from f64doctor.checks.intent import wish_of
from f64doctor.checks.outcome import ended
from f64doctor.checks.showing import code_at, location_of, related, shape_words
from f64doctor.observe import Frame, Observations, Run, events, innermost
from f64doctor.report import (
    Bar,
    BarPart,
    Bars,
    CheckResult,
    Evidence,
    Finding,
    Grade,
    Location,
    Measure,
    Message,
    Remedy,
    Severity,
    Status,
    Table,
    worst,
)

NAME = "memory"
_ALLOCATION = re.compile(
    r"OOM when allocating tensor with shape\s*\[([\d,\s]*)\] and type (\w+) on (\S+) by allocator (\S+)"
)
_NUMPY = re.compile(r"Unable to allocate ([\d.]+ \w+) for an array with shape \(([\d,\s]*)\) and data type (\w+)")
_PROTO = re.compile(
    r"larger than 2\s?GB|exceeds? (?:the )?(?:maximum protobuf size|2GB)|GraphDef cannot be larger than 2GB"
)
_OUT = re.compile(
    r"\bOOM\b|out of memory|failed to allocate|Unable to allocate|std::bad_alloc|RESOURCE_EXHAUSTED", re.IGNORECASE
)
_WIDTHS = {
    "double": 8,
    "float64": 8,
    "float": 4,
    "float32": 4,
    "half": 2,
    "float16": 2,
    "int64": 8,
    "int32": 4,
    "complex128": 16,
    "complex64": 8,
}
# A peak above this share of what is free is told before it becomes a failure.
NEAR = 0.9


def check(observations: Observations) -> tuple[CheckResult, list[Finding]]:
    """Judge how the run ended against what the machine allows."""
    run = observations.run()
    if run is None:
        return CheckResult(NAME, Status.SKIPPED, observations.not_run or "nothing was run"), []
    limit = _limit(observations)
    finding = _failure(observations, run, limit) or _killed(observations, run, limit) or _near(observations, run, limit)
    evidence = [*_bars(run, limit), _table(observations, run, limit)]
    if finding is not None:
        return CheckResult(NAME, worst([finding]), finding.summary, evidence=evidence), [finding]
    peak = _process_peak(run)
    if peak is None:
        return CheckResult(NAME, Status.INCONCLUSIVE, f"the peak was not measured: {ended(run)}", evidence=evidence), []
    said = f"peak {bytes_in_words(peak)}" + (f" of {bytes_in_words(limit)} free" if limit else "")
    if run.outcome not in ("completed", "stopped"):
        return CheckResult(
            NAME, Status.PASSED, f"{said} until {ended(run)}; no sign of a memory limit", evidence=evidence
        ), []
    return CheckResult(NAME, Status.PASSED, said, evidence=evidence), []


def _limit(observations: Observations) -> int | None:
    memory = observations.machine.memory
    known = [limit.bytes for limit in memory.limits] + ([memory.available_bytes] if memory.available_bytes else [])
    return min(known, default=None)


def _process_peak(run: Run) -> int | None:
    """The largest resident set, in bytes: what was seen from outside, or the kernel's own mark where that is higher."""
    told = [m.peak for m in run.all(events.Memory) if m.device == "process" and m.peak]
    return max([*told, *([run.peak_bytes] if run.peak_bytes else [])], default=None)


def _bars(run: Run, limit: int | None) -> list[Evidence]:
    """The peak of the process, its weights apart, beside what the machine allows; nothing where one of the two is not known."""
    peak = _process_peak(run)
    if not peak or not limit:
        return []
    fit = run.last(events.Fit)
    weights = min(fit.weight_bytes, peak) if fit is not None else 0
    parts = [BarPart("weights", float(weights)), BarPart("everything else", float(peak - weights))]
    bar = Bar("process, peak", [part for part in parts if part.value])
    return [Bars("peak beside what is free", "bytes", [bar], float(limit), "free")]


def _table(observations: Observations, run: Run, limit: int | None) -> Evidence:
    rows = []
    peak = _process_peak(run)
    rows.append(["process, peak", bytes_in_words(peak) if peak else "unknown", "resident set"])
    for memory in run.all(events.Memory):
        if memory.device != "process" and memory.peak:
            rows.append([f"{memory.device}, peak", bytes_in_words(memory.peak), "TensorFlow's allocator"])
    for bound in observations.machine.memory.limits:
        rows.append(["limit", bytes_in_words(bound.bytes), bound.source])
    fit = run.last(events.Fit)
    if fit is not None and fit.weight_bytes:
        rows.append(
            [
                "weights",
                bytes_in_words(fit.weight_bytes),
                ", ".join(f"{count} {dtype}" for dtype, count in fit.weights.items()),
            ]
        )
    return Table("memory", ["what", "bytes", "read from"], rows)


def _failure(observations: Observations, run: Run, limit: int | None) -> Finding | None:
    failure = run.failure
    if failure is None:
        return None
    message = failure.message
    frame = innermost(failure.frames)
    if _PROTO.search(message):
        return _two_gigabytes(observations, failure, frame)
    if failure.type not in ("ResourceExhaustedError", "MemoryError", "_ArrayMemoryError") and not (
        failure.type in ("InternalError", "UnknownError", "RuntimeError") and _OUT.search(message)
    ):
        return None
    shape, dtype, device = _tensor(message)
    evidence: list[Evidence] = [Message(failure.type, message[:900])]
    arithmetic, blame = "", None
    if shape is not None and dtype is not None:
        count = math.prod(shape)
        width = _WIDTHS.get(dtype, 8)
        size, half = count * width, count * 4
        free = limit
        arithmetic = f"{' x '.join(str(n) for n in shape)} x {width} bytes = {bytes_in_words(size)}"
        if width == 8:
            arithmetic += f" in float64, {bytes_in_words(half)} in float32"
        evidence.append(
            Measure(
                "one tensor", float(size), "bytes", arithmetic + (f"; {bytes_in_words(free)} is free" if free else "")
            )
        )
        blame = None if free is None or width != 8 or "GPU" in device else half <= free
    if blame is False:
        verdict = "the float32 tensor would not fit either: the size is the cause, not the dtype."
    elif blame:
        verdict = "in float32 it would fit: doubling the storage is what broke it."
    else:
        verdict = "memory ran out, not precision."
    words = (
        f"A tensor {shape_words(list(shape))} of {dtype} does not fit: {arithmetic}; {verdict}"
        if shape is not None
        else f"{failure.type}: {verdict}"
    )
    return Finding(
        code="F501",
        check=NAME,
        title="memory ran out: one tensor is larger than what is free" if shape is not None else "memory ran out",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=words,
        location=location_of(observations, frame),
        related=related(observations, failure.frames[0], "called from here") if len(failure.frames) > 1 else [],
        evidence=[*evidence, *(code_at(observations, frame) if frame else [])],
        remedies=[
            Remedy(
                "work in blocks or smaller batches, so that this tensor never exists as a whole"
                if blame is not True
                else "halve the batch or the block: float64 needs twice the bytes of float32",
                why="The arithmetic above is the whole story: bytes = product of the shape x bytes a value.",
                before=observations.location(frame).snippet if frame else "",
            )
        ],
    )


def _tensor(message: str) -> tuple[tuple[int, ...] | None, str | None, str]:
    found = _ALLOCATION.search(message)
    if found:
        return _shape(found.group(1)), found.group(2), found.group(3)
    found = _NUMPY.search(message)
    if found:
        return _shape(found.group(2)), found.group(3), "CPU"
    return None, None, ""


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part.strip())


def _two_gigabytes(observations: Observations, failure: events.Failure, frame: Frame | None) -> Finding:
    big = [operand for operand in failure.operands if operand.shape and all(operand.shape)]
    sizes = [
        (math.prod(size or 0 for size in operand.shape or []) * _WIDTHS.get(operand.dtype, 8), operand)
        for operand in big
    ]
    arithmetic: list[Evidence] = []
    half_fits = None
    if sizes:
        size, operand = max(sizes, key=lambda pair: pair[0])
        half_fits = size / 2 < 2**31
        arithmetic = [
            Measure(
                "constant",
                float(size),
                "bytes",
                f"{shape_words(operand.shape)} {operand.dtype}: {bytes_in_words(size)}; the limit is 2 GiB",
            )
        ]
    return Finding(
        code="F502",
        check=NAME,
        title="an array above 2 GB is stored inside a graph",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary="TensorFlow stores a constant of a tf.function in its graph, and no graph may exceed 2 GB"
        + {
            None: ".",
            True: ": the same array in float32 would fit, so doubling it is what broke it.",
            False: "; in float32 it would not fit either.",
        }[half_fits],
        location=location_of(observations, frame),
        related=related(observations, failure.frames[0], "called from here") if len(failure.frames) > 1 else [],
        evidence=[
            Message(failure.type, failure.message.strip()[-600:]),
            *arithmetic,
            *(code_at(observations, frame) if frame else []),
        ],
        remedies=[
            Remedy(
                "make the tensor outside the tf.function (a tf.Variable, or an argument of the function), or stream it in batches",
                why="Variables and arguments are referred to; constants are copied into the graph.",
                before=observations.location(frame).snippet if frame else "",
            )
        ],
    )


def _killed(observations: Observations, run: Run, limit: int | None) -> Finding | None:
    if run.outcome != "killed" or run.signal != "SIGKILL":
        return None
    peak = _process_peak(run) or 0
    near = limit is not None and peak >= NEAR * limit
    if not run.oom_kills and not near:
        return None
    frame, place = _last_line(observations, run)
    proof = (
        f"the kernel counted {run.oom_kills} kill(s) for memory while it ran"
        if run.oom_kills
        else "the process was at the limit when it was killed"
    )
    return Finding(
        code="F503",
        check=NAME,
        title="the process was killed for memory",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED if run.oom_kills else Grade.INFERRED,
        summary=f"SIGKILL without a word: {proof}; its peak was {bytes_in_words(peak)}"
        + (f" of {bytes_in_words(limit)}." if limit else "."),
        location=place,
        evidence=code_at(observations, frame) if frame else [],
        remedies=[
            Remedy(
                "use a smaller batch or fewer rows at once; float64 needs twice the memory of float32",
                why="The limit is the machine's or the container's; see the table of limits.",
            )
        ],
    )


def _last_line(observations: Observations, run: Run) -> tuple[Frame | None, Location | None]:
    """The last line of the user's that any event showed."""
    for event in reversed(run.events):
        frames = getattr(event, "frames", None)
        if frames:
            return frames[-1], observations.location(frames[-1])
    return None, None


def _near(observations: Observations, run: Run, limit: int | None) -> Finding | None:
    peak = _process_peak(run)
    if peak is None or limit is None or peak < NEAR * limit or not wish_of(observations).intended:
        return None
    _frame, place = _last_line(observations, run)
    return Finding(
        code="F504",
        check=NAME,
        title="the run came close to the memory limit",
        severity=Severity.WARNING,
        grade=Grade.OBSERVED,
        summary=f"The process peaked at {bytes_in_words(peak)} of {bytes_in_words(limit)}: a larger batch or a longer run may be killed.",
        location=place,
        evidence=[],
        remedies=[
            Remedy(
                "leave room: a smaller batch, or data read in pieces",
                why="Memory that runs out ends the process without an exception.",
            )
        ],
    )
