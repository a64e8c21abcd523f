"""The fold of the news: what is known after each of them."""

from __future__ import annotations

import msgspec

from f64doctor.progress import CheckJudged, CheckStarted, EnvironmentKnown, Finished, RunEnded, RunProgress, RunStarted
from f64doctor.tui.course import LONGEST_LOG, Course
from tests.tui.samples import ENVIRONMENT, FAILED_REPORT, HEALTHY_REPORT, PLAN, RAISED_REPORT, RUN, news_of


def test_planned_runs_and_checks_wait() -> None:
    course = Course(PLAN)
    assert [run.state for run in course.runs.values()] == ["waiting", "waiting"]
    assert {check.state for check in course.checks.values()} == {"waiting"}


def test_a_run_planned_under_a_condition_is_the_run_of_that_name() -> None:
    course = Course(msgspec.structs.replace(PLAN, runs=["as-is", "cpu-only (when there is a GPU)"]))
    course.take(RunStarted("cpu-only", "to compare"))
    assert [(run.name, run.state) for run in course.runs.values()] == [("as-is", "waiting"), ("cpu-only", "running")]


def test_a_run_goes_from_running_to_its_outcome() -> None:
    course = Course(PLAN)
    course.take(RunStarted("as-is", "why"))
    assert course.runs["as-is"].state == "running"
    course.take(RunProgress("as-is", 1.0, 1, 0.7, 1000, "fit", ["line"]))
    course.take(RunEnded(RUN))
    run = course.runs["as-is"]
    assert (run.state, run.why, list(run.log)) == ("stopped", "why", ["line"])
    assert run.losses == [0.6931, 0.5127, 0.4118]


def test_a_run_that_was_not_planned_is_shown_too() -> None:
    course = Course(PLAN)
    course.take(RunStarted("minimal", ""))
    assert list(course.runs) == ["as-is", "cpu-only", "minimal"]


def test_the_log_keeps_its_last_lines_and_counts_all() -> None:
    course = Course(PLAN)
    course.take(RunProgress("as-is", 1.0, log=[str(number) for number in range(LONGEST_LOG + 5)]))
    assert len(course.runs["as-is"].log) == LONGEST_LOG
    assert course.runs["as-is"].log[0] == "5"
    assert course.runs["as-is"].log_lines == LONGEST_LOG + 5


def test_a_loss_is_counted_once_a_step() -> None:
    course = Course(PLAN)
    for steps, loss in ((1, 0.7), (1, 0.7), (2, 0.7)):
        course.take(RunProgress("as-is", 1.0, steps, loss))
    assert course.runs["as-is"].losses == [0.7, 0.7]


def test_a_check_goes_from_running_to_its_status() -> None:
    course = Course(PLAN)
    course.take(CheckStarted("layers"))
    assert course.state_of("layers") == "running"
    course.take(CheckJudged(FAILED_REPORT.checks[1], FAILED_REPORT.findings))
    assert course.state_of("layers") == "failed"
    assert course.first_failed() == "layers"


def test_the_verdict_waits_for_the_report() -> None:
    course = Course(PLAN)
    for news in news_of(RAISED_REPORT)[:-1]:
        course.take(news)
    assert course.state_of("verdict") == "waiting"
    course.take(Finished(RAISED_REPORT))
    assert course.state_of("verdict") == "failed"


def test_a_check_that_the_report_lacks_was_skipped() -> None:
    course = Course(PLAN)
    course.take(CheckStarted("memory"))
    report = type(HEALTHY_REPORT)(
        **{
            **{field: getattr(HEALTHY_REPORT, field) for field in HEALTHY_REPORT.__struct_fields__},
            "checks": HEALTHY_REPORT.checks[:4],
        }
    )
    course.take(Finished(report))
    assert course.state_of("memory") == "skipped"


def test_a_planned_run_that_the_report_lacks_was_not_run() -> None:
    course = Course(PLAN)
    course.take(Finished(HEALTHY_REPORT))
    assert course.runs["cpu-only"].state == "not run"


def test_what_is_known_of_the_environment_is_kept() -> None:
    course = Course(PLAN)
    course.take(EnvironmentKnown(ENVIRONMENT))
    assert course.environment == ENVIRONMENT
