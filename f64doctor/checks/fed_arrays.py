"""Findings about arrays, frames, tensors and files that were handed to a model."""

from __future__ import annotations

from f64doctor.checks.data_remedies import feed_related, keep_double, set_floatx_remedy
from f64doctor.checks.intent import NARROW
from f64doctor.checks.laundered import in_words, laundered
from f64doctor.checks.lineage import Lineage, harmless, seen_to_lose
from f64doctor.checks.precision import Precision
from f64doctor.checks.showing import code_at, history, location_of, loss_measure
from f64doctor.observe import Observations, events, innermost
from f64doctor.report import Evidence, Finding, Grade, Measure, Remedy, Severity

NAME = "inputs"
ARRAYS = ("ndarray", "tensor", "frame", "scalar", "list", "sparse", "ragged", "batch")
_COMPUTED = ("ndarray", "scalar", "tensor", "frame")
# What reads numbers as a file stores them, and what reads them from text.
_STORED = (
    "load",
    "memmap",
    "fromfile",
    "frombuffer",
    "read_hdf",
    "read_parquet",
    "read_feather",
    "loadmat",
    "open_dataset",
)
_TEXT = ("loadtxt", "genfromtxt", "read_csv", "read_table", "read_fwf", "read_excel", "fromstring", "read_json")
# Numbers of so many significant decimal digits fit in float32 as well as text can tell.
_FEW_DECIMALS = 7


def judge(observations: Observations, lineage: Lineage, feed: events.Feed, precision: Precision) -> Finding | None:
    """What one fed array shows: narrow, laundered, rounded by Keras, computed from narrower values, or truncated."""
    if feed.dtype in NARROW:
        return _narrow(observations, lineage, feed, precision)
    if feed.dtype.startswith(("int", "uint")):
        return _truncated(observations, lineage, feed)
    if feed.dtype != "float64" or feed.values is None:
        return None
    if feed.values.laundered or feed.values.laundered_columns:
        found = _laundered(observations, lineage, feed)
        if found is not None:
            return found
    if feed.takes in NARROW and feed.values.max_relative_error and _explicit_throughout(precision):
        return _rounded(observations, feed)
    if feed.values.nontrivial:
        return _computed_from_narrow(observations, lineage, feed) or _few_decimals(observations, lineage, feed)
    return None


def _explicit_throughout(precision: Precision) -> bool:
    """Every layer is float64 by its own dtype argument: then only the array adapter's floatx is left to round."""
    return bool(precision.trained) and not precision.narrow and precision.policy != "float64"


def _what(lineage: Lineage, feed: events.Feed) -> str:
    """The data in words: the argument, or the name that a captured tensor has in the script."""
    if feed.argument != "captured":
        return f"{feed.argument}{feed.path}"
    named = [array.name for array in lineage.arrays if array.name and feed.made in (array.serial, array.same_as)]
    return named[-1] if named else "a captured tensor"


def _trains(feed: events.Feed) -> bool:
    """Whether the data reach the loss that is minimised: validation, evaluation and prediction do not."""
    return feed.argument != "validation_data" and feed.call in ("fit", "train_on_batch", "call", "step")


def _proof(
    observations: Observations, behind: list[events.Array], maker: events.Array | None, feed: events.Feed
) -> list[Evidence]:
    """The way of the data, what was lost in numbers, and the line."""
    frame = innermost(maker.frames) if maker is not None else innermost(feed.frames)
    return [
        history(observations, behind, maker, feed),
        *(loss_measure(maker.before_values) if maker is not None else []),
        *(code_at(observations, frame) if frame is not None else []),
    ]


def _narrow(observations: Observations, lineage: Lineage, feed: events.Feed, precision: Precision) -> Finding | None:
    behind = lineage.behind(feed)
    maker = _file_written(lineage, lineage.first_with(behind, NARROW))
    lost = maker is not None and seen_to_lose(maker)
    lossy = lost or (maker is not None and maker.before == "float64")
    # Half precision uses so few bits that its numbers look trivial: there only the conversion itself is proof.
    if not lost and (feed.values is None or feed.values.nontrivial == 0):
        return None
    what = _what(lineage, feed)
    loud = _trains(feed) and (lossy or precision.floatx == "float64")
    severity = Severity.ERROR if loud else Severity.WARNING
    if maker is not None and _is_stored(lineage, maker):
        return _stored_narrow(observations, behind, maker, feed, severity)
    frame = innermost(maker.frames) if maker is not None else innermost(feed.frames)
    summary = f"{what} reaches {feed.call} as {feed.dtype}: " + (
        "its digits were cut before the model saw them."
        if lossy
        else "it holds 24 bits a value at most, whatever the model's precision."
    )
    return Finding(
        code="F101",
        check=NAME,
        title=f"a {feed.dtype} array is handed to a float64 model",
        severity=severity,
        grade=Grade.OBSERVED,
        summary=summary,
        location=location_of(observations, frame),
        related=feed_related(observations, feed, frame),
        evidence=_proof(observations, behind, maker, feed),
        remedies=[keep_double(observations, frame, maker)],
    )


