"""Findings about traced functions: where float64 narrows in them, and where narrower numbers join them."""

from __future__ import annotations

from f64doctor.catalogue import way_round
from f64doctor.checks.damage import Cost, Damages
from f64doctor.checks.intent import NARROW
from f64doctor.checks.lineage import Lineage
from f64doctor.checks.precision import Precision, is_container, is_framework
from f64doctor.checks.showing import code_at, history, location_of, loss_measure, related, shape_words
from f64doctor.checks.variables import is_free_variable
from f64doctor.observe import Frame, Observations, Run, events, innermost
from f64doctor.report import Evidence, Finding, Grade, Measure, Related, Remedy, Severity

NAME = "casts"
_MATTERS = ("weights", "loss", "output", "unknown")


def traced(
    observations: Observations, run: Run, lineage: Lineage, graphs: list[events.Graph], precision: Precision
) -> list[Finding]:
    """Findings of each traced function, with what they cost where that was measured."""
    found: list[Finding] = []
    damages = Damages(run)
    for graph in graphs:
        if graph.role == "dataset":
            continue
        for narrowing in graph.narrowings:
            finding = (
                _narrows(observations, run, narrowing, precision, damages.of(graph.serial, narrowing))
                if narrowing.kind == "narrows"
                else _joins(observations, run, lineage, narrowing, precision, damages.of(graph.serial, narrowing))
            )
            if finding is not None:
                found.append(finding)
    return found


def _narrows(
    observations: Observations, run: Run, narrowing: events.Narrowing, precision: Precision, cost: Cost
) -> Finding | None:
    layer = layer_of(run, narrowing.layer)
    matters = narrowing.reaches in _MATTERS
    frame = innermost(narrowing.frames)
    if narrowing.by == "user":
        if frame is None:
            return None
        return _user_narrows(observations, run, narrowing, frame, matters, cost)
    if narrowing.by == "package":
        said = f"{narrowing.type} gives {narrowing.result_dtype} from float64"
        return _package(observations, narrowing, frame, said, cost) if matters else None
    if not matters or not precision.all_float64 or layer is None or is_container(layer) or not is_framework(layer):
        return None
    made = innermost(layer.frames)
    return Finding(
        code="F402",
        check=NAME,
        title=f"{layer.cls} of this Keras computes in {narrowing.result_dtype}, also in a float64 model",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"{narrowing.type} in {layer.cls} “{layer.name}” takes float64 and gives {narrowing.result_dtype};"
        f" what follows is float64 in name only, on the way to the {narrowing.reaches}.",
        location=location_of(observations, made),
        related=related(observations, frame, "traced from here"),
        evidence=[*(cost.evidence or [_half_ulp()]), *(code_at(observations, made) if made else [])],
        remedies=[
            Remedy(
                f"instead of {layer.cls}: "
                + (
                    way_round(layer.cls)
                    or "float64 operations (a matrix product, slicing and averaging), or an option of it that stays in float64"
                ),
                why="The narrowing is in TensorFlow's kernel: no dtype setting reaches it.",
                before=observations.location(made).snippet if made else "",
            )
        ],
    )


def _user_narrows(
    observations: Observations, run: Run, narrowing: events.Narrowing, frame: Frame, matters: bool, cost: Cost
) -> Finding:
    monitored = not matters and _is_monitored(run, narrowing)
    reach = {
        "weights": "the weights",
        "output": "the function's result",
        "metric": "a metric only",
        "nothing": "nothing that is used",
    }.get(narrowing.reaches, narrowing.reaches)
    return Finding(
        code="F401",
        check=NAME,
        title=f"{narrowing.type} narrows float64 to {narrowing.result_dtype} in the computation",
        severity=Severity.ERROR if matters else Severity.WARNING if monitored else Severity.INFO,
        grade=Grade.OBSERVED,
        summary=f"{narrowing.type} takes float64 {shape_words(narrowing.shape)} and gives {narrowing.result_dtype}; the result reaches {reach}"
        + (", by which a callback decides." if monitored else cost.words + "."),
        location=location_of(observations, frame),
        related=called_from(observations, narrowing.frames),
        evidence=[*(cost.evidence or [_half_ulp()]), *code_at(observations, frame)],
        remedies=[
            Remedy(
                "cast to the layer's compute_dtype (or the input's dtype), or do not cast at all",
                why="A later cast back to float64 restores the dtype, not the digits.",
                before=observations.location(frame).snippet,
            )
        ]
        if matters or monitored
        else [],
    )


