"""Check 1: are the arrays, files and pipelines that enter the model float64, in dtype and in digits?"""

from __future__ import annotations

from f64doctor.checks.intent import NARROW, wish_of
from f64doctor.checks.lineage import Lineage, harmless
from f64doctor.checks.mismatch import mismatch_of
from f64doctor.checks.outcome import could_not_look
from f64doctor.checks.precision import Precision, precision_of
from f64doctor.checks.showing import (
    code_at,
    exact_words,
    history,
    location_of,
    loss_measure,
    plural,
    related,
    shape_words,
)
from f64doctor.observe import Frame, Observations, Run, events, innermost
from f64doctor.report import CheckResult, Evidence, Finding, Grade, Message, Remedy, Severity, Status, Table, worst

NAME = "inputs"
_ARRAYS = ("ndarray", "tensor", "frame", "scalar", "list")


def check(observations: Observations) -> tuple[CheckResult, list[Finding]]:
    """Judge what entered the model in the run as it is."""
    run = observations.run()
    if run is None:
        return CheckResult(NAME, Status.SKIPPED, observations.not_run or "nothing was run"), []
    feeds = _distinct(run.all(events.Feed))
    wish = wish_of(observations)
    lineage = Lineage(run)
    precision = precision_of(run)
    findings: list[Finding] = []
    if wish.intended:
        findings += _mismatched(observations, run, lineage)
        findings += _pipelines(observations, run)
        for feed in feeds:
            finding = _fed(observations, lineage, feed, precision)
            if finding is not None:
                findings.append(finding)
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
    order = {"fit": 0, "train_on_batch": 1, "call": 2}
    found: dict[tuple[str, str, str, int], events.Feed] = {}
    for feed in sorted(feeds, key=lambda f: order.get(f.call, 3)):
        line = feed.frames[-1].line if feed.frames else 0
        found.setdefault((feed.argument, feed.path, feed.dtype + feed.kind, line), feed)
    return list(found.values())


def _words(feed: events.Feed) -> str:
    shape = shape_words(feed.shape)
    exact = exact_words(feed.values)
    what = {"dataset": "dataset of "}.get(feed.kind, "")
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
        return _dataset(observations, lineage, feed, precision) if feed.dtype in NARROW else None
    if feed.kind == "loader":
        return _loaded(observations, lineage, feed, precision)
    if feed.kind not in _ARRAYS:
        return None
    if feed.dtype in NARROW:
        return _narrow(observations, lineage, feed, precision)
    if feed.dtype == "float64" and feed.values is not None:
        if feed.values.laundered:
            return _laundered(observations, lineage, feed)
        if feed.takes in NARROW and feed.values.max_relative_error and _explicit_throughout(precision):
            return _rounded(observations, feed)
        if feed.values.nontrivial:
            return _computed_from_narrow(observations, lineage, feed)
    return None


def _explicit_throughout(precision: Precision) -> bool:
    """Every layer is float64 by its own dtype argument: then only the array adapter's floatx is left to round."""
    return bool(precision.trained) and not precision.narrow and precision.policy != "float64"


def _narrow(observations: Observations, lineage: Lineage, feed: events.Feed, precision: Precision) -> Finding | None:
    if feed.values is None or feed.values.nontrivial == 0:
        return None
    behind = lineage.behind(feed)
    maker = _file_written(lineage, lineage.first_with(behind, NARROW))
    lossy = maker is not None and maker.before == "float64"
    frame = innermost(maker.frames) if maker is not None else innermost(feed.frames)
    what = f"{feed.argument}{feed.path}"
    summary = f"{what} reaches {feed.call} as {feed.dtype}: "
    summary += (
        "its digits were cut before the model saw them."
        if lossy
        else "it holds 24 bits a value at most, whatever the model's precision."
    )
    return Finding(
        code="F101",
        check=NAME,
        title=f"a {feed.dtype} array is handed to a float64 model",
        severity=Severity.ERROR if lossy or precision.floatx == "float64" else Severity.WARNING,
        grade=Grade.OBSERVED,
        summary=summary,
        location=location_of(observations, frame),
        related=_feed_related(observations, feed, frame),
        evidence=[
            history(observations, behind, maker, feed),
            *(loss_measure(maker.before_values) if maker is not None else []),
            *(code_at(observations, frame) if frame is not None else []),
        ],
        remedies=[_keep_double(observations, frame, maker)],
    )


