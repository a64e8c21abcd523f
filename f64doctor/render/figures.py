"""Figures as characters: how long each part of a bar is, and which step stands in which column of a sparkline."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from f64doctor.amounts import bytes_in_words

FILLINGS = ("█", "▓", "▒", "░", "▞", "▚")
"""What the parts of a bar are filled with, in their order; after the last the first comes again."""

FILLINGS_ASCII = ("#", "=", "+", "-", "o", ":")
"""The same for a terminal that shows ASCII only."""

LEVELS = "▁▂▃▄▅▆▇█"
"""What a value of a sparkline is drawn with, lowest first."""

LEVELS_ASCII = "_.,:-=+#"
"""The same for a terminal that shows ASCII only."""


def cells_of_parts(values: Sequence[float], full: float, width: int) -> list[int]:
    """How many of ``width`` cells each part of a bar takes when ``full`` takes them all.

    The ends of the parts are rounded, not their lengths, so that bars of equal sums are equally long; a part that is
    not zero may thus take no cell, but a bar that is not zero takes one at least. What goes beyond ``full`` is cut.
    """
    if full <= 0 or width <= 0:
        return [0 for _ in values]
    ends = [0]
    total = 0.0
    for value in values:
        total += value if math.isfinite(value) and value > 0 else 0.0
        ends.append(min(round(total / full * width), width))
    cells = [end - begin for begin, end in itertools.pairwise(ends)]
    if total > 0 and not any(cells):
        cells[max(range(len(values)), key=lambda index: values[index])] = 1
    return cells


def sampled(values: Sequence[float | None], width: int) -> list[float | None]:
    """At most ``width`` values: all, or the last one of each of ``width`` stretches of equal length."""
    count = len(values)
    if count <= width or width < 1:
        return list(values)
    return [values[(column + 1) * count // width - 1] for column in range(width)]


def levels(
    values: Sequence[float | None],
    low: float,
    high: float,
    *,
    ascii_only: bool = False,
) -> str:
    """A sparkline, one character a value, a blank for one that is not known or not finite; ``low`` to ``high`` is its range."""
    signs = LEVELS_ASCII if ascii_only else LEVELS
    drawn = []
    for value in values:
        if value is None or not math.isfinite(value):
            drawn.append(" ")
        elif high <= low:
            drawn.append(signs[len(signs) // 2 - 1])
        else:
            share = (min(max(value, low), high) - low) / (high - low)
            drawn.append(signs[round(share * (len(signs) - 1))])
    return "".join(drawn)


def bounds(lines: Sequence[Sequence[float | None]]) -> tuple[float, float] | None:
    """The lowest and the highest finite value of all lines; None without any."""
    known = [value for line in lines for value in line if value is not None and math.isfinite(value)]
    return (min(known), max(known)) if known else None


def first_and_last(values: Sequence[float | None]) -> tuple[float, float] | None:
    """The first and the last value that are known; None without any."""
    known = [value for value in values if value is not None]
    return (known[0], known[-1]) if known else None


def amount(value: float, unit: str, *, digits: int = 4) -> str:
    """A number with its unit in words: bytes as ``61 MiB``, everything else with at most ``digits`` significant digits."""
    if unit.lower() in ("b", "byte", "bytes"):
        return bytes_in_words(value)
    return f"{value:,.{digits}g} {unit}".rstrip()
