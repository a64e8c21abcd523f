"""The text report: what to do comes first, the proof after it, in 80 columns and on any terminal."""

from __future__ import annotations

import re

import msgspec
import pytest

from f64doctor.render.layout import width_of
from f64doctor.render.text import render_head, render_text
from f64doctor.report import (
    CheckResult,
    Code,
    Finding,
    Location,
    Message,
    Remedy,
    Report,
    RunReport,
    Status,
    Timeline,
    TimelineRow,
)
from tests.reports import LATE_SETTING, NOTE, WARNING, failed_report, healthy_report, with_verdict

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def lines_of(report: Report) -> list[str]:
    return render_text(report).splitlines()


def of_finding(finding: Finding) -> list[str]:
    """The lines of a report that begin with those of its only finding."""
    lines = lines_of(msgspec.structs.replace(healthy_report(), findings=[finding], runs=[]))
    return lines[next(number for number, line in enumerate(lines) if finding.code in line) :]


def test_the_first_lines_say_what_was_examined_what_is_wrong_and_what_to_do() -> None:
    assert lines_of(failed_report())[:6] == [
        "f64doctor 0.1.0 · train.py · TF 2.21 · Keras 3.15 · CPU · 3 steps, 4.2 s",
        "",
        '✗ Not float64: set_floatx("float64") at train.py:6 comes too late. All 3 layers',
        "  compute in float32.",
        "  Do this: move train.py:6 above line 4 (from blocks import trunk). 1 note",
        "  below.",
    ]


def test_the_header_spells_everything_out_where_there_is_room() -> None:
    header = render_text(failed_report(), width=110).splitlines()[0]
    assert header == "f64doctor 0.1.0 · train.py · TensorFlow 2.21.0, Keras 3.15.1, CPU only · 3 steps, 4.2 s"


def test_the_header_stays_one_line_for_a_long_path_and_keeps_the_name() -> None:
    target = msgspec.structs.replace(failed_report().target, path="/home/someone/" + "deep/" * 20 + "train.py")
    header = lines_of(msgspec.structs.replace(failed_report(), target=target))[0]
    assert width_of(header) <= 80
    assert "train.py · TF 2.21" in header


def test_the_five_checks_stand_in_order_with_sign_word_and_summary() -> None:
    lines = lines_of(failed_report())
    assert lines[7:14] == [
        " 1 inputs   ✓ passed      x (256, 3), y (256, 1): float64, 52 of 52 mantissa",
        "                          bits in use",
        " 2 layers   ✗ failed      1 finding",
        " 3 device   – not judged  no accelerator here; 1 op would have no float64 GPU",
        "                          kernel",
        " 4 casts    ✓ passed      2 traced functions, 612 ops: nothing narrows",
        " 5 memory   ✓ passed      peak 61 MiB of 22.9 GiB free",
    ]


def test_other_findings_and_notes_are_counted() -> None:
    head = render_head(with_verdict(Status.FAILED, LATE_SETTING, WARNING, NOTE, NOTE))
    assert "1 other finding, 2 notes below." in head


def test_a_healthy_target_is_told_so_and_nothing_to_do() -> None:
    text = render_text(healthy_report())
    assert "✓ float64 from the arrays to the weights." in text
    assert "Do this" not in text


def test_the_head_is_the_beginning_of_the_report() -> None:
    assert render_text(failed_report()).startswith(render_head(failed_report()))


def test_severity_and_grade_stand_at_the_right_of_a_title_that_leaves_room() -> None:
    assert of_finding(NOTE)[0] == (
        "3 device · F301 · one operation has no float64 kernel on GPUs" + " " * 5 + "info, inferred"
    )


def test_severity_and_grade_stand_below_a_title_that_is_too_long() -> None:
    finding = msgspec.structs.replace(NOTE, title="a title that leaves no room at all for more words at its right")
    assert of_finding(finding)[:3] == [
        "3 device · F301 · a title that leaves no room at all for more words at its right",
        "  info, inferred",
        "  It would run on the CPU.",
    ]


def test_a_finding_shows_its_place_and_its_proof() -> None:
    lines = of_finding(LATE_SETTING)
    assert lines[0] == "2 layers · F203 · the global policy was latched before set_floatx"
    assert lines[1:] == [
        "  error, observed",
        '  train.py:6  keras.config.set_floatx("float64")',
        "  All 3 layers keep float32.",
        "  Order of events",
        "     0.31 s  blocks.py:3  keras.Sequential([     policy → float32",
        '  ▸  0.34 s  train.py:6   set_floatx("float64")  floatx → float64',
        "    10.40 s  train.py:16  fit(x, y)              7.2 of 15.9 digits kept",
        "  Layers",
        "    layer    dtype    parameters",
        "    dense    float32          12",
        "    dense_1  float32       1,033",
        "  As it is, and on the CPU",
        "                  as-is   cpu-only",
        "  ▸ outcome       raised  completed",
        "    loss, step 1  0.5     0.5",
        "  The setting · train.py",
        "    5 │",
        '  ▸ 6 │ keras.config.set_floatx("float64")',
        "    7 │     x = 1",
        "  Keras says",
        "    │ first line",
        "    │ second line",
        "  Digits kept: 7.2 of 15.9",
        "  See also",
        "    blocks.py:3  latches the policy: float32",
        "  Remedy  move the setting before whatever builds layers (proved ✓)",
        '    + keras.config.set_floatx("float64")',
        "      from blocks import trunk",
        '    - keras.config.set_floatx("float64")',
        "  Why     Keras keeps the dtype policy that was current when the first layer was",
        "          made. (f64doctor --explain F203)",
    ]


