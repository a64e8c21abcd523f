"""Shapes observations into evidence: code with marked lines, an array's history, measures in words."""

from __future__ import annotations

import ast
import math

from f64doctor.observe import Frame, Observations, events
from f64doctor.report import Code, Evidence, Location, Measure, Related, Timeline, TimelineRow

CONTEXT = 2
DOUBLE_DIGITS = 53 * math.log10(2)


def code_at(observations: Observations, frame: Frame, title: str = "where", context: int = CONTEXT) -> list[Evidence]:
    """The file's lines around a frame with that line marked; nothing where the file is not known."""
    lines = observations.lines(frame.file)
    if not 0 < frame.line <= len(lines):
        return []
    first = max(1, frame.line - context)
    last = min(len(lines), frame.line + context)
    return [
        Code(
            title,
            observations.shown(frame.file),
            first,
            [line.rstrip() for line in lines[first - 1 : last]],
            [frame.line],
        )
    ]


def statement_around(observations: Observations, frame: Frame) -> tuple[int, int]:
    """The first and last line of the simple statement that spans a line: code is moved before statements, not into them."""
    try:
        tree = ast.parse("\n".join(observations.lines(frame.file)))
    except (SyntaxError, ValueError, RecursionError):
        return frame.line, frame.line
    spans = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        and not hasattr(node, "body")
        and node.lineno <= frame.line <= (node.end_lineno or node.lineno)
    ]
    return max(spans, default=(frame.line, frame.line))


def related(observations: Observations, frame: Frame | None, note: str) -> list[Related]:
    """A line with the part that it plays, or nothing when there is no line."""
    return [] if frame is None else [Related(observations.shown(frame.file), frame.line, note)]


def shape_words(shape: list[int | None] | None) -> str:
    """A shape as NumPy writes it: ``(256, 3)``."""
    if shape is None:
        return ""
    inner = ", ".join("?" if size is None else str(size) for size in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def digits_kept(relative_error: float | None) -> float | None:
    """Decimal digits that survive a relative error; at most those of a double."""
    if relative_error is None:
        return None
    return DOUBLE_DIGITS if relative_error <= 0 else min(DOUBLE_DIGITS, -math.log10(relative_error))


def loss_measure(values: events.Values | None, title: str = "digits") -> list[Evidence]:
    """What rounding to float32 does, or did, to these values."""
    if values is None or not values.max_relative_error:
        return []
    kept = digits_kept(values.max_relative_error) or 0.0
    text = f"{kept:.1f} of {DOUBLE_DIGITS:.1f} digits kept, largest relative rounding {values.max_relative_error:.2g}"
    if values.max_absolute_error and values.max_magnitude and values.max_magnitude >= 1000.0:
        text += f"; in the data's own units up to {values.max_absolute_error:.3g} at a magnitude of {values.max_magnitude:.6g}"
    return [Measure(title, round(kept, 2), "decimal digits", text)]


def exact_words(values: events.Values | None) -> str:
    """The mantissas in words, for data that were looked at."""
    if values is None or values.sampled == 0:
        return ""
    if values.nontrivial == 0:
        return "values exact in float32"
    if values.exact == values.nontrivial:
        return f"all {values.nontrivial} values float32-exact, {values.bits} of 53 bits in use"
    return f"{values.bits} of 53 mantissa bits in use"


def history(
    observations: Observations, arrays: list[events.Array], turning: events.Array | None, feed: events.Feed | None
) -> Timeline:
    """The way of an array through the user's lines, the line that narrowed it marked."""
    rows: list[TimelineRow] = []
    told: set[tuple[str, int, str]] = set()
    for array in arrays:
        if not array.frames or array.kind == "symbolic":
            continue
        frame = array.frames[-1]
        key = (frame.file, frame.line, array.dtype)
        if key in told and array is not turning:
            continue
        told.add(key)
        state = f"{array.before} → {array.dtype}" if array.before and array.before != array.dtype else array.dtype
        name = array.name or array.call or array.text
        rows.append(
            TimelineRow(
                f"{name} {shape_words(array.shape)}".strip(),
                state,
                array.t,
                observations.location(frame),
                array is turning,
            )
        )
    if len(rows) > 12:
        middle = next((index for index, row in enumerate(rows) if row.turning_point), 0)
        rows = [row for index, row in enumerate(rows) if abs(index - middle) <= 4 or index >= len(rows) - 3]
    if feed is not None and feed.frames:
        words = exact_words(feed.values)
        rows.append(
            TimelineRow(
                f"{feed.call}({feed.argument}{feed.path})",
                feed.dtype + (f", {words}" if words else ""),
                feed.t,
                observations.location(feed.frames[-1]),
            )
        )
    return Timeline("how the data came here", rows)


def location_of(observations: Observations, frame: Frame | None) -> Location | None:
    """A frame as a finding's location."""
    return None if frame is None else observations.location(frame)


def plural(count: int, word: str) -> str:
    """``1 layer``, ``3 layers``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
