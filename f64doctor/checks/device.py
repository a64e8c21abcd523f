"""Check 3: does it fail, or differ, only on the accelerator, and is it a kernel, the driver, XLA or TF32?"""

from __future__ import annotations

import re

import msgspec

from f64doctor.checks import environment, obstacles, parting, placement, speed
from f64doctor.checks.intent import wish_of
from f64doctor.checks.mismatch import mismatch_of
from f64doctor.checks.outcome import could_not_look, ended
from f64doctor.checks.parting import CPU_RUN, CPU_WITH_XLA, failed, worked
from f64doctor.checks.runtime_words import of_kind, what_was_said
from f64doctor.checks.scene import scene_of
from f64doctor.checks.showing import code_at, location_of, plural, related
from f64doctor.observe import Frame, Observations, Run, events, innermost
from f64doctor.report import CheckResult, Comparison, Evidence, Finding, Grade, Message, Remedy, Severity, Status, worst

NAME = "device"


def check(observations: Observations) -> tuple[CheckResult, list[Finding]]:
    """Compare the run as it is with the run on the CPU alone, and judge what a GPU would make of it where there is none."""
    run = observations.run()
    if run is None:
        return CheckResult(NAME, Status.SKIPPED, observations.not_run or "nothing was run"), []
    devices = run.last(events.Devices)
    accelerators = [name for name in devices.names if ":CPU:" not in name] if devices is not None else []
    scene = scene_of(observations, run, accelerators)
    other = observations.run(CPU_RUN)
    compared: list[Evidence] = [parting.side_by_side(observations)] if other is not None else []
    found = environment.findings_of(scene, listed=devices is not None) + obstacles.findings_of(scene)
    if not any(finding.code == obstacles.NO_FLOAT64 for finding in found):
        found += placement.findings_of(observations, run, accelerators, compared)
    if other is not None and not any(finding.severity is Severity.ERROR for finding in found):
        found = [*_differences(observations, run, other, compared), *found]
    rate = speed.rate_of(scene)
    found = _ordered([*found, *([rate] if rate is not None else [])], compared)
    tables = (speed.rates(scene), speed.card_use(scene))
    proof = [*compared, *(table for table in tables if table is not None)]
    return _result(observations, run, other, found, proof, devices, accelerators), found


def _ordered(found: list[Finding], compared: list[Evidence]) -> list[Finding]:
    """What matters more first; what explains a failure shows the runs side by side."""
    order = list(Severity)
    shown = [
        msgspec.structs.replace(finding, evidence=[*compared, *finding.evidence])
        if finding.severity is Severity.ERROR and not any(isinstance(one, Comparison) for one in finding.evidence)
        else finding
        for finding in found
    ]
    return sorted(shown, key=lambda finding: order.index(finding.severity))


def _result(
    observations: Observations,
    run: Run,
    other: Run | None,
    found: list[Finding],
    proof: list[Evidence],
    devices: events.Devices | None,
    accelerators: list[str],
) -> CheckResult:
    loud = [finding for finding in found if finding.severity is not Severity.INFO]
    if loud:
        return CheckResult(NAME, worst(found), loud[0].summary, evidence=proof)
    if devices is None:
        return msgspec.structs.replace(
            could_not_look(NAME, run, "TensorFlow's devices were not listed"), evidence=proof
        )
    predicted = placement.in_words(run)
    if other is None:
        if accelerators:
            said = f"TensorFlow lists {plural(len(accelerators), 'accelerator')}, but there was no CPU-only run"
            return CheckResult(NAME, Status.INCONCLUSIVE, said, evidence=proof)
        said = (
            f"no accelerator here; {predicted}"
            if predicted
            else "no accelerator here: TensorFlow lists the CPU only, so the run as it is is the CPU run"
        )
        return CheckResult(NAME, worst(found) if found else Status.SKIPPED, said, evidence=proof)
    if failed(run) and failed(other):
        said = "it fails on the CPU too, so the device is not the cause"
        return CheckResult(NAME, worst(found), said, evidence=proof)
    if not worked(run) or not worked(other):
        said = f"as-is: {ended(run)}; CPU only: {ended(other)}"
        return CheckResult(NAME, Status.INCONCLUSIVE, said, evidence=proof)
    _, unknown = parting.compared(run, other)
    said = "the same outcome on the accelerator and on the CPU"
    return CheckResult(NAME, worst(found), f"{said}; {unknown}" if unknown else said, evidence=proof)


# -- the runs disagree


def _differences(observations: Observations, run: Run, other: Run, compared: list[Evidence]) -> list[Finding]:
    if failed(run) and worked(other):
        return [_fails_here(observations, run, compared)]
    if worked(run) and failed(other):
        return _fails_there(observations, other, compared)
    if worked(run) and worked(other):
        parted, _ = parting.compared(run, other)
        return [_parts(observations, run, parted, compared)] if parted is not None else []
    return []