def _entered(run: Run, narrowing: events.Narrowing) -> bool:
    """Whether the check of the inputs has looked at a captured float64 tensor that has been through float32, and knows who made it."""
    return any(
        feed.argument == "captured"
        and feed.made == narrowing.made
        and feed.dtype == "float64"
        and feed.values is not None
        and feed.values.laundered
        and feed.values.nontrivial >= 8
        for feed in run.all(events.Feed)
    )


def _package(
    observations: Observations, narrowing: events.Narrowing, frame: Frame | None, said: str, cost: Cost
) -> Finding | None:
    """Narrowing inside an installed package, at the script's line that called it."""
    if frame is None:
        return None
    package = f"{narrowing.package} {narrowing.package_version}".strip()
    return Finding(
        code="F407",
        check=NAME,
        title=f"{narrowing.package} computes in {narrowing.source_dtype if narrowing.kind == 'joins' else narrowing.result_dtype}",
        severity=Severity.ERROR if narrowing.reaches == "weights" else Severity.WARNING,
        grade=Grade.OBSERVED,
        summary=f"Inside the package {package} {said}, on the way to the"
        f" {'weights' if narrowing.reaches == 'weights' else 'result'}{cost.words}.",
        location=location_of(observations, frame),
        evidence=[*cost.evidence, *code_at(observations, frame)],
        remedies=[
            Remedy(
                f"tell {narrowing.package} to use float64 where it has such an option, or replace this call",
                why="The cast is in an installed package, not in the script.",
            )
        ],
    )


def _is_monitored(run: Run, narrowing: events.Narrowing) -> bool:
    """Whether the narrowing is in a metric of the user's by which a callback stops training or changes its course."""
    monitored = {name.removeprefix("val_") for fit in run.all(events.Fit) for name in fit.monitored}
    objects = {e.name for e in run.all(events.Created) if e.role == "metric" and not is_framework(e)}
    methods = ("update_state", "result") if objects & monitored else ()
    return any(frame.function in monitored or frame.function in methods for frame in narrowing.frames)


def _joins(
    observations: Observations,
    run: Run,
    lineage: Lineage,
    narrowing: events.Narrowing,
    precision: Precision,
    cost: Cost,
) -> Finding | None:
    if narrowing.reaches not in _MATTERS or (narrowing.by == "framework" and narrowing.made is None):
        return None
    made = lineage.get(narrowing.made)
    if narrowing.source == "constant" and narrowing.constant == 0.0:
        return None  # zero is zero in every dtype
    if narrowing.source == "captured" and _entered(run, narrowing):
        return None  # data that a step captures are told by the check of the inputs
    if narrowing.by == "package" and made is None:
        said = f"a number made in {narrowing.source_dtype} joins a float64 computation"
        return _package(observations, narrowing, innermost(narrowing.frames), said, cost)
    if made is not None and is_free_variable(narrowing):
        return None  # what it was born with is told by the check of the layers
    if made is not None and precision.narrow and made.kind == "variable":
        return None
    used = innermost(narrowing.frames)
    behind = lineage.ancestors([made] if made is not None else lineage.at(used))
    maker = lineage.first_with(behind, NARROW) or made
    frame = innermost(maker.frames) if maker is not None else used
    if frame is None or any(
        event.role == "weight"
        and event.frames
        and event.frames[-1].file == frame.file
        and event.frames[-1].line == frame.line
        for event in run.all(events.Created)
    ):
        return None  # a weight's own dtype is told by the check of the layers
    kind = {
        "constant": "a constant",
        "captured": "a tensor",
        "variable": "a variable",
        "random": "random numbers",
        "cast": "a float32 intermediate result",
    }.get(narrowing.source, "a value")
    evidence: list[Evidence] = []
    if narrowing.constant is not None:
        shortest = _shortest_float32(narrowing.constant)
        error = abs(narrowing.constant - shortest) / abs(shortest) if shortest else 0.0
        text = f"{shortest!r} was meant, {narrowing.constant!r} is used: relative error {error:.2g}"
        evidence.append(Measure("value", error, "relative", text))
    random = narrowing.source == "random"
    return Finding(
        code="F403",
        check=NAME,
        title=f"{kind} that is float32 joins the float64 computation",
        severity=Severity.INFO if random else Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"{kind[0].upper()}{kind[1:]} made in float32 is cast up to float64 without a word: it keeps 24 of 53 bits"
        f" on its way to the {'weights' if narrowing.reaches == 'weights' else 'result'}{cost.words}.",
        location=location_of(observations, frame),
        related=related(observations, used, "used here")
        if used is not None and (used.file, used.line) != (frame.file, frame.line)
        else called_from(observations, narrowing.frames),
        evidence=[
            *evidence,
            *cost.evidence,
            *([history(observations, behind, maker, None)] if len(behind) > 1 else []),
            *(loss_measure(maker.before_values) if maker is not None else []),
            *code_at(observations, frame),
        ],
        remedies=[join_remedy(observations, frame, maker)],
    )