def test_a_summary_that_the_verdict_has_said_is_not_repeated() -> None:
    finding = msgspec.structs.replace(NOTE, summary=healthy_report().verdict.summary)
    assert of_finding(finding)[1] == "  More    (f64doctor --explain F301)"


def test_a_remedy_without_code_shows_its_edits() -> None:
    remedy = msgspec.structs.replace(LATE_SETTING.remedies[0], before="", after="", proved=None)
    lines = of_finding(msgspec.structs.replace(NOTE, remedies=[remedy]))
    assert lines[2:5] == [
        "  Remedy  move the setting before whatever builds layers",
        "    train.py:4",
        "    - from blocks import trunk",
    ]


def test_a_second_remedy_is_another_way_and_one_that_failed_says_so() -> None:
    finding = msgspec.structs.replace(NOTE, remedies=[Remedy("this"), Remedy("that", proved=False)])
    assert of_finding(finding)[2:4] == ["  Remedy  this", "  Or      that (tried: it did not help)"]


def test_a_long_message_is_cut_and_says_where_the_rest_is() -> None:
    message = Message("TensorFlow says", "\n".join(f"line {number}" for number in range(50)))
    lines = of_finding(msgspec.structs.replace(NOTE, evidence=[message]))
    assert "    │ line 19" in lines
    assert "    │ line 20" not in lines
    assert "    30 more lines in the JSON report" in lines


def test_runs_tell_their_outcome_and_of_a_failed_one_why() -> None:
    lines = lines_of(failed_report())
    assert lines[lines.index("runs") :] == [
        "runs",
        "  as-is     stopped  4.2 s  3 of 24 steps; 3 steps; loss 0.5 → 0.25; peak 640",
        "                            MiB; 61 MiB on GPU:0",
        "  cpu-only  raised   1.0 s  exit code 1",
        "    ValueError: shapes differ",
        "      and more",
        "    at train.py:16  model.fit(x, y)",
        "    │ loading",
        "    │ Traceback (most recent call last):",
        "    │ ValueError: shapes differ",
    ]


def test_the_log_of_a_run_that_went_well_is_not_shown() -> None:
    report = msgspec.structs.replace(healthy_report(), runs=[RunReport("as-is", "completed", 1.0, 0, None, "chatter")])
    assert "chatter" not in render_text(report)


def test_what_was_verified_is_shown_when_asked_for() -> None:
    assert "Operations seen" not in render_text(failed_report())
    assert "    Operations seen: 612 in 2 functions" in render_text(failed_report(), verified=True).splitlines()


def test_a_check_that_crashed_shows_what_it_left() -> None:
    crashed = CheckResult(
        "casts", Status.CRASHED, "KeyError in the check", evidence=[Message("Traceback", "KeyError: 3")]
    )
    text = render_text(msgspec.structs.replace(healthy_report(), checks=[crashed]))
    assert "✗ crashed" in text
    assert "│ KeyError: 3" in text


@pytest.mark.parametrize("width", [40, 60, 80, 110])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_no_line_is_wider_than_asked(width: int, ascii_only: bool) -> None:
    text = render_text(failed_report(), width=width, ascii_only=ascii_only, verified=True)
    assert max(map(width_of, text.splitlines())) <= width


def test_no_line_ends_in_blanks() -> None:
    assert all(line == line.rstrip() for line in lines_of(failed_report()))


def test_ascii_only_means_every_character() -> None:
    report = msgspec.structs.replace(
        failed_report(), target=msgspec.structs.replace(failed_report().target, path="café.py")
    )
    text = render_text(report, ascii_only=True)
    assert text.isascii()
    assert r"caf\xe9.py" in text
    assert "x Not float64" in text


def test_colour_adds_nothing_but_colour() -> None:
    coloured = render_text(failed_report(), color=True)
    assert "\x1b[" in coloured
    assert ANSI.sub("", coloured) == render_text(failed_report())


def test_without_colour_there_is_no_escape() -> None:
    assert "\x1b" not in render_text(failed_report())


def hostile_report(text: str) -> Report:
    """A report with ``text`` in every place that comes from outside."""
    finding = msgspec.structs.replace(
        LATE_SETTING,
        title=text,
        summary=text,
        location=Location(text, 1, text),
        evidence=[
            Message(text, text),
            Code(text, text, 1, [text], [1]),
            Timeline(text, [TimelineRow(text, text, 0.1, Location(text, 1, text))]),
        ],
        remedies=[Remedy(text, text, text, text + "x")],
    )
    report = failed_report()
    return msgspec.structs.replace(
        report,
        target=msgspec.structs.replace(report.target, path=text),
        verdict=msgspec.structs.replace(report.verdict, summary=text, advice=text),
        checks=[CheckResult("layers", Status.FAILED, text)],
        findings=[finding],
        runs=[RunReport(text, "raised", 1.0, 1, None, text, [text])],
    )


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31m\x1b]0;pwned\x07",
        "a\u202eb\u2066c",
        "x\udce9y",
        "數" * 100,
        "[/home/x.py] [bold]layers[i].dtype",
        "a" * 500,
        "",
    ],
)
def test_hostile_text_neither_acts_nor_breaks_the_columns(text: str) -> None:
    shown = render_text(hostile_report(text), verified=True)
    shown.encode()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert max(map(width_of, shown.splitlines())) <= 80


def test_an_empty_report_is_a_report() -> None:
    empty = msgspec.structs.replace(healthy_report(), checks=[], findings=[], runs=[], seconds=0.0)
    assert render_text(empty).startswith("f64doctor 0.1.0 · train.py")
