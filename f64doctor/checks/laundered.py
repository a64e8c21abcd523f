"""The finding about float64 that has been through float32, wherever the array was met: fed, behind a loss, or sliced by a dataset."""

from __future__ import annotations

from f64doctor.checks.data_remedies import feed_related, keep_double
from f64doctor.checks.showing import code_at, history, location_of, loss_measure
from f64doctor.observe import Observations, events, innermost
from f64doctor.report import Finding, Grade, Severity

NAME = "inputs"


def in_words(values: events.Values) -> str:
    """The proof as the second half of a sentence that begins with the array."""
    return (
        f"is float64, but all {values.nontrivial:,} of its values that could tell equal their float32 rounding:"
        f" {values.bits} of 53 bits are in use."
    )


def laundered(
    observations: Observations,
    feed: events.Feed,
    behind: list[events.Array],
    maker: events.Array | None,
    otherwise: events.Array | events.Feed,
    said: str,
    severity: Severity = Severity.ERROR,
    grade: Grade = Grade.OBSERVED,
) -> Finding:
    """F102 at the line that narrowed the numbers; at the line of ``otherwise`` when that line is not known."""
    frame = innermost((maker or otherwise).frames)
    return Finding(
        code="F102",
        check=NAME,
        title="the array is float64 in name only: its values have been through float32",
        severity=severity,
        grade=grade,
        summary=said,
        location=location_of(observations, frame),
        related=feed_related(observations, feed, frame),
        evidence=[
            history(observations, behind, maker, feed if otherwise is feed else None),
            *(loss_measure(maker.before_values) if maker is not None else []),
            *(code_at(observations, frame) if frame is not None else []),
        ],
        remedies=[keep_double(observations, frame, maker)],
    )
