"""Check 3: does it fail, or differ, only on the accelerator?"""

from __future__ import annotations

import math

from f64doctor.checks.outcome import could_not_look, ended
from f64doctor.checks.showing import code_at, gibibytes, location_of, related
from f64doctor.observe import Observations, Run, events, innermost
from f64doctor.report import (
    CheckResult,
    Comparison,
    ComparisonRow,
    Finding,
    Grade,
    Message,
    Remedy,
    Severity,
    Status,
    worst,
)

NAME = "device"
CPU_RUN = "cpu-only"
# Two devices sum in different orders: float64 results agree to about 1e-12 after a few steps of a well-conditioned model. A
# relative difference above this is far beyond rounding in double, and within reach of float32 or TF32 (about 3e-4).
TOLERANCE = 1e-6


def check(observations: Observations) -> tuple[CheckResult, list[Finding]]:
    """Compare the run as it is with the run on the CPU alone."""
    run = observations.run()
    if run is None:
        return CheckResult(NAME, Status.SKIPPED, observations.not_run or "nothing was run"), []
    devices = run.last(events.Devices)
    other = observations.run(CPU_RUN)
    accelerators = [name for name in devices.names if ":CPU:" not in name] if devices is not None else []
    unused = _unused(observations, run, accelerators, devices)
    if other is None:
        if accelerators:
            return CheckResult(
                NAME,
                Status.INCONCLUSIVE,
                f"TensorFlow lists {len(accelerators)} accelerator(s), but there was no CPU-only run",
            ), unused
        if devices is None:
            return could_not_look(NAME, run, "TensorFlow's devices were not listed"), unused
        said = "no accelerator here: TensorFlow lists the CPU only, so the run as it is is the CPU run"
        return CheckResult(NAME, Status.SKIPPED if not unused else worst(unused), said), unused
    comparison = _side_by_side(run, other)
    findings = [*unused, *_compare(observations, run, other, comparison)]
    if findings:
        return CheckResult(NAME, worst(findings), findings[0].summary, evidence=[comparison]), findings
    if _failed(run) and _failed(other):
        return CheckResult(
            NAME, Status.PASSED, "it fails on the CPU too, so the device is not the cause", evidence=[comparison]
        ), []
    if run.outcome not in ("completed", "stopped") or other.outcome not in ("completed", "stopped"):
        return CheckResult(
            NAME, Status.INCONCLUSIVE, f"as-is: {ended(run)}; CPU only: {ended(other)}", evidence=[comparison]
        ), []
    return CheckResult(
        NAME, Status.PASSED, "the same outcome on the accelerator and on the CPU", evidence=[comparison]
    ), []


def _failed(run: Run) -> bool:
    return run.outcome in ("raised", "exited", "killed")


def _compare(observations: Observations, run: Run, other: Run, comparison: Comparison) -> list[Finding]:
    failure = run.failure
    if _failed(run) and other.outcome in ("completed", "stopped"):
        frame = innermost(failure.frames) if failure is not None else None
        how = failure.type if failure is not None else ended(run)
        return [
            Finding(
                code="F301",
                check=NAME,
                title="it fails on the accelerator and works on the CPU",
                severity=Severity.ERROR,
                grade=Grade.OBSERVED,
                summary=f"As it is the run ends with {how}; with the accelerator hidden it works: a kernel, a driver or the hardware, not the model.",
                location=location_of(observations, frame),
                evidence=[
                    comparison,
                    *([Message(failure.type, failure.message[:900])] if failure is not None else []),
                    *(code_at(observations, frame) if frame else []),
                ],
                remedies=[
                    Remedy(
                        "run this part on the CPU: with tf.device('/CPU:0'), or CUDA_VISIBLE_DEVICES=\"\" for the whole script",
                        why="The same script, data and steps completed without the accelerator.",
                    )
                ],
            )
        ]
    parted = _first_difference(run, other)
    if parted is None:
        return []
    step, here, there, difference = parted
    fit = run.last(events.Fit)
    frame = innermost(fit.frames) if fit is not None else None
    return [
        Finding(
            code="F302",
            check=NAME,
            title="the losses on the accelerator and on the CPU part by more than float64 explains",
            severity=Severity.WARNING,
            grade=Grade.OBSERVED,
            summary=f"At step {step} the losses are {here:.10g} and {there:.10g}: {difference:.1e} relative, where float64 leaves about 1e-12.",
            location=location_of(observations, frame),
            related=related(observations, frame, "trained here"),
            evidence=[comparison],
            remedies=[
                Remedy(
                    "set seeds (keras.utils.set_random_seed) and compare again; then try tf.config.experimental.enable_tensor_float_32_execution(False)",
                    why="Random initial weights differ from run to run; TF32 rounds float32 matrix products, and touches no float64:"
                    " a difference that it removes is float32 in the model.",
                )
            ],
        )
    ]


