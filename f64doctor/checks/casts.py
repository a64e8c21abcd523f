"""Check 4: where float64 narrows inside the computation, who wrote that, and whether it reaches the weights."""

from __future__ import annotations

from f64doctor.checks.intent import NARROW, wish_of
from f64doctor.checks.lineage import Lineage
from f64doctor.checks.mismatch import Mismatch, mismatch_of
from f64doctor.checks.outcome import could_not_look
from f64doctor.checks.parting import CPU_RUN, worked
from f64doctor.checks.precision import Precision, is_container, is_framework, precision_of
from f64doctor.checks.showing import code_at, history, location_of, loss_measure, plural, related, shape_words
from f64doctor.observe import Frame, Mention, Observations, Run, events, innermost
from f64doctor.report import (
    CheckResult,
    Evidence,
    Finding,
    Grade,
    Location,
    Measure,
    Message,
    Related,
    Remedy,
    Severity,
    Status,
    Table,
    worst,
)

NAME = "casts"
_MATTERS = ("weights", "loss", "output", "unknown")


def check(observations: Observations) -> tuple[CheckResult, list[Finding]]:
    """Judge the traced functions, the casts outside of them, the exception if there was one, and the source."""
    run = observations.run()
    wish = wish_of(observations)
    if run is None:
        return _unrun(observations)
    if not wish.intended:
        return CheckResult(NAME, Status.PASSED, "nothing asks for float64, so nothing is lost to a cast"), []
    precision = precision_of(run)
    lineage = Lineage(run)
    graphs = run.all(events.Graph)
    findings = _refused(observations, run, lineage)
    findings += _traced(observations, run, lineage, graphs, precision)
    findings += _constants(observations, run, lineage)
    findings += _eager(observations, run)
    findings = _one_a_place(findings)
    loud = [finding for finding in findings if finding.severity is not Severity.INFO]
    findings += _written(observations, run, findings)
    operations = sum(graph.operations for graph in graphs)
    seen = f"{plural(len(graphs), 'traced function')}, {operations:,} ops"
    table = _table(graphs)
    if loud:
        codes = ", ".join(dict.fromkeys(finding.code for finding in loud))
        return CheckResult(NAME, worst(findings), f"{plural(len(loud), 'finding')}: {codes}", evidence=table), findings
    if not graphs and not run.all(events.EagerCast) and not run.all(events.Feed):
        return could_not_look(NAME, run, "no computation was traced"), findings
    if run.outcome not in ("completed", "stopped") and not graphs:
        return could_not_look(NAME, run, "no step was completed"), findings
    if not precision.all_float64 and precision.trained:
        return CheckResult(
            NAME, worst(findings), f"{seen}: nothing narrows beyond what the layers' own dtypes do", evidence=table
        ), findings
    said = f"{seen}: nothing narrows on the way to the loss or the weights"
    return CheckResult(NAME, worst(findings), said, evidence=table), findings


def _unrun(observations: Observations) -> tuple[CheckResult, list[Finding]]:
    """Nothing was run: what is written is all that is known."""
    if not wish_of(observations).intended:
        return CheckResult(NAME, Status.INCONCLUSIVE, "nothing was run, and the source asks for no float64"), []
    findings = _written(observations, None, [])
    said = (
        f"nothing was run; float32 is written in {plural(len(findings), 'place')}"
        if findings
        else "nothing was run; no float32 is written in the source"
    )
    return CheckResult(NAME, Status.INCONCLUSIVE, said), findings


def _table(graphs: list[events.Graph]) -> list[Evidence]:
    rows = [
        [
            graph.name[:40],
            f"{graph.operations}",
            str(graph.dtypes.get("float64", 0)),
            str(graph.dtypes.get("float32", 0)),
            str(len(graph.narrowings)),
        ]
        for graph in sorted(graphs, key=lambda g: -g.operations)[:6]
    ]
    return [Table("traced functions", ["function", "ops", "float64", "float32", "places"], rows)] if rows else []