def _laundered(observations: Observations, lineage: Lineage, feed: events.Feed) -> Finding | None:
    assert feed.values is not None
    behind = lineage.behind(feed)
    maker = _file_written(lineage, lineage.first_with(behind, NARROW))
    if maker is None and (feed.values.fixed_point or feed.values.nontrivial < 8):
        return None
    frame = innermost(maker.frames) if maker is not None else innermost(feed.frames)
    return Finding(
        code="F102",
        check=NAME,
        title="the array is float64 in name only: its values have been through float32",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=(
            f"{feed.argument}{feed.path} is float64, but all {feed.values.nontrivial:,} of its values that could tell equal their float32 rounding: "
            f"{feed.values.bits} of 53 bits are in use."
        ),
        location=location_of(observations, frame),
        related=_feed_related(observations, feed, frame),
        evidence=[
            history(observations, behind, maker, feed),
            *(loss_measure(maker.before_values) if maker is not None else []),
            *(code_at(observations, frame) if frame is not None else []),
        ],
        remedies=[_keep_double(observations, frame, maker)],
    )


def _file_written(lineage: Lineage, maker: events.Array | None) -> events.Array | None:
    """The earlier line that wrote the float32 file which the maker reads, when this run wrote it; else the maker."""
    if maker is None or not maker.call.endswith("memmap") or "w+" in maker.text:
        return maker
    written = [
        array
        for array in lineage.arrays
        if array.call.endswith("memmap") and "w+" in array.text and array.dtype in NARROW and array.t < maker.t
    ]
    return written[-1] if written else maker


def _computed_from_narrow(observations: Observations, lineage: Lineage, feed: events.Feed) -> Finding | None:
    """The fed values use all their bits, but were computed from values that had lost digits on the way."""
    behind = lineage.behind(feed)
    lost = [
        array
        for array in behind
        if array.how == "called"
        and array.dtype in NARROW
        and array.kind in ("ndarray", "scalar", "tensor")
        and array.before == "float64"
        and array.before_values is not None
        and not harmless(array)
    ]
    if not lost:
        return None
    maker = lost[0]
    frame = innermost(maker.frames)
    return Finding(
        code="F107",
        check=NAME,
        title="the data were computed from values that had been cut to float32",
        severity=Severity.ERROR,
        grade=Grade.INFERRED,
        summary=f"{feed.argument}{feed.path} is float64 and uses all its bits, but what it was computed from lost digits"
        f" in “{maker.text[:60]}”.",
        location=location_of(observations, frame),
        related=_feed_related(observations, feed, frame),
        evidence=[
            history(observations, behind, maker, feed),
            *loss_measure(maker.before_values),
            *(code_at(observations, frame) if frame is not None else []),
        ],
        remedies=[_keep_double(observations, frame, maker)],
    )


def _loaded(observations: Observations, lineage: Lineage, feed: events.Feed, precision: Precision) -> Finding | None:
    """A generator or dataset object of the user's whose function makes or reads float32 arrays."""
    if feed.loader is None or precision.floatx != "float64":
        return None
    behind = lineage.behind(feed)
    maker = lineage.first_with(behind, NARROW)
    if maker is None or harmless(maker) or maker.kind not in ("ndarray", "tensor"):
        return None
    frame = innermost(maker.frames)
    return Finding(
        code="F103",
        check=NAME,
        title=f"the batches are made from {maker.dtype} arrays",
        severity=Severity.ERROR,
        grade=Grade.INFERRED,
        summary=f"The batches that {feed.call} takes from {feed.scope} are made from {maker.dtype}: “{maker.text[:60]}”.",
        location=location_of(observations, frame),
        related=[
            *_feed_related(observations, feed, frame),
            *related(observations, feed.loader, "yields the batches"),
        ],
        evidence=[
            history(observations, behind, maker, feed),
            *(code_at(observations, frame) if frame is not None else []),
        ],
        remedies=[_keep_double(observations, frame, maker)],
    )


