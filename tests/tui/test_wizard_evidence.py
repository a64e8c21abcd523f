"""Drawing evidence: each kind as lines, in enough and in too little room."""

from __future__ import annotations

import pytest
from textual.content import Content

from f64doctor.report import (
    Bar,
    BarPart,
    Bars,
    Code,
    Comparison,
    ComparisonRow,
    Location,
    Measure,
    Message,
    Remedy,
    Report,
    Series,
    SeriesLine,
    Table,
    Timeline,
    TimelineRow,
)
from f64doctor.tui.course import STEPS, Course
from f64doctor.tui.evidence import draw, draw_body, draw_change, draw_code, draw_comparison, draw_message, draw_timeline
from f64doctor.tui.intake import intake_lines
from f64doctor.tui.signs import Signs
from f64doctor.tui.step_pages import step_page
from tests.tui.samples import (
    FAILED_REPORT,
    HEALTHY_REPORT,
    HOSTILE_TEXTS,
    LATE_FLOATX,
    PLAN,
    RAISED_REPORT,
    hostile_evidence,
    hostile_report,
)

SIGNS = Signs()
ASCII = Signs(ascii_only=True)


def texts(lines: list[Content]) -> list[str]:
    return [line.plain for line in lines]


def timeline() -> Timeline:
    evidence = LATE_FLOATX.evidence[0]
    assert isinstance(evidence, Timeline)
    return evidence


def test_a_timeline_marks_its_turning_point() -> None:
    assert texts(draw_timeline(timeline(), 60, SIGNS)) == [
        "  0.31 s  blocks.py:3  Sequential  policy → float32",
        "▶ 0.31 s  train.py:6   set_floatx  floatx → float64",
        "  0.33 s  train.py:13  Dense       float32",
        "  0.41 s  train.py:16  fit(x)      7.2 digits kept",
    ]


def test_in_a_narrow_timeline_the_state_stands_under_what_happened() -> None:
    lines = texts(draw_timeline(timeline(), 48, SIGNS))
    assert lines[2:4] == ["▶ 0.31 s  train.py:6   set_floatx", "                       floatx → float64"]


def test_in_a_very_narrow_timeline_what_happened_stands_under_the_place() -> None:
    lines = texts(draw_timeline(timeline(), 30, SIGNS))
    assert lines[3:6] == ["▶ 0.31 s  train.py:6", "    set_floatx", "    floatx → float64"]


def test_a_timeline_without_times_has_no_column_for_them() -> None:
    rows = [TimelineRow("np.load", "float64", None, Location("a.py", 5)), TimelineRow("fit", "", None)]
    assert texts(draw_timeline(Timeline("", rows), 60, SIGNS)) == ["  a.py:5  np.load  float64", "          fit"]


def test_a_table_has_heads_and_numbers_at_the_right() -> None:
    table = Table("", ["layer", "count"], [["dense", "1,056"], ["out", "33"]])
    assert texts(draw_body(table, 40, SIGNS)) == ["  layer  count", "  dense  1,056", "  out       33"]


def test_a_table_with_too_many_columns_becomes_blocks() -> None:
    table = Table("", ["a", "b", "c"], [["/some/long/path", "/another/path", "3"]])
    assert texts(draw_body(table, 30, SIGNS)) == ["  a  /some/long/path", "  b  /another/path", "  c  3"]


def test_the_heads_of_a_table_give_way_before_its_cells_do() -> None:
    table = Table("", ["layer", "parameters"], [["trunk_dense_1", "128"]])
    assert texts(draw_body(table, 22, SIGNS)) == ["  layer          para…", "  trunk_dense_1    128"]


def test_an_empty_table_says_so() -> None:
    assert texts(draw_body(Table("", ["a"], []), 30, SIGNS)) == ["  no rows"]


def test_code_has_line_numbers_and_marked_lines() -> None:
    code = Code("", "a.py", 9, ["x = 1", "", "y = x[0]"], [11])
    assert texts(draw_code(code, 40, SIGNS)) == ["   9 │ x = 1", "  10 │", "▶ 11 │ y = x[0]"]
    assert texts(draw_code(code, 40, ASCII))[2] == "> 11 | y = x[0]"


def test_long_code_is_cropped_and_its_gutter_stays() -> None:
    lines = texts(draw_code(Code("", "a.py", 1, ["x" * 10_000], [1]), 20, SIGNS))
    assert lines == ["▶ 1 │ " + "x" * 13 + "…"]


def test_empty_lines_at_the_end_of_code_stay() -> None:
    assert len(draw_code(Code("", "a.py", 1, ["", "x", "", ""]), 20, SIGNS)) == 4


def test_a_message_is_wrapped_and_its_brackets_stay() -> None:
    assert texts(draw_message(Message("", "at [/device:GPU:0] it raised"), 22, SIGNS)) == [
        "  at [/device:GPU:0]",
        "  it raised",
    ]


def test_of_a_long_message_beginning_and_end_stay() -> None:
    lines = texts(draw_message(Message("", "\n".join(f"line {number}" for number in range(100))), 40, SIGNS))
    assert lines[0] == "  line 0"
    assert lines[-1] == "  line 99"
    assert "  … 80 more lines" in lines


