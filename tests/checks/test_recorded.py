"""Every recorded run is judged as its script deserves: the check, the file and the line of the cause, or no alarm."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import pytest

from f64doctor.checks import ORDER, judge, ranked, verdict
from f64doctor.observe import Observations, Run
from f64doctor.report import CheckResult, Finding, Severity, Status, Verdict

RECORDED = sorted((Path(__file__).parent.parent / "recorded").glob("*.json.gz"))


def judged(file: Path) -> tuple[dict[str, object], Verdict, list[CheckResult], list[Finding]]:
    """The expectation of a recording, and what the checks make of it."""
    body = json.loads(gzip.decompress(file.read_bytes()))
    run = msgspec.convert(body["run"], Run)
    observations = Observations(script="/job/train.py", cwd="/job", runs=[run])
    results: list[CheckResult] = []
    findings: list[Finding] = []
    for name in ORDER:
        result, found = judge(name, observations)
        results.append(result)
        findings += found
    findings = ranked(findings, ORDER, observations)
    return body["expect"], verdict(observations, results, findings), results, findings


def listed(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def test_there_are_recordings() -> None:
    assert len(RECORDED) >= 37


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.name.removesuffix(".json.gz"))
def test_a_recorded_run_is_judged_as_it_deserves(file: Path) -> None:
    expect, conclusion, results, findings = judged(file)
    assert not [result for result in results if result.status is Status.CRASHED]
    loud = [finding for finding in findings if finding.severity is not Severity.INFO]
    if expect["healthy"]:
        assert not loud
        assert conclusion.root_cause is None
        return
    assert loud, expect["fault"]
    first = loud[0]
    assert conclusion.root_cause == first.code
    assert first.check in listed(expect["check"])
    assert first.location is not None
    assert f"{first.location.file}:{first.location.line}" in listed(expect["where"])
    assert first.remedies, "a cause without a remedy"


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.name.removesuffix(".json.gz"))
def test_one_line_is_told_once(file: Path) -> None:
    *_, findings = judged(file)
    places = [(f.location.file, f.location.line) for f in findings if f.location and f.severity is not Severity.INFO]
    assert len(places) == len(set(places))


def test_a_verdict_says_no_more_than_was_judged() -> None:
    file = next(file for file in RECORDED if file.name.startswith("healthy_plain_float64"))
    body = json.loads(gzip.decompress(file.read_bytes()))
    observations = Observations(script="/job/train.py", cwd="/job", runs=[msgspec.convert(body["run"], Run)])
    result, findings = judge("inputs", observations)
    others = [CheckResult(name, Status.SKIPPED, "left out, as asked") for name in ORDER if name != "inputs"]
    conclusion = verdict(observations, [result, *others], findings)
    assert conclusion.summary == "Nothing against double precision in the data that enter; the rest was not judged."


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.name.removesuffix(".json.gz"))
def test_nothing_is_said_of_float64_when_only_memory_was_judged(file: Path) -> None:
    body = json.loads(gzip.decompress(file.read_bytes()))
    observations = Observations(script="/job/train.py", cwd="/job", runs=[msgspec.convert(body["run"], Run)])
    left_out = [CheckResult(name, Status.SKIPPED, "left out, as asked") for name in ORDER if name != "memory"]
    conclusion = verdict(observations, [*left_out, CheckResult("memory", Status.PASSED, "peak 1 GiB")], [])
    assert "Double precision throughout" not in conclusion.summary
    assert "Nothing against double precision" not in conclusion.summary