def _is_stored(lineage: Lineage, maker: events.Array) -> bool:
    """Whether the maker reads what a file stores, rather than converting it on the way."""
    if maker.before == "float64":
        return False
    if maker.call.rsplit(".", 1)[-1] in _STORED:
        return True
    parents = lineage.parents(maker)
    return any(parent.kind == "file" or parent.call.rsplit(".", 1)[-1] in _STORED for parent in parents)


def _stored_narrow(
    observations: Observations, behind: list[events.Array], maker: events.Array, feed: events.Feed, severity: Severity
) -> Finding:
    frame = innermost(maker.frames)
    return Finding(
        code="F109",
        check=NAME,
        title=f"the file holds {maker.dtype}, the model is float64",
        severity=severity,
        grade=Grade.OBSERVED,
        summary=f"{feed.argument}{feed.path} is read from a file that stores {maker.dtype}: it holds 24 bits a value at most,"
        " and no later conversion adds to them.",
        location=location_of(observations, frame),
        related=feed_related(observations, feed, frame),
        evidence=_proof(observations, behind, maker, feed),
        remedies=[
            Remedy(
                "write the file in float64 where it is made, and read it as it is",
                why="The digits are not in the file. If the numbers were measured or computed to 7 digits anyway, nothing is lost here:"
                " then float64 cannot make the result more exact than they are.",
                before=observations.location(frame).snippet if frame is not None else "",
            )
        ],
    )


def _laundered(observations: Observations, lineage: Lineage, feed: events.Feed) -> Finding | None:
    values = feed.values
    assert values is not None
    behind = lineage.behind(feed)
    maker = _file_written(lineage, lineage.first_with(behind, NARROW))
    columns = values.laundered_columns
    if maker is None and (columns or values.fixed_point or values.nontrivial < 8):
        return None  # numbers on a grid, as 24-bit audio is, look the same: without the line that narrowed them they prove nothing
    said = f"{_what(lineage, feed)} {in_words(values)}"
    if columns:
        named = ", ".join(str(index) for index in columns[:8])
        said = (
            f"{_what(lineage, feed)} is float64, but all values of its column{'s' if len(columns) > 1 else ''} {named}"
            f" equal their float32 rounding ({values.exact:,} of the {values.nontrivial:,} values that could tell)."
        )
    severity = Severity.ERROR if _trains(feed) else Severity.WARNING
    return laundered(observations, feed, behind, maker, feed, said, severity)


def _file_written(lineage: Lineage, maker: events.Array | None) -> events.Array | None:
    """The earlier line that wrote the float32 file which the maker reads, when this run wrote it; else the maker."""
    if maker is None:
        return None
    if not maker.call.endswith("memmap") or "w+" in maker.text:
        return dataset_written(lineage, maker)
    written = [
        array
        for array in lineage.arrays
        if array.call.endswith("memmap") and "w+" in array.text and array.dtype in NARROW and array.t < maker.t
    ]
    return written[-1] if written else maker


def dataset_written(lineage: Lineage, maker: events.Array) -> events.Array:
    """The line that created the HDF5 dataset in float32 from which the maker reads, when this run created it; else the maker."""
    if not any(parent.kind == "file" for parent in lineage.parents(maker)):
        return maker
    created = [
        array
        for array in lineage.arrays
        if array.kind == "file"
        and array.how == "called"
        and array.dtype in NARROW
        and array.serial < maker.serial
        and array.shape == maker.shape
    ]
    return created[-1] if created else maker


