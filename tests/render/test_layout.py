"""Text is set in cells of a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from f64doctor.render.layout import crop, crop_middle, fitted_widths, grid, pad, width_of, wrap

WORDS = st.text("ab 数é/.", max_size=60)


def test_wide_characters_take_two_cells_and_combining_marks_none() -> None:
    assert width_of("数e\u0301") == 3


def test_padding_counts_cells() -> None:
    assert pad("数", 4) == "数  "
    assert pad("7", 3, right=True) == "  7"


def test_wrapping_breaks_at_blanks_and_indents_as_far_as_the_first_line() -> None:
    assert wrap("move the line above", 14, "  Do: ") == ["  Do: move the", "      line", "      above"]


def test_a_path_that_is_too_long_is_broken_after_a_slash() -> None:
    assert wrap("/home/someone/project/train.py:6", 24) == ["/home/someone/project/", "train.py:6"]


def test_nothing_is_one_empty_line() -> None:
    assert wrap("", 10) == [""]


@given(WORDS, st.integers(8, 40))
def test_wrapped_lines_fit_and_lose_no_character(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(width_of(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_cropping_ends_in_an_ellipsis() -> None:
    assert crop("keras.config.set_floatx", 10) == "keras.con…"
    assert crop("short", 10) == "short"


def test_cropping_in_the_middle_keeps_the_name() -> None:
    assert crop_middle("/home/someone/project/train.py", 16) == "/home…t/train.py"


@given(WORDS, st.integers(6, 30))
def test_what_is_cropped_fits(text: str, width: int) -> None:
    assert width_of(crop(text, width)) <= width
    assert width_of(crop_middle(text, width)) <= width


def test_narrow_columns_keep_their_width_and_wide_ones_share_the_rest() -> None:
    assert fitted_widths([5, 60, 40], 65) == [5, 30, 30]
    assert fitted_widths([5, 6], 65) == [5, 6]


def test_a_grid_aligns_its_columns_and_wraps_its_cells() -> None:
    rows = grid([("1", "a", "one two"), ("10", "bb", "three")], 12, right=(0,))
    assert rows == [[[" 1", "a ", "one   "], ["  ", "  ", "two   "]], [["10", "bb", "three "]]]


def test_columns_that_are_empty_everywhere_are_left_out() -> None:
    assert grid([("", "a"), ("", "b")], 10) == [[["a"]], [["b"]]]