# -- the exception


def _refused(observations: Observations, run: Run, lineage: Lineage) -> list[Finding]:
    """The run failed because two dtypes met, or because an operation does not take float64."""
    mismatch = mismatch_of(run)
    if mismatch is None or (
        mismatch.odd is not None and mismatch.odd.source == "input" and _was_fed(run, mismatch.odd)
    ):
        return []
    if mismatch.kind == "no-kernel" and worked(observations.run(CPU_RUN)):
        return []  # the CPU has the kernel: the device check says so
    failure = mismatch.failure
    layer = _layer(run, failure.layer)
    raised = innermost(failure.frames)
    entry = _entries(run)
    inside_user_code = raised is not None and (raised.file, raised.line) not in entry
    message = Message(failure.type, _core_of(failure.message))
    if (
        layer is not None
        and is_framework(layer)
        and not is_container(layer)
        and not (inside_user_code and layer.cls == "Lambda")
    ):
        frame = innermost(layer.frames)
        return [_framework_refuses(observations, mismatch, layer, frame, raised, message)]
    if mismatch.odd is not None:
        return [_odd_operand(observations, lineage, mismatch, raised, entry, message)]
    frame = raised
    return [
        Finding(
            code="F404",
            check=NAME,
            title=f"{mismatch.operation or 'the operation'} does not take float64",
            severity=Severity.ERROR,
            grade=Grade.OBSERVED,
            summary=f"{mismatch.operation or 'This operation'} "
            + (
                "has no float64 kernel here."
                if mismatch.kind == "no-kernel"
                else "takes narrower floats only, on any device."
            ),
            location=location_of(observations, frame),
            evidence=[message, *(code_at(observations, frame) if frame else [])],
            remedies=[
                Remedy(
                    "use an operation that exists in float64, or compute this step from basic ones (matmul, reduce_mean, slicing)",
                    why="A cast to float32 around it would make the error go away, and the digits too.",
                )
            ],
        )
    ]


def _was_fed(run: Run, operand: events.Operand) -> bool:
    return any(feed.dtype == operand.dtype for feed in run.all(events.Feed))


def _framework_refuses(
    observations: Observations,
    mismatch: Mismatch,
    layer: events.Created,
    frame: Frame | None,
    raised: Frame | None,
    message: Message,
) -> Finding:
    return Finding(
        code="F405",
        check=NAME,
        title=f"{layer.cls} of this Keras does not work in float64",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=(
            f"{layer.cls} “{layer.name}” fails in float64: "
            + (
                f"{mismatch.operation} has no float64 kernel."
                if mismatch.kind != "mismatch"
                else "inside, it mixes float32 constants with float64 tensors."
            )
        ),
        location=location_of(observations, frame),
        related=related(observations, raised, "raised from here") if raised != frame else [],
        evidence=[message, *(code_at(observations, frame) if frame else [])],
        remedies=[
            Remedy(
                f"replace {layer.cls} by operations that exist in float64, or do its work outside the model in NumPy",
                why="The fault is in the framework: no setting of the script makes this layer work in float64.",
                before=observations.location(frame).snippet if frame else "",
            )
        ],
    )


