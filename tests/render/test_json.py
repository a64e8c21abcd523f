"""The JSON report is what the schema says, and can be read again."""

from __future__ import annotations

import json

import jsonschema
import msgspec
import pytest

from f64doctor.render.json import render_json
from f64doctor.report import Report, Status, decode, json_schema
from tests.reports import LATE_SETTING, NOTE, failed_report, healthy_report, with_verdict

REPORTS = [failed_report(), healthy_report(), with_verdict(Status.INCONCLUSIVE, LATE_SETTING, NOTE)]


@pytest.mark.parametrize("report", REPORTS, ids=["failed", "healthy", "inconclusive"])
def test_output_is_what_the_schema_says(report: Report) -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    assert [error.message for error in validator.iter_errors(json.loads(render_json(report)))] == []


@pytest.mark.parametrize("report", REPORTS, ids=["failed", "healthy", "inconclusive"])
def test_a_report_that_is_read_again_is_the_same(report: Report) -> None:
    assert decode(render_json(report).encode()) == report


def test_a_program_finds_the_root_cause_and_its_line_where_the_contract_says() -> None:
    document = json.loads(render_json(failed_report()))
    assert document["schema_version"] == 1
    assert document["verdict"]["root_cause"] == document["findings"][0]["code"] == "F203"
    assert document["findings"][0]["location"] == {
        "file": "train.py",
        "line": 6,
        "snippet": 'keras.config.set_floatx("float64")',
    }
    assert document["findings"][0]["evidence"][0]["kind"] == "timeline"
    assert [check["name"] for check in document["checks"]] == ["inputs", "layers", "device", "casts", "memory"]


def test_a_file_name_that_is_no_utf_8_does_not_lose_the_report() -> None:
    target = msgspec.structs.replace(failed_report().target, path="caf\udce9.py")
    text = render_json(msgspec.structs.replace(failed_report(), target=target))
    assert json.loads(text)["target"]["path"] == r"caf\udce9.py"


def test_the_text_ends_with_one_line_break() -> None:
    text = render_json(healthy_report())
    assert text.endswith("}\n")
    assert not text.endswith("\n\n")
