"""Findings about what yields batches: tf.data pipelines, generators, Sequences and PyDatasets."""

from __future__ import annotations

from f64doctor.checks.data_remedies import feed_related, keep_double
from f64doctor.checks.intent import NARROW
from f64doctor.checks.laundered import in_words, laundered
from f64doctor.checks.lineage import Lineage, harmless
from f64doctor.checks.precision import Precision
from f64doctor.checks.showing import code_at, history, location_of, loss_measure, related
from f64doctor.observe import Observations, Run, events, innermost
from f64doctor.report import Finding, Grade, Remedy, Severity

NAME = "inputs"


def loader(observations: Observations, lineage: Lineage, feed: events.Feed, precision: Precision) -> Finding | None:
    """A generator or dataset object of the user's whose function makes or reads float32 arrays, when no batch of it was seen."""
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
            *feed_related(observations, feed, frame),
            *related(observations, feed.loader, "yields the batches"),
        ],
        evidence=[
            history(observations, behind, maker, feed),
            *(code_at(observations, frame) if frame is not None else []),
        ],
        remedies=[keep_double(observations, frame, maker)],
    )


def dataset(observations: Observations, lineage: Lineage, feed: events.Feed, precision: Precision) -> Finding | None:
    """A tf.data pipeline that yields narrow floats, or float64 made of arrays that have been through float32."""
    if feed.dtype in NARROW:
        return _narrow_dataset(observations, lineage, feed, precision)
    return _laundered_dataset(observations, lineage, feed) if feed.dtype == "float64" else None


def _laundered_dataset(observations: Observations, lineage: Lineage, feed: events.Feed) -> Finding | None:
    """What the pipeline yields cannot be looked at without drawing from it; the arrays that it slices can."""
    for source in lineage.behind(feed):
        if source.kind != "dataset" or source.call.rsplit(".", 1)[-1] not in ("from_tensor_slices", "from_tensors"):
            continue
        for array in lineage.parents(source):
            values = array.values
            if array.dtype != "float64" or values is None or not values.laundered:
                continue
            behind = lineage.ancestors([array])
            maker = lineage.first_with(behind, NARROW)
            if maker is None and (values.fixed_point or values.nontrivial < 8):
                continue
            said = f"The dataset is made of {array.name or 'an array'}, which {in_words(values)}"
            return laundered(observations, feed, [*behind, source], maker, array, said)
    return None


def _narrow_dataset(
    observations: Observations, lineage: Lineage, feed: events.Feed, precision: Precision
) -> Finding | None:
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
        related=feed_related(observations, feed, frame),
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


def functions(observations: Observations, run: Run) -> list[Finding]:
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