def join_remedy(observations: Observations, frame: Frame, maker: events.Array | None) -> Remedy:
    """What to write where a float32 value joins a float64 computation."""
    text = observations.location(frame).snippet
    why = "NumPy's and TensorFlow's promotion changes the dtype to float64, not the value: it was rounded when it was made."
    call = maker.call if maker is not None else ""
    if call.endswith("cast") or "cast(" in text:
        return Remedy(
            "use tf.constant(value, tf.float64): tf.cast makes a float32 tensor of a Python number first",
            why=why,
            before=text,
        )
    if "float32(" in text:
        return Remedy("keep it a Python float (a float64)", why=why, before=text)
    return Remedy("make it float64 here", why=why, before=text)


def constants(observations: Observations, run: Run, lineage: Lineage) -> list[Finding]:
    """Python numbers that passed through float32 on the way to a float64 tensor outside of any traced function."""
    if any(fit.call != "predict" for fit in run.all(events.Fit)):
        return []  # what a model uses is in its graphs
    found = []
    for array in run.all(events.Array):
        given, got = array.before_values, array.values
        frame = innermost(array.frames)
        if array.how != "called" or array.dtype != "float64" or given is None or got is None or frame is None:
            continue
        if array.kind == "tensor" and given.max_relative_error and given.exact < given.nontrivial and got.laundered:
            found.append(
                Finding(
                    code="F403",
                    check=NAME,
                    title="a constant that is float32 joins the float64 computation",
                    severity=Severity.ERROR,
                    grade=Grade.OBSERVED,
                    summary=f"{array.call} makes a float32 tensor of a Python number first: the float64 tensor that comes out has 24 of 53 bits.",
                    location=location_of(observations, frame),
                    evidence=[*loss_measure(given), *code_at(observations, frame)],
                    remedies=[join_remedy(observations, frame, array)],
                )
            )
    return found


def scalars(observations: Observations, run: Run, lineage: Lineage) -> list[Finding]:
    """NumPy scalars that were rounded to float32 and from which the loss of a loop of the script's own was computed, operation by operation."""
    found = []
    for feed in run.all(events.Feed):
        if feed.kind != "loss":
            continue
        for array in lineage.behind(feed):
            lost = array.before_values
            frame = innermost(array.frames)
            if array.kind != "scalar" or array.how != "called" or array.dtype not in NARROW or frame is None:
                continue
            if lost is None or not lost.max_relative_error:
                continue
            found.append(
                Finding(
                    code="F403",
                    check=NAME,
                    title="a constant that is float32 joins the float64 computation",
                    severity=Severity.ERROR,
                    grade=Grade.INFERRED,
                    summary=f"“{array.text[:60]}” rounds a number to {array.dtype}; the loss is computed from it, in float64.",
                    location=location_of(observations, frame),
                    related=related(observations, innermost(feed.frames), "differentiated here"),
                    evidence=[*loss_measure(lost), *code_at(observations, frame)],
                    remedies=[join_remedy(observations, frame, array)],
                )
            )
    return found


def _shortest_float32(value: float) -> float:
    """The decimal number with the fewest digits that float32 would store as ``value``: what was meant."""
    for digits in range(1, 10):
        candidate = float(f"{value:.{digits}g}")
        if abs(candidate - value) <= abs(value) * 2.0**-25:
            return candidate
    return value


def layer_of(run: Run, serial: int | None) -> events.Created | None:
    """The layer of a serial, or None."""
    return (
        next((event for event in run.all(events.Created) if event.serial == serial), None)
        if serial is not None
        else None
    )


def called_from(observations: Observations, frames: list[Frame]) -> list[Related]:
    """The script's line that led to the innermost one, when it is another."""
    return related(observations, frames[0], "called from here") if len(frames) > 1 else []


def _half_ulp() -> Measure:
    return Measure("digits", 7.2, "decimal digits", "float32 keeps 24 of 53 bits: 7.2 of 16.0 digits")
