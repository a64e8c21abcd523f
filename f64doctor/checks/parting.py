"""Reasons from runs side by side which of them part, where, and which of XLA, TF32 and the accelerator is the reason."""

from __future__ import annotations

import math
import statistics

import msgspec

from f64doctor.amounts import bytes_in_words
from f64doctor.checks.outcome import ended
from f64doctor.checks.placement import failing
from f64doctor.checks.runtime_words import of_kind, what_was_said
from f64doctor.observe import Observations, Run, events
from f64doctor.report import Comparison, ComparisonRow

CPU_RUN = "cpu-only"
GPU_WITHOUT_XLA = "gpu-without-xla"
CPU_WITH_XLA = "cpu-with-xla"
GPU_WITHOUT_TF32 = "gpu-without-tf32"

# Two devices add in different orders. A sum of n doubles then differs by up to n roundings of 1.1e-16: 1e-11 for a hundred thousand terms.
# Each training step multiplies what came before, by ten at most in a model that learns at all. Past 1e-8 it is no double's rounding: a
# single rounding to float32 is 6e-8, one to TF32's ten bits 5e-4.
FIRST_STEP = 1e-11
GROWTH = 10.0
MOST = 1e-8
# The same reasoning for a model that computes in float32.
NARROW_FIRST_STEP = 1e-4
NARROW_MOST = 1e-2
# Small differences grow for ever: later steps tell nothing about rounding.
JUDGED_STEPS = 10
# Beyond this at the very first step the runs began with other weights.
OTHER_WEIGHTS = 1e-2


class Parted(msgspec.Struct, frozen=True):
    """The first step whose losses differ by more than the tolerance."""

    step: int
    here: float
    there: float
    difference: float
    tolerance: float


def worked(run: Run | None) -> bool:
    """Whether the script came to its end, or to the bound of steps."""
    return run is not None and run.outcome in ("completed", "stopped")


def failed(run: Run | None) -> bool:
    """Whether the script failed of its own; running out of time is no answer."""
    return run is not None and run.outcome in ("raised", "exited", "killed")


def narrow(run: Run) -> bool:
    """Whether the traced functions compute in float32 for the most part."""
    graphs = run.all(events.Graph)
    doubles = sum(graph.dtypes.get("float64", 0) for graph in graphs)
    return sum(graph.dtypes.get("float32", 0) for graph in graphs) > doubles


def tolerance(step: int, is_narrow: bool) -> float:
    """The largest relative difference of losses that rounding explains at this step."""
    first, most = (NARROW_FIRST_STEP, NARROW_MOST) if is_narrow else (FIRST_STEP, MOST)
    return min(most, first * GROWTH ** min(step - 1, 20))


def compared(run: Run, other: Run) -> tuple[Parted | None, str]:
    """Where the losses part, or None; and why nothing follows from them, empty when something does."""
    pairs = [
        (a.number, a.loss, b.loss)
        for a, b in zip(run.all(events.Step), other.all(events.Step), strict=False)
        if a.loss is not None and b.loss is not None and a.number == b.number
    ][:JUDGED_STEPS]
    if not pairs:
        return None, "no losses were seen in both"
    settings = run.last(events.DeviceSettings)
    is_narrow = narrow(run)
    for index, (number, here, there) in enumerate(pairs):
        both_broken = not math.isfinite(here) and not math.isfinite(there)
        scale = max(abs(here), abs(there))
        difference = 0.0 if both_broken or scale == 0 else abs(here - there) / scale
        if math.isnan(difference):
            difference = math.inf
        allowed = tolerance(number, is_narrow)
        if difference > allowed:
            unseeded = settings is not None and settings.seeded is False
            if index == 0 and (unseeded or OTHER_WEIGHTS < difference < math.inf):
                return None, "the losses differ from the first step on, as they do without a seed"
            return Parted(number, here, there, difference, allowed), ""
    return None, ""


def follow_ups(observations: Observations) -> list[str]:
    """The runs that would tell why the run as it is and the one on the CPU disagree; none when they agree."""
    run, other = observations.run(), observations.run(CPU_RUN)
    if run is None or other is None:
        return []
    disagree = failed(run) != failed(other) and (worked(run) or worked(other)) and not explained(run)
    parted = worked(run) and worked(other) and compared(run, other)[0] is not None
    wanted = []
    if (disagree or parted) and _may_use_xla(run):
        wanted += [GPU_WITHOUT_XLA, CPU_WITH_XLA]
    return wanted + ([GPU_WITHOUT_TF32] if parted else [])