def _odd_operand(
    observations: Observations,
    lineage: Lineage,
    mismatch: Mismatch,
    raised: Frame | None,
    entry: set[tuple[str, int]],
    message: Message,
) -> Finding:
    odd = mismatch.odd
    assert odd is not None
    made = lineage.get(odd.made)
    behind = lineage.ancestors([made]) if made is not None else []
    maker = lineage.first_with(behind, frozenset({odd.dtype})) if made is not None else None
    frame: Frame | None = None
    if maker is not None:
        frame = innermost(maker.frames)
    if frame is None and odd.frames and odd.source != "input":
        last = odd.frames[-1]
        frame = (
            last
            if (last.file, last.line) not in entry
            or raised is None
            or (raised.file, raised.line) == (last.file, last.line)
            else None
        )
    frame = frame or raised
    what = {
        "constant": "a constant without a dtype is float32",
        "random": "random numbers without a dtype are float32",
        "variable": "a variable was made in float32",
        "captured": "a tensor was made in float32",
        "cast": "a cast to float32",
    }.get(odd.source, f"a {odd.dtype} operand")
    text = observations.location(frame).snippet if frame else ""
    return Finding(
        code="F406",
        check=NAME,
        title=f"{odd.dtype} meets float64 in {mismatch.operation or 'one operation'}, and the run fails",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"{what[0].upper()}{what[1:]}: operand {odd.name!r} {shape_words(odd.shape)} of "
        f"{mismatch.operation or 'the operation'} is {odd.dtype}, the other float64.",
        location=location_of(observations, frame),
        related=related(observations, raised, "raised here")
        if raised is not None and frame is not None and (raised.file, raised.line) != (frame.file, frame.line)
        else [],
        evidence=[
            message,
            Table(
                "operands",
                ["operand", "dtype", "shape", "made by"],
                [[o.name, o.dtype, shape_words(o.shape), o.source] for o in mismatch.failure.operands[:6]],
            ),
            *([history(observations, behind, maker, None)] if behind else []),
            *(code_at(observations, frame) if frame else []),
        ],
        remedies=[_dtype_remedy(text, maker.call if maker is not None else "")],
    )


def _dtype_remedy(text: str, call: str) -> Remedy:
    why = "TensorFlow gives Python numbers float32 unless it is told otherwise; set_floatx reaches Keras only."
    if "cast" in text and "float32" in text:
        return Remedy(
            "cast to the dtype of what it meets (x.dtype, self.compute_dtype) instead of float32", why=why, before=text
        )
    if "where(" in text:
        return Remedy(
            "give the numbers a dtype: tf.where(c, tf.constant(a, x.dtype), tf.constant(b, x.dtype))",
            why=why,
            before=text,
        )
    return Remedy(
        "pass dtype: tf.float64, or better the dtype of what it meets (x.dtype, self.compute_dtype)",
        why=why,
        before=text,
    )


def _core_of(message: str) -> str:
    lines = [line for line in message.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines() if line.strip()]
    return "\n".join(lines)[:900]


# -- traced functions


def _traced(
    observations: Observations, run: Run, lineage: Lineage, graphs: list[events.Graph], precision: Precision
) -> list[Finding]:
    found: list[Finding] = []
    for graph in graphs:
        if graph.role == "dataset":
            continue
        for narrowing in graph.narrowings:
            finding = (
                _narrows(observations, run, narrowing, precision)
                if narrowing.kind == "narrows"
                else _joins(observations, run, lineage, narrowing, precision)
            )
            if finding is not None:
                found.append(finding)
    return found


def _narrows(observations: Observations, run: Run, narrowing: events.Narrowing, precision: Precision) -> Finding | None:
    layer = _layer(run, narrowing.layer)
    matters = narrowing.reaches in _MATTERS
    frame = innermost(narrowing.frames)
    if narrowing.by == "user":
        if frame is None:
            return None
        return _user_narrows(observations, run, narrowing, frame, matters)
    if narrowing.by == "package":
        if frame is None or not matters:
            return None
        return Finding(
            code="F407",
            check=NAME,
            title=f"{narrowing.package} computes in {narrowing.result_dtype}",
            severity=Severity.WARNING if narrowing.reaches != "weights" else Severity.ERROR,
            grade=Grade.OBSERVED,
            summary=f"{narrowing.type} inside the package {narrowing.package} gives {narrowing.result_dtype} from float64,"
            f" on the way to the {narrowing.reaches}.",
            location=location_of(observations, frame),
            evidence=code_at(observations, frame),
            remedies=[
                Remedy(
                    f"tell {narrowing.package} to use float64 where it has such an option, or replace this call",
                    why="The cast is in an installed package, not in the script.",
                )
            ],
        )
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
        evidence=[_half_ulp(), *(code_at(observations, made) if made else [])],
        remedies=[
            Remedy(
                f"replace {layer.cls} by float64 operations (a matrix product, slicing and averaging), or use an option of it that stays in float64",
                why="The narrowing is in TensorFlow's kernel: no dtype setting reaches it.",
                before=observations.location(made).snippet if made else "",
            )
        ],
    )


