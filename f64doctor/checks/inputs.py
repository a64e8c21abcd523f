"""Check 1: are the arrays, files and pipelines that enter the model float64, in dtype and in digits?"""

from __future__ import annotations

import msgspec

from f64doctor.checks import fed_arrays, pipelines
from f64doctor.checks.data_remedies import feed_related
from f64doctor.checks.intent import wish_of
from f64doctor.checks.lineage import Lineage
from f64doctor.checks.mismatch import mismatch_of
from f64doctor.checks.outcome import could_not_look
from f64doctor.checks.precision import Precision, precision_of
from f64doctor.checks.showing import code_at, exact_words, history, location_of, plural, related, shape_words
from f64doctor.observe import Observations, Run, events, innermost
from f64doctor.report import CheckResult, Evidence, Finding, Grade, Message, Remedy, Severity, Status, Table, worst

NAME = "inputs"
_LOUDEST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def check(observations: Observations) -> tuple[CheckResult, list[Finding]]:
    """Judge what entered the model in the run as it is."""
    run = observations.run()
    if run is None:
        return CheckResult(NAME, Status.SKIPPED, observations.not_run or "nothing was run"), []
    feeds = _distinct(run.all(events.Feed))
    looked_into = {(f.call, f.frames[-1]) for f in feeds if f.kind == "batch" and f.frames}
    # A loader whose batches were looked at themselves says nothing more.
    feeds = [f for f in feeds if f.kind != "loader" or not f.frames or (f.call, f.frames[-1]) not in looked_into]
    wish = wish_of(observations)
    lineage = Lineage(run)
    precision = precision_of(run)
    findings: list[Finding] = []
    if wish.intended:
        findings += _mismatched(observations, run, lineage)
        findings += pipelines.functions(observations, run)
        data = [
            (finding, feed) for feed in feeds if (finding := _fed(observations, lineage, feed, precision)) is not None
        ]
        findings += _with_their_likes(data)
    findings = _one_a_place(findings)
    if not feeds and not findings:
        return could_not_look(NAME, run, "nothing was handed to a model"), []
    table = _table(observations, feeds)
    if findings:
        names = ", ".join(dict.fromkeys(f.code for f in findings))
        return CheckResult(
            NAME, worst(findings), f"{plural(len(findings), 'finding')}: {names}", evidence=[table]
        ), findings
    said = "; ".join(_words(feed) for feed in feeds[:3])
    if not wish.intended:
        return CheckResult(NAME, Status.PASSED, f"{said}: nothing asks for float64", evidence=[table]), []
    return CheckResult(NAME, Status.PASSED, said, evidence=[table]), []


# -- what was fed


def _distinct(feeds: list[events.Feed]) -> list[events.Feed]:
    """One feed for each argument of each call, training first."""
    order = {"fit": 0, "train_on_batch": 1, "step": 2, "call": 3, "gradient": 4}
    found: dict[tuple[str, str, str, int], events.Feed] = {}
    for feed in sorted(feeds, key=lambda f: order.get(f.call, 5)):
        line = feed.frames[-1].line if feed.frames else 0
        which = f"{feed.path}#{feed.made}" if feed.argument == "captured" else feed.path
        state = feed.dtype + feed.kind + ("*" if feed.values is not None and feed.values.laundered else "")
        found.setdefault((feed.argument, which, state, line), feed)
    return list(found.values())


def _words(feed: events.Feed) -> str:
    shape = shape_words(feed.shape)
    exact = exact_words(feed.values)
    what = {"dataset": "dataset of ", "batch": "batches of "}.get(feed.kind, "")
    if feed.kind == "loader":
        return f"{feed.argument} from a loader that was not looked into"
    return f"{feed.argument}{feed.path}{' ' + shape if shape else ''} {what}{feed.dtype}" + (
        f", {exact}" if exact else ""
    )


