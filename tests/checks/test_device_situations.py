"""Each device situation of docs/devices.md is judged as the table says, and the table says what the data say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from f64doctor import catalogue
from f64doctor.checks import judge
from f64doctor.report import Severity, Status
from tests.checks.device_situations import LOGS, SITUATIONS, Situation

DOCS = Path(__file__).resolve().parents[2] / "docs" / "devices.md"
IDS = [re.sub(r"\W+", "_", one.when.casefold())[:70] for one in SITUATIONS]


@pytest.mark.parametrize("situation", SITUATIONS, ids=IDS)
def test_a_situation_is_judged_as_the_table_says(situation: Situation) -> None:
    result, findings = judge("device", situation.observations)
    assert result.status is not Status.CRASHED, result.summary
    if not situation.code:
        assert findings == []
        assert situation.says in result.summary
        return
    assert [finding.code for finding in findings][:1] == [situation.code]
    assert findings[0].severity.value == situation.severity
    assert situation.says in findings[0].summary
    assert findings[0].title == catalogue.title(situation.code)


@pytest.mark.parametrize("situation", SITUATIONS, ids=IDS)
def test_a_situation_is_one_cause(situation: Situation) -> None:
    _, findings = judge("device", situation.observations)
    assert len([finding for finding in findings if finding.severity is not Severity.INFO]) <= 1
    assert len({finding.code for finding in findings}) == len(findings)


def test_the_table_in_the_documentation_has_a_row_for_each_situation() -> None:
    rows = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    table = [tuple(cell.strip() for cell in row.strip("|").split("|")) for row in rows[1:]]
    wanted = [(one.when, f"{one.code}, {one.severity}" if one.code else "–", f"… {one.says} …") for one in SITUATIONS]
    assert table[: len(wanted)] == wanted
    assert len(wanted) >= 20


def test_every_code_of_the_check_has_a_situation() -> None:
    assert {one.code for one in SITUATIONS if one.code} == set(catalogue.family("F3"))


def test_every_recorded_log_belongs_to_a_situation() -> None:
    source = (Path(__file__).parent / "device_situations.py").read_text(encoding="utf-8")
    assert [file.name for file in LOGS.iterdir() if f'"{file.stem}"' not in source] == []