def _truncated(observations: Observations, lineage: Lineage, feed: events.Feed) -> Finding | None:
    """pad_sequences makes int32 unless it is told otherwise, and cuts what stands behind the point."""
    behind = lineage.behind(feed)
    maker = next(
        (
            array
            for array in behind
            if array.call.rsplit(".", 1)[-1] == "pad_sequences"
            and array.dtype == feed.dtype
            and array.before == "float64"
            and array.before_values is not None
            and array.before_values.fractional
        ),
        None,
    )
    if maker is None or maker.before_values is None:
        return None
    lost = maker.before_values
    frame = innermost(maker.frames)
    return Finding(
        code="F108",
        check=NAME,
        title=f"pad_sequences cuts the numbers to {maker.dtype}",
        severity=Severity.ERROR,
        grade=Grade.OBSERVED,
        summary=f"{lost.fractional:,} of the {lost.sampled:,} numbers that were looked at are no integers: pad_sequences makes"
        f" {maker.dtype} by default, and drops what stands behind the point.",
        location=location_of(observations, frame),
        related=feed_related(observations, feed, frame),
        evidence=[
            Measure(
                "numbers cut",
                lost.fractional,
                "values",
                f"{lost.fractional:,} of {lost.sampled:,} have digits behind the point",
            ),
            *_proof(observations, behind, maker, feed),
        ],
        remedies=[
            Remedy(
                'pass dtype="float64" to pad_sequences',
                why="Its default is int32, whatever the lists hold.",
                before=observations.location(frame).snippet if frame is not None else "",
            )
        ],
    )


def _computed_from_narrow(observations: Observations, lineage: Lineage, feed: events.Feed) -> Finding | None:
    """The fed values use all their bits, but were computed from values that had lost digits on the way."""
    behind = lineage.behind(feed)
    maker = _lost_on_the_way(lineage, behind)
    if maker is None:
        return None
    frame = innermost(maker.frames)
    return Finding(
        code="F107",
        check=NAME,
        title="the data were computed from values that had been cut to float32",
        severity=Severity.ERROR if _trains(feed) else Severity.WARNING,
        grade=Grade.INFERRED,
        summary=f"{_what(lineage, feed)} is float64 and uses all its bits, but what it was computed from "
        + ("lost digits" if seen_to_lose(maker) else "was float32")
        + f" in “{maker.text[:60]}”.",
        location=location_of(observations, frame),
        related=feed_related(observations, feed, frame),
        evidence=_proof(observations, behind, maker, feed),
        remedies=[keep_double(observations, frame, maker)],
    )


def _lost_on_the_way(lineage: Lineage, behind: list[events.Array]) -> events.Array | None:
    """The line that narrowed something that these arrays were computed from, or that widened what was narrow before."""
    for array in behind:
        if array.how == "called" and array.dtype in NARROW and array.kind in _COMPUTED and seen_to_lose(array):
            return array
    for array in behind:
        values = array.values
        if array.dtype != "float64" or values is None or not values.laundered or values.nontrivial < 8:
            continue
        if values.fixed_point:
            continue
        maker = lineage.first_with(lineage.ancestors([array]), NARROW)
        if maker is not None and maker.kind != "variable" and not harmless(maker):
            return dataset_written(lineage, maker)
        if array.how == "called" and array.before in NARROW:
            return array
    return None


def behind_a_loss(observations: Observations, lineage: Lineage, feed: events.Feed) -> Finding | None:
    """What a loop of the script's own differentiates was computed from an array that has been through float32."""
    for array in lineage.behind(feed):
        values = array.values
        if array.dtype != "float64" or values is None or not values.laundered or values.nontrivial < 8:
            continue
        behind = lineage.ancestors([array])
        maker = lineage.first_with(behind, NARROW)
        if maker is not None and maker.kind != "variable":
            said = f"The loss is computed from {array.name or 'an array'}, which {in_words(values)}"
            return laundered(observations, feed, behind, maker, array, said, grade=Grade.INFERRED)
    return None


def _few_decimals(observations: Observations, lineage: Lineage, feed: events.Feed) -> Finding | None:
    """The data were read from text that has no more digits than float32 can hold: float64 stores them, and cannot add to them."""
    reader = next(
        (
            array
            for array in lineage.behind(feed)
            if array.call.rsplit(".", 1)[-1] in _TEXT
            and array.values is not None
            and array.values.nontrivial >= 8
            and array.values.decimals is not None
            and array.values.decimals <= _FEW_DECIMALS
        ),
        None,
    )
    if reader is None or reader.values is None:
        return None
    frame = innermost(reader.frames)
    digits = reader.values.decimals or 0
    return Finding(
        code="F110",
        check=NAME,
        title=f"the data were read from text of {digits} digits",
        severity=Severity.INFO,
        grade=Grade.OBSERVED,
        summary=f"No number that was read has more than {digits} significant digits: the data are known to {digits} digits, whatever the dtype."
        " What is computed from them in float64 is not wrong, only not better known than they are.",
        location=location_of(observations, frame),
        related=feed_related(observations, feed, frame),
        evidence=[
            Measure("digits in the text", digits, "decimal digits", f"at most {digits} significant digits a number")
        ],
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
        remedies=[set_floatx_remedy(observations)],
    )
