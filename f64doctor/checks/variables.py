"""Findings about variables: weights with a dtype of their own, and variables of the script's own loops."""

from __future__ import annotations

from f64doctor.checks.intent import NARROW
from f64doctor.checks.lineage import Lineage
from f64doctor.checks.precision import is_narrow_layer
from f64doctor.checks.showing import code_at, location_of, related
from f64doctor.checks.timeline import timeline
from f64doctor.observe import Frame, Observations, Run, events, innermost
from f64doctor.report import Finding, Grade, Remedy, Severity

NAME = "layers"


def weights(observations: Observations, run: Run) -> list[Finding]:
    """Weights that a layer asks for in less than its own precision."""
    created = run.all(events.Created)
    found = []
    owners = {event.serial: event for event in created}
    told: set[tuple[str, int]] = set()
    for weight in created:
        owner = owners.get(weight.owner) if weight.owner is not None else None
        frame = innermost(weight.frames)
        if (
            weight.role != "weight"
            or weight.explicit not in NARROW
            or frame is None
            or (frame.file, frame.line) in told
        ):
            continue
        if owner is not None and is_narrow_layer(owner):
            continue
        told.add((frame.file, frame.line))
        found.append(
            Finding(
                code="F212",
                check=NAME,
                title=f"a weight is {weight.explicit} in a float64 layer",
                severity=Severity.ERROR,
                grade=Grade.OBSERVED,
                summary=f"add_weight asks for {weight.explicit}: Keras casts the weight up where it is used, without a word, and it keeps 24 bits.",
                location=location_of(observations, frame),
                evidence=code_at(observations, frame),
                remedies=[
                    Remedy(
                        "drop the dtype: add_weight then follows the layer",
                        why="A float32 weight is rounded after each update.",
                        before=observations.location(frame).snippet,
                    )
                ],
            )
        )
    return found


def narrow_ones(observations: Observations, run: Run) -> list[Finding]:
    """Variables of less than float64, outside of any layer, that the script's own loop trains or computes with."""
    lineage = Lineage(run)
    used: dict[int, Frame | None] = {}
    for feed in run.all(events.Feed):
        if feed.kind == "loss":
            for array in lineage.behind(feed):
                used.setdefault(array.serial, innermost(feed.frames))
    for graph in run.all(events.Graph):
        for narrowing in graph.narrowings:
            if is_free_variable(narrowing) and narrowing.made is not None:
                used.setdefault(narrowing.made, innermost(narrowing.frames))
    found: list[Finding] = []
    told: set[tuple[str, int]] = set()
    for array in run.all(events.Array):
        frame = innermost(array.frames)
        if array.kind != "variable" or array.how != "called" or array.dtype not in NARROW or array.serial not in used:
            continue
        if frame is None or (frame.file, frame.line) in told:
            continue
        told.add((frame.file, frame.line))
        found.append(
            Finding(
                code="F218",
                check=NAME,
                title=f"a variable is {array.dtype} in a float64 computation",
                severity=Severity.ERROR,
                grade=Grade.OBSERVED,
                summary=f"{array.call} makes a {array.dtype} variable here: it keeps 24 bits at most, and each update is rounded to them.",
                location=location_of(observations, frame),
                related=related(observations, used[array.serial], "used here"),
                evidence=[timeline(observations, run, array), *code_at(observations, frame)],
                remedies=[
                    Remedy(
                        "give it its dtype: tf.Variable(…, dtype=tf.float64), from float64 initial values",
                        why="tf.Variable and keras.Variable take the dtype of the initial value, and TensorFlow makes numbers float32"
                        " unless it is told otherwise; set_floatx does not reach them.",
                        before=frame.text,
                    )
                ],
            )
        )
    return found


def is_free_variable(narrowing: events.Narrowing) -> bool:
    """Whether what joins a float64 computation is a variable that belongs to no layer."""
    return narrowing.kind == "joins" and narrowing.source == "variable" and narrowing.layer is None