def _user_narrows(
    observations: Observations, run: Run, narrowing: events.Narrowing, frame: Frame, matters: bool
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
        + (", by which a callback decides." if monitored else "."),
        location=location_of(observations, frame),
        related=_traced_from(observations, narrowing.frames),
        evidence=[_half_ulp(), *code_at(observations, frame)],
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


def _is_monitored(run: Run, narrowing: events.Narrowing) -> bool:
    """Whether the narrowing is in a metric of the user's by which a callback stops training or changes its course."""
    monitored = {name.removeprefix("val_") for fit in run.all(events.Fit) for name in fit.monitored}
    objects = {e.name for e in run.all(events.Created) if e.role == "metric" and not is_framework(e)}
    methods = ("update_state", "result") if objects & monitored else ()
    return any(frame.function in monitored or frame.function in methods for frame in narrowing.frames)


def _joins(
    observations: Observations, run: Run, lineage: Lineage, narrowing: events.Narrowing, precision: Precision
) -> Finding | None:
    if narrowing.reaches not in _MATTERS or (narrowing.by == "framework" and narrowing.made is None):
        return None
    made = lineage.get(narrowing.made)
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
        f" on its way to the {'weights' if narrowing.reaches == 'weights' else 'result'}.",
        location=location_of(observations, frame),
        related=related(observations, used, "used here")
        if used is not None and (used.file, used.line) != (frame.file, frame.line)
        else _traced_from(observations, narrowing.frames),
        evidence=[
            *evidence,
            *([history(observations, behind, maker, None)] if len(behind) > 1 else []),
            *(loss_measure(maker.before_values) if maker is not None else []),
            *code_at(observations, frame),
        ],
        remedies=[_join_remedy(observations, frame, maker)],
    )


def _join_remedy(observations: Observations, frame: Frame, maker: events.Array | None) -> Remedy:
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


def _constants(observations: Observations, run: Run, lineage: Lineage) -> list[Finding]:
    """Python numbers that passed through float32 on the way to a float64 tensor outside of any traced function."""
    if run.all(events.Fit):
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
                    remedies=[_join_remedy(observations, frame, array)],
                )
            )
    return found


# -- outside of traced functions


def _eager(observations: Observations, run: Run) -> list[Finding]:
    found = []
    for cast in run.all(events.EagerCast):
        frame = innermost(cast.frames)
        if frame is None or cast.by != "user":
            continue
        if cast.values is not None and not cast.values.max_relative_error:
            continue
        found.append(
            Finding(
                code="F401",
                check=NAME,
                title=f"tf.cast narrows float64 to {cast.result_dtype}"
                + (" under a gradient tape" if cast.in_tape else ""),
                severity=Severity.ERROR if cast.in_tape else Severity.INFO,
                grade=Grade.OBSERVED,
                summary=f"tf.cast takes float64 {shape_words(cast.shape)} and gives {cast.result_dtype}"
                + (
                    "; a gradient tape is recording, so it is part of what is trained."
                    if cast.in_tape
                    else "; no gradient tape was recording."
                ),
                location=location_of(observations, frame),
                related=_traced_from(observations, cast.frames),
                evidence=[*loss_measure(cast.values), *code_at(observations, frame)],
                remedies=[
                    Remedy(
                        "cast to the dtype of the input, or do not cast at all",
                        why="A later cast back restores the dtype, not the digits.",
                        before=frame.text,
                    )
                ]
                if cast.in_tape
                else [],
            )
        )
    return found


