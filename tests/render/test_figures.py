"""Figures as characters: lengths of parts, columns of sparklines, amounts in words."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from f64doctor.amounts import bytes_in_words
from f64doctor.render.figures import amount, bounds, cells_of_parts, first_and_last, levels, sampled
from f64doctor.render.text import Page, write_evidence
from f64doctor.report import Bar, BarPart, Bars, Series, SeriesLine

MEMORY = Bars(
    "memory of a step",
    "bytes",
    [
        Bar("float64", [BarPart("weights", 3 * 2**30), BarPart("activations", 2**30)]),
        Bar("float32", [BarPart("all", 2 * 2**30)]),
    ],
    limit=8 * 2**30,
    limit_label="free memory",
)
LOSS = Series("loss", "step", "", [SeriesLine("float64", [4.0, None, 1.0]), SeriesLine("float32", [None, None])])


def written(evidence: Bars | Series) -> list[str]:
    page = Page(60, color=False, ascii_only=False)
    write_evidence(page, evidence, 0)
    return page.lines


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=6), st.integers(1, 80))
def test_the_parts_of_a_bar_never_take_more_than_its_cells_and_something_is_always_seen(
    values: list[float], width: int
) -> None:
    cells = cells_of_parts(values, sum(values), width)
    assert all(count >= 0 for count in cells)
    assert sum(cells) == (width if sum(values) > 0 else 0)
    assert sum(cells_of_parts(values, sum(values) * 1e9, width)) == (1 if sum(values) * 1e9 > 0 else 0)


def test_parts_are_as_long_as_they_are_large() -> None:
    assert cells_of_parts([3, 1, 0], 8, 16) == [6, 2, 0]
    assert cells_of_parts([math.inf, 1], 8, 16) == [0, 2]
    assert cells_of_parts([20, 5], 8, 16) == [16, 0]


def test_a_sparkline_spans_its_range_and_leaves_out_what_is_not_known() -> None:
    assert levels([0.0, None, math.nan, 7.0], 0.0, 7.0) == "▁  █"
    assert levels([0.0, 7.0], 0.0, 7.0, ascii_only=True) == "_#"
    assert levels([5.0, 5.0], 5.0, 5.0) == "▄▄"


def test_of_more_values_than_columns_the_last_of_each_stretch_is_drawn() -> None:
    assert sampled([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3) == [2.0, 4.0, 6.0]
    assert sampled([1.0, 2.0], 3) == [1.0, 2.0]


def test_bounds_and_ends_pass_over_what_is_not_known() -> None:
    assert bounds([[None, 2.0], [math.inf, -1.0]]) == (-1.0, 2.0)
    assert bounds([[None]]) is None
    assert first_and_last([None, 2.0, 3.0, None]) == (2.0, 3.0)
    assert first_and_last([]) is None


def test_amounts_have_their_units() -> None:
    assert [bytes_in_words(count) for count in (0, 999, 1024, 2**20, 61 * 2**20, 5 * 2**30, 3 * 2**40)] == [
        "0 B",
        "999 B",
        "1 KiB",
        "1.0 MiB",
        "61 MiB",
        "5.0 GiB",
        "3.0 TiB",
    ]
    assert amount(2**30, "bytes") == "1.0 GiB"
    assert amount(0.123456, "s") == "0.1235 s"
    assert amount(2, "") == "2"


def test_bars_are_told_in_words() -> None:
    assert written(MEMORY) == [
        "memory of a step",
        "  float64      4.0 GiB  weights 3.0 GiB, activations 1.0 GiB",
        "  float32      2.0 GiB",
        "  free memory  8.0 GiB",
    ]


def test_a_series_is_told_by_its_ends() -> None:
    assert written(LOSS) == ["loss", "  float64  4 at step 1 → 1 at step 3", "  float32  not known"]
