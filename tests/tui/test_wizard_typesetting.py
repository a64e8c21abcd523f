"""Setting hostile text: what is cleaned, how it is cut, and that nothing is ever wider than its page."""

from __future__ import annotations

import unicodedata

import pytest
from textual.content import Content

from f64doctor.render.escape import HIDDEN_CATEGORIES
from f64doctor.tui.signs import Signs
from f64doctor.tui.typeset import clean, clean_line, crop, crop_left, fitted_widths, grid, paragraphs, spread, wrap
from tests.tui.samples import HOSTILE_TEXTS

SIGNS = Signs()
ASCII = Signs(ascii_only=True)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
@pytest.mark.parametrize("signs", [SIGNS, ASCII], ids=["unicode", "ascii"])
def test_clean_text_has_nothing_that_a_terminal_acts_on(text: str, signs: Signs) -> None:
    cleaned = clean(text, signs)
    assert not any(unicodedata.category(character) in HIDDEN_CATEGORIES for character in cleaned.replace("\n", ""))
    cleaned.encode("ascii" if signs.ascii_only else "utf-8")


def test_escape_sequences_vanish_and_their_text_stays() -> None:
    assert clean("\x1b[1;31mred\x1b[0m and \x1b]8;;http://x\x07link\x1b]8;;\x07", SIGNS) == "red and link"


def test_other_hidden_characters_are_written_out() -> None:
    assert clean("a\x00b\u202ec", SIGNS) == "a\\x00b\\u202ec"


def test_backspaces_erase() -> None:
    assert clean("ab\b\bcd\n\be", SIGNS) == "cd\ne"


def test_of_a_line_that_was_rewritten_the_last_words_stay() -> None:
    assert clean("10%\r50%\r100%\r\nnext", SIGNS) == "100%\nnext"


def test_square_brackets_are_text() -> None:
    text = "[/device:GPU:0] layers[i].dtype [bold]x[/bold]"
    assert clean(text, SIGNS) == text


def test_ascii_has_words_for_arrows_and_escapes_for_letters() -> None:
    assert clean("a → b … ü", ASCII) == "a -> b ... \\xfc"


def test_a_line_stays_one_line() -> None:
    assert clean_line("a\nb\r\nc", SIGNS) == "a b c"


def test_a_cropped_line_ends_with_an_ellipsis_within_the_width() -> None:
    assert crop(Content("abcdefgh"), 5, SIGNS).plain == "abcd…"
    assert crop(Content("abcdefgh"), 5, ASCII).plain == "ab..."
    assert crop(Content("漢字かな"), 5, SIGNS).cell_length <= 5


def test_of_a_path_the_end_stays() -> None:
    assert crop_left("/a/long/way/to/train.py:6", 12, SIGNS) == "…/train.py:6"


def test_wrapped_lines_hang_under_their_first_word() -> None:
    lines = wrap(Content("one two three"), 9, first="a: ", rest="   ")
    assert [line.plain for line in lines] == ["a: one", "   two", "   three"]


def test_the_right_part_ends_at_the_edge() -> None:
    assert spread(Content("left"), Content("right"), 12, SIGNS).plain == "left   right"
    assert spread(Content("a long left part"), Content("right"), 14, SIGNS).plain == "a long…  right"


def test_only_the_widest_columns_give_way() -> None:
    assert fitted_widths([4, 30, 6], 20) == [4, 10, 6]
    assert fitted_widths([30, 30], 20) == [10, 10]
    assert fitted_widths([5, 5], 1) == [1, 1]


def test_columns_are_aligned_and_long_cells_wrap() -> None:
    rows = [[Content("a"), Content("one two three four")], [Content("bbb"), Content("x")]]
    assert [line.plain for line in grid(rows, 14, SIGNS)] == ["a    one two", "     three", "     four", "bbb  x"]


def test_a_cell_that_needs_too_many_lines_is_cropped() -> None:
    lines = grid([[Content("word " * 40)]], 10, SIGNS, most_lines=2)
    assert len(lines) == 2
    assert lines[-1].plain.endswith("…")


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
@pytest.mark.parametrize("width", [16, 31, 53, 120])
def test_nothing_is_wider_than_the_page(text: str, width: int) -> None:
    content = Content(clean_line(text, SIGNS))
    lines = [
        *paragraphs(text, width, SIGNS, indent=2),
        *wrap(content, width, first="  ", rest="    "),
        *grid([[content, content], [content]], width, SIGNS, indent=2),
        crop(content, width, SIGNS),
        spread(content, content, width, SIGNS),
    ]
    assert max(line.cell_length for line in lines) <= width


def test_a_sparkline_goes_from_the_lowest_to_the_highest() -> None:
    assert SIGNS.sparkline([3.0, 2.0, 1.0], 8) == "█▅▁"
    assert SIGNS.sparkline([float("nan"), 1.0], 8) == ""
    assert ASCII.sparkline([3.0, 2.0, 1.0], 8) == ""