# -- the source


def _written(observations: Observations, run: Run | None, findings: list[Finding]) -> list[Finding]:
    """float32 that is written for computing and was not seen to run: worth knowing, no more."""
    lines = _lines_seen(run) if run is not None else set()
    named = {(f.location.file, f.location.line) for f in findings if f.location}
    found: list[Finding] = []
    for mention in observations.source.mentions:
        if not _counts(mention) or (mention.file, mention.line) in lines:
            continue
        place = Location(observations.shown(mention.file), mention.line, mention.text)
        if (place.file, place.line) in named:
            continue
        named.add((place.file, place.line))
        guard = f" under “{mention.guard}”" if mention.guard else ""
        found.append(
            Finding(
                code="F408",
                check=NAME,
                title=f"{mention.dtype} is written here, and was not seen to run",
                severity=Severity.INFO,
                grade=Grade.SUSPECTED,
                summary=f"{mention.call or mention.kind} asks for {mention.dtype}{guard}; "
                + ("it did not run within the bounds of this run." if run is not None else "nothing was run."),
                location=place,
                evidence=[],
            )
        )
    return found[:12]


def _counts(mention: Mention) -> bool:
    return mention.dtype in NARROW and mention.kind in ("cast", "dtype") and mention.purpose == "compute"


def _lines_seen(run: Run) -> set[tuple[str, int]]:
    """The user's lines that any event has shown to run."""
    seen: set[tuple[str, int]] = set()

    def add(frames: list[Frame]) -> None:
        seen.update((frame.file, frame.line) for frame in frames)

    for event in run.events:
        if isinstance(event, events.Graph):
            for narrowing in event.narrowings:
                add(narrowing.frames)
        elif isinstance(event, events.Array):
            add(event.frames)
            if event.frames:
                here = event.frames[-1]
                seen.update((here.file, line) for line in range(here.line, max(here.line, event.last_line) + 1))
        elif isinstance(event, events.Failure):
            add(event.frames)
            for operand in event.operands:
                add(operand.frames)
        elif isinstance(event, (events.Created, events.Feed, events.Setting, events.EagerCast, events.Fit)):
            add(event.frames)
    return seen


# -- shared


def _layer(run: Run, serial: int | None) -> events.Created | None:
    return (
        next((event for event in run.all(events.Created) if event.serial == serial), None)
        if serial is not None
        else None
    )


def _entries(run: Run) -> set[tuple[str, int]]:
    """The user's lines that hand over to Keras: below them the work is Keras's own."""
    found = set()
    for event in run.events:
        if isinstance(event, (events.Feed, events.Fit)) and event.frames:
            found.add((event.frames[-1].file, event.frames[-1].line))
    return found


def _traced_from(observations: Observations, frames: list[Frame]) -> list[Related]:
    return related(observations, frames[0], "called from here") if len(frames) > 1 else []


def _half_ulp() -> Measure:
    return Measure("digits", 7.2, "decimal digits", "float32 keeps 24 of 53 bits: 7.2 of 16.0 digits")


def _shortest_float32(value: float) -> float:
    """The decimal number with the fewest digits that float32 would store as ``value``: what was meant."""
    for digits in range(1, 10):
        candidate = float(f"{value:.{digits}g}")
        if abs(candidate - value) <= abs(value) * 2.0**-25:
            return candidate
    return value


def _one_a_place(findings: list[Finding]) -> list[Finding]:
    """One line, one finding: the loudest, and the first among equals."""
    found: dict[tuple[str, int], Finding] = {}
    rank = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    for finding in findings:
        key = (finding.location.file, finding.location.line) if finding.location else (finding.title, 0)
        if key not in found or rank[finding.severity] < rank[found[key].severity]:
            found[key] = finding
    return list(found.values())