def test_a_measure_in_bytes_is_read_at_a_glance() -> None:
    assert texts(draw_body(Measure("", 641_728_512, "bytes", "2.6 % of it"), 40, SIGNS)) == ["  612 MiB  2.6 % of it"]
    assert texts(draw_body(Measure("", 7.2, "digits", "of 15.9"), 40, SIGNS)) == ["  7.2 digits  of 15.9"]


def test_bars_have_one_scale_and_parts_told_apart_without_colour() -> None:
    gib = 2.0**30
    bars = Bars(
        "",
        "bytes",
        [
            Bar("float64", [BarPart("weights", 3 * gib), BarPart("other", gib)]),
            Bar("float32", [BarPart("all", 2 * gib)]),
        ],
        limit=8 * gib,
        limit_label="free",
    )
    assert texts(draw_body(bars, 42, SIGNS)) == [
        "  float64  ████████▓▓▓             4.0 GiB",
        "  float32  ██████                  2.0 GiB",
        "  free     ─────────────────────|  8.0 GiB",
        "    float64:  █ weights 3.0 GiB",
        "      ▓ other 1.0 GiB",
    ]
    assert "########==" in texts(draw_body(bars, 42, ASCII))[0]


def test_a_series_is_drawn_to_one_scale_with_its_ends_in_words() -> None:
    series = Series("", "step", "", [SeriesLine("loss", [8.0, None, 1.0]), SeriesLine("other", [None])])
    assert texts(draw_body(series, 60, SIGNS)) == ["  loss   █ ▁  8 → 1", "  other       not known", "  step 1 to 3"]
    assert "# _" in texts(draw_body(series, 60, ASCII))[0]


def test_a_comparison_marks_the_rows_that_differ() -> None:
    comparison = Comparison(
        "", ["as-is", "cpu"], [ComparisonRow("outcome", ["raised", "done"], True), ComparisonRow("seed", ["1", "1"])]
    )
    assert texts(draw_comparison(comparison, 40, SIGNS)) == [
        "           as-is   cpu",
        "≠ outcome  raised  done",
        "  seed     1       1",
    ]
    assert texts(draw_comparison(comparison, 40, ASCII))[1].startswith("!= outcome")


def test_a_change_shows_what_goes_and_what_comes_and_what_stays() -> None:
    remedy = Remedy("", before="a = 1\nkeep()\n", after="keep()\na = 2\n")
    assert texts(draw_change(remedy, 40, SIGNS)) == ["  - a = 1", "    keep()", "  + a = 2"]
    assert texts(draw_change(Remedy("", after="x"), 40, SIGNS)) == ["  + x"]
    assert draw_change(Remedy(""), 40, SIGNS) == []


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
@pytest.mark.parametrize("width", [16, 33, 53, 116])
def test_no_evidence_is_wider_than_its_page(text: str, width: int) -> None:
    for evidence in hostile_evidence(text):
        for line in draw(evidence, width, SIGNS):
            assert line.cell_length <= width
            assert "\n" not in line.plain


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_no_page_is_wider_than_its_place_and_ascii_is_ascii(text: str) -> None:
    course = Course.of_report(hostile_report(text))
    for step in STEPS:
        for line in step_page(course, step, 41, SIGNS):
            assert line.cell_length <= 41
        assert "".join(line.plain for line in step_page(course, step, 60, ASCII)).isascii()


@pytest.mark.parametrize("report", [FAILED_REPORT, HEALTHY_REPORT, RAISED_REPORT], ids=["failed", "healthy", "raised"])
@pytest.mark.parametrize("width", [39, 53, 84, 160])
def test_every_line_fits_at_every_width(report: Report, width: int) -> None:
    course = Course.of_report(report)
    for step in STEPS:
        assert max(line.cell_length for line in step_page(course, step, width, SIGNS)) <= width


def test_a_failed_step_says_conclusion_proof_and_remedy_in_this_order() -> None:
    page = "\n".join(texts(step_page(Course.of_report(FAILED_REPORT), "layers", 53, SIGNS)))
    parts = [
        "2 Layers",
        "F203 F207  ✗ failed",
        "comes too late",
        "✗ F203  The global policy",
        "train.py:6 · error · observed while running",
        "EVIDENCE  What came when",
        "▶ 0.31 s  train.py:6",
        "▶ 6 │ keras.config.set_floatx",
        "RELATED",
        "REMEDY  move line 6 above line 4",
        "✓ proved",
        "+ keras.config.set_floatx",
        "The first layer then finds",
        "! F207",
        "suspected",
        "ALSO LOOKED AT  Layers",
    ]
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


def test_the_verdict_says_what_to_do_first() -> None:
    page = "\n".join(texts(step_page(Course.of_report(FAILED_REPORT), "verdict", 53, SIGNS)))
    parts = [
        "Not float64",
        "DO THIS",
        "Move train.py:6",
        "FINDINGS",
        "✗ F203  The global",
        "root cause",
        "F207",
        "CUT SHORT",
        "3 of 24",
    ]
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


def test_the_intake_says_what_will_be_run_and_how_it_is_bounded() -> None:
    page = "\n".join(texts(intake_lines(PLAN, 76, SIGNS)))
    for part in (
        "train.py",
        "--epochs 2",
        "/home/ada/venvs/tf/bin/python",
        "2 runs",
        "at most 3 steps of each fit",
        "300",
    ):
        assert part in page
