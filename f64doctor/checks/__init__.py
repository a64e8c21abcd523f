"""The five checks, in their order: pure functions from observations to a result and its findings."""

from __future__ import annotations

import time
from collections.abc import Callable

from f64doctor.checks import casts, device, inputs, layers, memory
from f64doctor.checks.verdict import ranked, verdict
from f64doctor.observe import Observations, events
from f64doctor.report import CheckResult, Finding, Message, Status, Table, Timeline

Check = Callable[[Observations], tuple[CheckResult, list[Finding]]]

CHECKS: dict[str, Check] = {
    inputs.NAME: inputs.check,
    layers.NAME: layers.check,
    device.NAME: device.check,
    casts.NAME: casts.check,
    memory.NAME: memory.check,
}
ORDER = tuple(CHECKS)


def judge(name: str, observations: Observations) -> tuple[CheckResult, list[Finding]]:
    """Make one check. A crash inside it is a result of its own: the other checks go on."""
    import msgspec

    began = time.perf_counter()
    try:
        result, findings = CHECKS[name](observations)
        findings = [_without_empty(finding) for finding in findings]
    except Exception as error:  # noqa: BLE001 - whatever a check stumbles over must not take the others down
        said = f"this check crashed ({type(error).__name__}: {error}); the others are not affected"
        result, findings = (
            CheckResult(name, Status.CRASHED, said, evidence=[Message(type(error).__name__, _trace(error))]),
            [],
        )
    blind = _blind(name, observations)
    if blind and result.status is Status.PASSED:
        said = f"{result.summary}; but the observer could not see all: {blind}"
        result = msgspec.structs.replace(result, status=Status.INCONCLUSIVE, summary=said)
    return msgspec.structs.replace(result, seconds=round(time.perf_counter() - began, 4)), findings


def _without_empty(finding: Finding) -> Finding:
    """Evidence without a row has nothing to show."""
    import msgspec

    shown = [item for item in finding.evidence if not isinstance(item, (Timeline, Table)) or item.rows]
    return msgspec.structs.replace(finding, evidence=shown)


# Which check rests on which part of the observer, by how the part names itself.
_RESTS_ON = {
    "inputs": ("looking at what", "recording", "instrumenting"),
    "layers": ("noting a", "telling a", "watching keras", "watching tf_keras"),
    "casts": ("reading the graph", "looking at a cast", "watching tensorflow"),
}


def _blind(name: str, observations: Observations) -> str:
    """What the observer failed to see that this check rests on, or nothing: unknown is never fine."""
    run = observations.run()
    troubles = run.all(events.Trouble) if run is not None else []
    parts = _RESTS_ON.get(name, ())
    return next((f"{t.where}: {t.message}" for t in troubles if parts and t.where.startswith(parts)), "")


def _trace(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-4))


__all__ = ["CHECKS", "ORDER", "judge", "ranked", "verdict"]
