"""Check 4: where float64 narrows inside the computation, who wrote that, and whether it reaches the weights."""

from __future__ import annotations

from f64doctor.checks.intent import NARROW, wish_of
from f64doctor.checks.lineage import Lineage
from f64doctor.checks.outcome import could_not_look
from f64doctor.checks.precision import precision_of
from f64doctor.checks.refused import refused
from f64doctor.checks.showing import code_at, location_of, loss_measure, plural, shape_words
from f64doctor.checks.traced import called_from, constants, scalars, traced
from f64doctor.observe import Frame, Mention, Observations, Run, events, innermost
from f64doctor.report import CheckResult, Evidence, Finding, Grade, Location, Remedy, Severity, Status, Table, worst

NAME = "casts"


def check(observations: Observations) -> tuple[CheckResult, list[Finding]]:
    """Judge the traced functions, the casts outside of them, the exception if there was one, and the source."""
    run = observations.run()
    wish = wish_of(observations)
    if run is None:
        return _unrun(observations)
    if not wish.intended:
        if run.outcome not in ("completed", "stopped") and not run.all(events.Step):
            return could_not_look(NAME, run, "no step was completed"), []
        return CheckResult(NAME, Status.PASSED, "nothing asks for float64, so nothing is lost to a cast"), []
    precision = precision_of(run)
    lineage = Lineage(run)
    graphs = run.all(events.Graph)
    findings = refused(observations, run, lineage)
    findings += traced(observations, run, lineage, graphs, precision)
    findings += constants(observations, run, lineage)
    findings += scalars(observations, run, lineage)
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
    if run.outcome not in ("completed", "stopped") and not run.all(events.Step):
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
                severity=Severity.ERROR if cast.in_tape or cast.gradient else Severity.INFO,
                grade=Grade.OBSERVED,
                summary=f"tf.cast takes float64 {shape_words(cast.shape)} and gives {cast.result_dtype}"
                + (
                    "; a gradient tape is recording, so it is part of what is trained."
                    if cast.in_tape
                    else "; it is a gradient, by which the script updates its variables."
                    if cast.gradient
                    else "; no gradient tape was recording."
                ),
                location=location_of(observations, frame),
                related=called_from(observations, cast.frames),
                evidence=[*loss_measure(cast.values), *code_at(observations, frame)],
                remedies=[
                    Remedy(
                        "cast to the dtype of the input, or do not cast at all",
                        why="A later cast back restores the dtype, not the digits.",
                        before=frame.text,
                    )
                ]
                if cast.in_tape or cast.gradient
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


def _one_a_place(findings: list[Finding]) -> list[Finding]:
    """One line, one finding: the loudest, and the first among equals."""
    found: dict[tuple[str, int], Finding] = {}
    rank = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    for finding in findings:
        key = (finding.location.file, finding.location.line) if finding.location else (finding.title, 0)
        if key not in found or rank[finding.severity] < rank[found[key].severity]:
            found[key] = finding
    return list(found.values())
