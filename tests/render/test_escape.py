"""What a terminal would act on, or would hide, is written out."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from f64doctor.render.escape import in_ascii, log_lines, prose, visible, visible_lines


def test_a_colour_sequence_is_written_out() -> None:
    assert visible("\x1b[31mred") == r"\x1b[31mred"


def test_a_right_to_left_override_is_written_out() -> None:
    assert visible("a\u202eb") == r"a\u202eb"


def test_zero_width_characters_are_written_out() -> None:
    assert visible("dtype\u200b") == r"dtype\u200b"


def test_c1_controls_and_lone_surrogates_are_written_out() -> None:
    assert visible("\x9b1m \udce9") == r"\x9b1m \udce9"


def test_a_tag_beyond_the_basic_plane_is_written_out_in_eight_digits() -> None:
    assert visible("\U000e0041") == r"\U000e0041"


def test_letters_signs_and_wide_characters_stay() -> None:
    assert visible("größe → 数 é ✓ [/device:GPU:0]") == "größe → 数 é ✓ [/device:GPU:0]"


def test_prose_is_one_paragraph() -> None:
    assert prose("  a\n\tb\u00a0c  ") == "a b c"


def test_lines_keep_their_blanks_and_lose_their_tabs() -> None:
    assert visible_lines("if x:\n\ty  =  1\r\n") == ["if x:", "    y  =  1"]


def test_no_text_has_no_lines() -> None:
    assert visible_lines("") == []


def test_a_progress_bar_is_shown_as_it_was_last_drawn() -> None:
    assert log_lines("1/3 ...\r2/3 ...\r3/3 done\n") == ["3/3 done"]


def test_backspaces_of_a_log_erase_what_came_before() -> None:
    assert log_lines("1/3\b\b\b2/3") == ["2/3"]
    assert log_lines("\b\bok") == ["ok"]


def test_colours_of_a_log_are_left_out_and_other_sequences_are_written_out() -> None:
    assert log_lines("\x1b[1mloss\x1b[0m \x1b]0;title\x07") == [r"loss \x1b]0;title\x07"]


def test_signs_have_a_likeness_in_ascii_and_letters_an_escape() -> None:
    assert in_ascii("✓ a → b … é") == r"+ a -> b ... \xe9"


@given(st.text(st.characters(exclude_categories=())))
def test_whatever_comes_nothing_acts_on_the_terminal(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert in_ascii(shown).isascii()
    shown.encode()