def _table(observations: Observations, feeds: list[events.Feed]) -> Evidence:
    rows = []
    for feed in feeds[:20]:
        place = f"{observations.shown(feed.frames[-1].file)}:{feed.frames[-1].line}" if feed.frames else ""
        rows.append(
            [place, feed.call, feed.argument + feed.path, feed.dtype, shape_words(feed.shape), exact_words(feed.values)]
        )
    return Table("what entered the model", ["where", "call", "argument", "dtype", "shape", "values"], rows)


def _fed(observations: Observations, lineage: Lineage, feed: events.Feed, precision: Precision) -> Finding | None:
    if feed.kind == "dataset":
        return pipelines.dataset(observations, lineage, feed, precision)
    if feed.kind == "loader":
        return pipelines.loader(observations, lineage, feed, precision)
    if feed.kind == "loss":
        return fed_arrays.behind_a_loss(observations, lineage, feed)
    if feed.kind in fed_arrays.ARRAYS:
        return fed_arrays.judge(observations, lineage, feed, precision)
    return None


def _mismatched(observations: Observations, run: Run, lineage: Lineage) -> list[Finding]:
    """The run failed because data of another dtype met float64 tensors."""
    mismatch = mismatch_of(run)
    if mismatch is None or mismatch.odd is None or mismatch.odd.source != "input":
        return []
    dtype = mismatch.odd.dtype
    fed = [feed for feed in run.all(events.Feed) if feed.dtype == dtype]
    feed = next((f for f in fed if f.call in ("fit", "train_on_batch")), fed[0] if fed else None)
    behind = lineage.behind(feed) if feed is not None else []
    maker = lineage.first_with(behind, frozenset({dtype}))
    frame = (
        innermost(maker.frames)
        if maker is not None
        else innermost(feed.frames)
        if feed is not None
        else innermost(mismatch.failure.frames)
    )
    what = f"{feed.argument}{feed.path}" if feed is not None else "the data"
    kind = "integer" if "int" in dtype or dtype == "bool" else dtype
    return [
        Finding(
            code="F106",
            check=NAME,
            title=f"{kind} data meet float64 tensors, and the run fails",
            severity=Severity.ERROR,
            grade=Grade.OBSERVED,
            summary=f"{what} is {dtype}; the operation {mismatch.operation or 'that failed'} wants float64 on both sides.",
            location=location_of(observations, frame),
            related=[
                *(feed_related(observations, feed, frame) if feed is not None else []),
                *related(observations, innermost(mismatch.failure.frames), "raised here"),
            ],
            evidence=[
                Message(mismatch.failure.type, mismatch.failure.message[:600]),
                *([history(observations, behind, maker, feed)] if feed is not None else []),
                *(code_at(observations, frame) if frame is not None else []),
            ],
            remedies=[
                Remedy(
                    f'convert {what} once, where it is made: .astype("float64")',
                    why="Keras converts floats to floatx on the way in, and leaves integers as they are; TensorFlow never mixes dtypes in one operation.",
                )
            ],
        )
    ]


def _with_their_likes(data: list[tuple[Finding, events.Feed]]) -> list[Finding]:
    """The findings; one whose line narrows several arguments names them all."""
    found = []
    for finding, feed in data:
        place = finding.location
        others = dict.fromkeys(
            other.argument + other.path
            for like, other in data
            if like.code == finding.code and like.location == place and place is not None
        )
        others.pop(feed.argument + feed.path, None)
        if others:
            finding = msgspec.structs.replace(
                finding, summary=f"{finding.summary} The same line makes {', '.join(others)}."
            )
        found.append(finding)
    return found


def _one_a_place(findings: list[Finding]) -> list[Finding]:
    """One cause, one finding: x and y narrowed by the same line, or fed by several calls, are one."""
    found: dict[tuple[str, int], Finding] = {}
    for finding in sorted(findings, key=lambda finding: _LOUDEST_FIRST.index(finding.severity)):
        key = (finding.location.file, finding.location.line) if finding.location else (finding.code, 0)
        found.setdefault(key, finding)
    return list(found.values())