def _rounded(observations: Observations, feed: events.Feed) -> Finding:
    frame = innermost(feed.frames)
    return Finding(
        code="F104",
        check=NAME,
        title="float64 data are rounded to floatx when Keras takes them",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"Every layer is float64, but floatx is {feed.takes}: {feed.call} rounds {feed.argument} to it before the first layer.",
        location=location_of(observations, frame),
        evidence=[*loss_measure(feed.values), *(code_at(observations, frame) if frame is not None else [])],
        remedies=[set_floatx_remedy()],
    )


def set_floatx_remedy() -> Remedy:
    """The setting that a float64 script begins with."""
    return Remedy(
        title='call keras.config.set_floatx("float64") right after the import of keras',
        why="fit, evaluate and predict convert arrays to floatx, and keras.Input, losses, metrics and new layers take their dtype from it;"
        ' a dtype="float64" on each layer reaches none of these.',
        after='import keras\n\nkeras.config.set_floatx("float64")',
    )


def _dataset(observations: Observations, lineage: Lineage, feed: events.Feed, precision: Precision) -> Finding | None:
    behind = lineage.behind(feed)
    maker = lineage.first_with(behind, NARROW)
    written = [
        array
        for array in lineage.arrays
        if array.kind == "message"
        and array.before_values is not None
        and array.before_values.max_relative_error
        and array.t <= feed.t
    ]
    reads_records = any("TFRecord" in array.text or "parse" in array.text.lower() for array in behind)
    if written and (reads_records or maker is None):
        maker = written[0]
    if maker is not None and harmless(maker):
        return None
    if precision.floatx != "float64" and not precision.all_float64 and maker is not None and maker.before != "float64":
        # A float32 pipeline before a model that is float32 anyway: the settings are what must change first.
        return None
    frame = innermost(maker.frames) if maker is not None else innermost(feed.frames)
    text = maker.text if maker is not None else ""
    return Finding(
        code="F103",
        check=NAME,
        title=f"the data pipeline yields {feed.dtype}",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"The dataset that {feed.call} takes yields {feed.dtype}"
        + (f"; {_maker_words(text)}" if text else "")
        + ".",
        location=location_of(observations, frame),
        related=_feed_related(observations, feed, frame),
        evidence=[
            history(observations, [*({a.serial: a for a in [*behind, *written[:1]]}.values())], maker, feed),
            *(loss_measure(maker.before_values) if maker is not None else []),
            *(code_at(observations, frame) if frame is not None else []),
        ],
        remedies=[_pipeline_remedy(text)],
    )


# What makes float32 without saying so, and what to write instead.
_PIPELINES = (
    (
        "FloatList",
        "tf.train.FloatList stores 32-bit floats",
        "store the bytes of the float64 array in a BytesList and read them with tf.io.decode_raw(…, tf.float64)",
    ),
    (
        "make_csv_dataset",
        "make_csv_dataset reads decimal columns as float32",
        "pass column_defaults=[tf.float64, …], one for each column",
    ),
    ("CsvDataset", "CsvDataset reads what record_defaults say", "give record_defaults of tf.float64"),
    ("decode_csv", "decode_csv reads what record_defaults say", "give record_defaults of dtype tf.float64"),
    ("to_number", "strings.to_number gives float32 by default", "pass out_type=tf.float64"),
    (
        "from_tensor_slices",
        "lists of Python floats become float32 tensors",
        "convert the lists with np.array(…) first: NumPy keeps float64",
    ),
    (
        "from_tensors",
        "lists of Python floats become float32 tensors",
        "convert the lists with np.array(…) first: NumPy keeps float64",
    ),
    (
        "from_generator",
        "the generator's signature says float32",
        "declare tf.TensorSpec(…, tf.float64) in output_signature",
    ),
    (
        "FixedLenFeature",
        "the feature is read as float32",
        "store bytes and read them with tf.io.decode_raw(…, tf.float64)",
    ),
    (
        "image_dataset_from_directory",
        "image loaders give float32",
        "cast the images to tf.float64 in a map before any arithmetic",
    ),
    ("decode_wav", "decode_wav gives float32", "cast to tf.float64 before any arithmetic"),
)