def _first_difference(run: Run, other: Run) -> tuple[int, float, float, float] | None:
    """The first step whose losses differ by more than the tolerance, when the first one agrees: unseeded runs differ from the start."""
    pairs = [
        (a.number, a.loss, b.loss)
        for a, b in zip(run.all(events.Step), other.all(events.Step), strict=False)
        if a.loss is not None and b.loss is not None and a.number == b.number
    ]
    for index, (number, here, there) in enumerate(pairs):
        scale = max(abs(here), abs(there))
        difference = abs(here - there) / scale if scale and math.isfinite(scale) else 0.0
        if difference > TOLERANCE:
            return None if index == 0 and difference > 1e-2 else (number, here, there, difference)
    return None


def _side_by_side(run: Run, other: Run) -> Comparison:
    rows = [
        _row("outcome", ended(run) if _failed(run) else run.outcome, ended(other) if _failed(other) else other.outcome)
    ]
    a, b = run.failure, other.failure
    rows.append(_row("exception", a.type if a else "–", b.type if b else "–"))
    steps_a, steps_b = run.all(events.Step), other.all(events.Step)
    for index in range(min(6, max(len(steps_a), len(steps_b)))):
        left = steps_a[index].loss if index < len(steps_a) else None
        right = steps_b[index].loss if index < len(steps_b) else None
        close = left is not None and right is not None and math.isclose(left, right, rel_tol=TOLERANCE)
        rows.append(ComparisonRow(f"loss, step {index + 1}", [_number(left), _number(right)], not close))
    rows.append(ComparisonRow("seconds", [f"{run.seconds:.1f}", f"{other.seconds:.1f}"]))
    peaks = [gibibytes(r.peak_bytes) if r.peak_bytes else "–" for r in (run, other)]
    rows.append(ComparisonRow("peak of the process", peaks))
    return Comparison("side by side", [run.name, other.name], rows)


def _row(label: str, left: str, right: str) -> ComparisonRow:
    return ComparisonRow(label, [left, right], left != right)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.12g}"


def _unused(
    observations: Observations, run: Run, accelerators: list[str], devices: events.Devices | None
) -> list[Finding]:
    """The driver shows a card that TensorFlow does not list."""
    gpus = observations.machine.gpus
    if not gpus or accelerators or devices is None:
        return []
    tensorflow = next((library for library in run.all(events.Library) if library.name == "tensorflow"), None)
    hidden = any(s.name == "CUDA_VISIBLE_DEVICES" for s in run.all(events.Setting))
    reason = (
        "the script sets CUDA_VISIBLE_DEVICES"
        if hidden
        else "this TensorFlow was built without CUDA"
        if tensorflow is not None and tensorflow.built_with_cuda is False
        else "the log of the run says which library is missing"
    )
    return [
        Finding(
            code="F303",
            check=NAME,
            title="there is a card that TensorFlow does not use",
            severity=Severity.INFO if hidden else Severity.WARNING,
            grade=Grade.OBSERVED,
            summary=f"The driver shows {gpus[0].name}, TensorFlow lists no accelerator: {reason}.",
            evidence=[Message("devices", "\n".join(devices.names))],
            remedies=[]
            if hidden
            else [
                Remedy(
                    "install a TensorFlow with its CUDA libraries: pip install 'tensorflow[and-cuda]'",
                    why="Without them TensorFlow falls back to the CPU, silently.",
                )
            ],
        )
    ]