def _fails_here(observations: Observations, run: Run, compared: list[Evidence]) -> Finding:
    failure = run.failure
    frame = innermost(failure.frames) if failure is not None else None
    how = failure.type if failure is not None else ended(run)
    reason, known = parting.reason_of_failure(observations)
    evidence: list[Evidence] = [
        *compared,
        *([Message(failure.type, failure.message[:900])] if failure is not None else []),
        *(code_at(observations, frame) if frame else []),
    ]
    if reason == "xla":
        return Finding(
            code="F320",
            check=NAME,
            title="XLA is the reason, not the accelerator",
            severity=Severity.ERROR,
            grade=Grade.OBSERVED,
            summary=f"As it is the run ends with {how}. {known}",
            location=location_of(observations, _compile_line(run) or frame),
            related=related(observations, frame, "fails here"),
            evidence=evidence,
            remedies=[
                Remedy(
                    "compile(…, jit_compile=False)",
                    why="Keras 3 turns XLA on by itself where there is a GPU; the same steps completed without it.",
                )
            ],
        )
    what = _what_failed(run)
    known = known or "A kernel, a driver or the hardware, not the model."
    return Finding(
        code="F301",
        check=NAME,
        title="it fails on the accelerator and works on the CPU",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"As it is the run ends with {how}; with the accelerator hidden it works. {what}{known}",
        location=location_of(observations, frame),
        evidence=evidence,
        remedies=[
            Remedy(
                "run this part on the CPU: with tf.device('/CPU:0'), or CUDA_VISIBLE_DEVICES=\"\" for the whole script",
                why="The same script, data and steps completed without the accelerator.",
            )
        ],
    )


def _what_failed(run: Run) -> str:
    """A sentence about the operation that the exception names, or nothing."""
    failure, mismatch = run.failure, mismatch_of(run)
    if mismatch is not None and mismatch.operation:
        return f"{mismatch.operation} has no kernel there. "
    named = re.search(r"\[Op:(\w+)\]", failure.message) if failure is not None else None
    if of_kind(what_was_said(run), "launch"):
        return f"The accelerator has a kernel for {named[1] if named else 'the operation'} and could not launch it. "
    return f"The operation is {named[1]}. " if named else ""


def _fails_there(observations: Observations, other: Run, compared: list[Evidence]) -> list[Finding]:
    """It works with the accelerator and fails without: told when a kernel is why; a script may insist on its GPU."""
    mismatch = mismatch_of(other)
    if mismatch is None:
        return []
    frame = innermost(mismatch.failure.frames)
    hidden = worked(observations.run(CPU_WITH_XLA))
    why = " With XLA it works on the CPU too: XLA has the kernel that the CPU lacks." if hidden else ""
    return [
        Finding(
            code="F321",
            check=NAME,
            title="it works on the accelerator and fails on the CPU",
            severity=Severity.WARNING,
            grade=Grade.OBSERVED,
            summary=f"With the accelerator hidden the run ends with {mismatch.failure.type}:"
            f" {mismatch.operation or 'an operation'} has no float64 kernel there.{why}",
            location=location_of(observations, frame),
            evidence=[
                *compared,
                Message(mismatch.failure.type, mismatch.failure.message[:900]),
                *(code_at(observations, frame) if frame else []),
            ],
            remedies=[
                Remedy(
                    "compile(…, jit_compile=True) on every device"
                    if hidden
                    else "compute this step from basic operations (reshape, matmul, reduce_mean)",
                    why="Those have float64 kernels on every device."
                    if not hidden
                    else "The same steps completed on the CPU with XLA.",
                )
            ],
        )
    ]


def _parts(observations: Observations, run: Run, parted: parting.Parted, compared: list[Evidence]) -> Finding:
    fit = run.last(events.Fit)
    frame = innermost(fit.frames) if fit is not None else None
    reason, known = parting.reason_of_parting(observations)
    seen = (
        f"At step {parted.step} the losses are {parted.here:.10g} and {parted.there:.10g}: {parted.difference:.1e} relative,"
        f" where rounding explains {parted.tolerance:.0e}."
    )
    code, title, remedy = {
        "tf32": (
            "F322",
            "TF32 rounds a part of the model that is float32",
            Remedy(
                "find what is float32 (see the casts and layers checks); tf.config.experimental.enable_tensor_float_32_execution(False) until then",
                why="TF32 keeps 10 of 23 mantissa bits of float32 factors, and leaves float64 alone.",
            ),
        ),
        "xla": (
            "F320",
            "XLA is the reason, not the accelerator",
            Remedy(
                "compile(…, jit_compile=False), and compare again",
                why="XLA may draw other random numbers for dropout, and fuses sums in another order; a float64 model parts from it in the last digits only.",
            ),
        ),
    }.get(
        reason,
        (
            "F302",
            "the losses on the accelerator and on the CPU part by more than float64 explains",
            Remedy(
                "set seeds (keras.utils.set_random_seed) and compare again; then try tf.config.experimental.enable_tensor_float_32_execution(False)",
                why="Random initial weights differ from run to run; TF32 rounds float32 matrix products, and touches no float64:"
                " a difference that it removes is float32 in the model.",
            ),
        ),
    )
    return Finding(
        code=code,
        check=NAME,
        title=title,
        severity=Severity.WARNING if wish_of(observations).intended or not _told_intent(run) else Severity.INFO,
        grade=Grade.OBSERVED,
        summary=f"{seen} {known}".strip(),
        location=location_of(observations, frame),
        related=related(observations, frame, "trained here"),
        evidence=compared,
        remedies=[remedy],
    )


def _told_intent(run: Run) -> bool:
    """Whether enough was observed to say that nothing wishes for float64."""
    return bool(run.all(events.Feed) or run.all(events.Created))


def _compile_line(run: Run) -> Frame | None:
    """The line of the last ``compile``, where XLA is turned off."""
    compiled = [c for c in run.all(events.Created) if c.role == "loss" and c.loaded == "compile" and c.frames]
    return compiled[-1].frames[-1] if compiled else None