def explained(run: Run) -> bool:
    """Whether the exception itself says why the run fails on this device, so that more runs would tell nothing."""
    kinds = ("driver-old", "no-capability", "cudnn", "no-compiler", "busy", "determinism")
    return bool(failing(run)) or any(one.raised for one in of_kind(what_was_said(run), *kinds))


def _may_use_xla(run: Run) -> bool:
    """False only when every training call was seen, and none of them compiled."""
    fits = run.all(events.Fit)
    return not fits or any(fit.jit_compile is not False for fit in fits)


def reason_of_failure(observations: Observations) -> tuple[str, str]:
    """Why it fails on the accelerator and not on the CPU: ``xla``, ``device`` or nothing, and the sentence that says how it is known."""
    plain, compiled = observations.run(GPU_WITHOUT_XLA), observations.run(CPU_WITH_XLA)
    if worked(plain):
        if failed(compiled):
            return (
                "xla",
                "Without XLA it works on the accelerator, and with XLA it fails on the CPU too: it is XLA, not the card.",
            )
        return "xla", "Without XLA it works on the accelerator: it is what XLA makes for that device."
    if failed(plain):
        too = " With XLA it fails on the CPU as well." if failed(compiled) else ""
        return "device", f"It fails there without XLA too: a kernel, a driver or the hardware.{too}"
    return "", ""


def reason_of_parting(observations: Observations) -> tuple[str, str]:
    """Why the losses part: ``tf32``, ``xla``, ``device`` or nothing, and the sentence that says how it is known."""
    other = observations.run(CPU_RUN)
    if other is None:
        return "", ""
    exact, plain = observations.run(GPU_WITHOUT_TF32), observations.run(GPU_WITHOUT_XLA)
    if exact is not None and worked(exact) and _agree(exact, other):
        return (
            "tf32",
            "With TF32 switched off the losses agree: TF32 rounds float32 products only, so something in the model is float32.",
        )
    if plain is not None and worked(plain) and _agree(plain, other):
        return (
            "xla",
            "Without XLA the losses agree: it is what XLA makes of the model, not the accelerator's own kernels.",
        )
    if exact is not None and plain is not None and worked(exact) and worked(plain):
        return "device", "They part without TF32 and without XLA too: the accelerator's own kernels differ."
    return "", ""


def _agree(run: Run, other: Run) -> bool:
    parted, unknown = compared(run, other)
    return parted is None and not unknown


# -- side by side


def side_by_side(observations: Observations) -> Comparison:
    """All runs, one column each: how they ended, losses, times and memory."""
    runs = [run for run in observations.runs if run.name in (*_NAMES, "as-is")]
    rows = [
        _row("outcome", [ended(run) if failed(run) else run.outcome for run in runs]),
        _row("exception", [run.failure.type if run.failure else "–" for run in runs]),
    ]
    steps = [run.all(events.Step) for run in runs]
    is_narrow = narrow(runs[0])
    for index in range(min(6, max((len(one) for one in steps), default=0))):
        losses = [one[index].loss if index < len(one) else None for one in steps]
        allowed = tolerance(index + 1, is_narrow)
        first = losses[0]
        differs = any(
            loss is None or first is None or not math.isclose(loss, first, rel_tol=allowed) for loss in losses[1:]
        )
        rows.append(ComparisonRow(f"loss, step {index + 1}", [_number(loss) for loss in losses], differs))
    rows.append(ComparisonRow("a step, median", [_median(one) for one in steps]))
    rows.append(ComparisonRow("seconds", [f"{run.seconds:.1f}" for run in runs]))
    rows.append(
        ComparisonRow(
            "peak of the process", [bytes_in_words(run.peak_bytes) if run.peak_bytes else "–" for run in runs]
        )
    )
    peaks = [
        max((m.peak for m in run.all(events.Memory) if m.device != "process" and m.peak), default=0) for run in runs
    ]
    if any(peaks):
        rows.append(ComparisonRow("peak of the device", [bytes_in_words(peak) if peak else "–" for peak in peaks]))
    return Comparison("side by side", [run.name for run in runs], rows)


_NAMES = (CPU_RUN, GPU_WITHOUT_XLA, CPU_WITH_XLA, GPU_WITHOUT_TF32)


def _row(label: str, values: list[str]) -> ComparisonRow:
    return ComparisonRow(label, values, len(set(values[:2])) > 1)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.12g}"


def _median(steps: list[events.Step]) -> str:
    """The median time of the steps after the first, which is traced."""
    seconds = [step.seconds for step in steps[1:] if step.seconds is not None]
    return f"{statistics.median(seconds) * 1000:.1f} ms" if seconds else "–"