def _maker_words(text: str) -> str:
    return next((words for key, words, _ in _PIPELINES if key in text), f"made by {text}")


def _pipeline_remedy(text: str) -> Remedy:
    advice = next(
        (advice for key, _, advice in _PIPELINES if key in text), "give the pipeline float64 from its first element on"
    )
    return Remedy(
        advice, why="set_floatx has no influence on tf.data: each source and each map function decides for itself."
    )


def _pipelines(observations: Observations, run: Run) -> list[Finding]:
    """Functions of a tf.data pipeline in which float64 becomes narrower."""
    found = []
    told: set[tuple[str, int]] = set()
    for graph in run.all(events.Graph):
        if graph.role != "dataset":
            continue
        for narrowing in graph.narrowings:
            frame = innermost(narrowing.frames)
            if (
                narrowing.kind != "narrows"
                or narrowing.by != "user"
                or frame is None
                or (frame.file, frame.line) in told
            ):
                continue
            told.add((frame.file, frame.line))
            found.append(
                Finding(
                    code="F105",
                    check=NAME,
                    title="a function of the data pipeline narrows float64",
                    severity=Severity.ERROR,
                    grade=Grade.OBSERVED,
                    summary=f"{narrowing.type} gives {narrowing.result_dtype} from float64 for each element of the dataset.",
                    location=location_of(observations, frame),
                    evidence=code_at(observations, frame),
                    remedies=[
                        Remedy(
                            "keep the element float64 in this function",
                            why="What is rounded here is rounded before any model sees it.",
                        )
                    ],
                )
            )
    return found


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
                *(_feed_related(observations, feed, frame) if feed is not None else []),
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


def _feed_related(observations: Observations, feed: events.Feed, maker: Frame | None) -> list:  # type: ignore[type-arg]
    frame = innermost(feed.frames)
    if frame is None or (maker is not None and (frame.file, frame.line) == (maker.file, maker.line)):
        return []
    return related(observations, frame, f"handed to {feed.call} as {feed.argument}{feed.path}")


def _keep_double(observations: Observations, frame: Frame | None, maker: events.Array | None) -> Remedy:
    text = observations.location(frame).snippet if frame is not None else ""
    why = "A cast back to float64 restores the dtype, not the digits; what must not be lost may never be float32."
    if maker is None:
        return Remedy("make this array float64 where it comes from", why=why)
    if "floatx()" in maker.text:
        return Remedy(
            'call set_floatx("float64") before this line runs (before the module is imported), or do not cast to floatx() here',
            why="The line runs while floatx is still float32; changing floatx later does not change the array. " + why,
        )
    if maker.before == "float64":
        return Remedy(f"keep float64 here: drop the conversion in “{maker.text[:80]}”", why=why, before=text)
    return Remedy(f"make it float64 here: dtype float64 in “{maker.text[:80]}”", why=why, before=text)


def _one_a_place(findings: list[Finding]) -> list[Finding]:
    """One cause, one finding: x and y narrowed by the same line, or fed by several calls, are one."""
    found: dict[tuple[str, int], Finding] = {}
    for finding in findings:
        key = (finding.location.file, finding.location.line) if finding.location else (finding.code, 0)
        found.setdefault(key, finding)
    return list(found.values())
