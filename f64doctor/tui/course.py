"""The course of a checkup as the screens show it: a fold of the news, which judges nothing."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from f64doctor.progress import (
    CheckJudged,
    CheckStarted,
    EnvironmentKnown,
    Finished,
    Planned,
    Progress,
    RunEnded,
    RunProgress,
    RunStarted,
)
from f64doctor.report import CheckResult, Environment, Finding, Report, RunReport
from f64doctor.tui.signs import RUNNING, WAITING

CHECKS = ("inputs", "layers", "device", "casts", "memory")
VERDICT = "verdict"
STEPS = (*CHECKS, VERDICT)

LONGEST_LOG = 1000
_LONGEST_HISTORY = 64


@dataclass
class RunCourse:
    """One run as far as it is known. ``residents`` in bytes; the log holds the last ``LONGEST_LOG`` lines."""

    name: str
    why: str = ""
    state: str = WAITING
    progress: RunProgress | None = None
    losses: list[float] = field(default_factory=list)
    residents: list[float] = field(default_factory=list)
    log: deque[str] = field(default_factory=lambda: deque(maxlen=LONGEST_LOG))
    log_lines: int = 0
    report: RunReport | None = None

    def add_log(self, lines: list[str]) -> None:
        """Appends lines; ``log_lines`` counts all that ever came, so that a reader knows how many are new."""
        self.log.extend(lines)
        self.log_lines += len(lines)

    def take_progress(self, news: RunProgress) -> None:
        """Where the run stands now."""
        before = self.progress
        self.state = RUNNING
        self.progress = news
        self.add_log(news.log)
        if news.loss is not None and (before is None or before.steps != news.steps or before.loss != news.loss):
            self.losses = [*self.losses, news.loss][-_LONGEST_HISTORY:]
        if news.resident_bytes is not None:
            self.residents = [*self.residents, float(news.resident_bytes)][-_LONGEST_HISTORY:]

    def take_report(self, report: RunReport) -> None:
        """The run is over."""
        self.state = report.outcome
        self.report = report
        known = [step.loss for step in report.steps if step.loss is not None]
        self.losses = known[-_LONGEST_HISTORY:] or self.losses
        if not self.log_lines and report.log_tail:
            self.add_log(report.log_tail.splitlines())


@dataclass
class StepCourse:
    """One check as far as it is known; ``state`` is waiting, running, or the word of its status."""

    name: str
    state: str = WAITING
    result: CheckResult | None = None
    findings: list[Finding] = field(default_factory=list)


class Course:
    """All that is known of one checkup; ``take`` folds the next news in."""

    def __init__(self, plan: Planned) -> None:
        self.plan = plan
        self.environment = Environment()
        self.runs: dict[str, RunCourse] = {}
        self._expect(plan.runs)
        self.checks: dict[str, StepCourse] = {name: StepCourse(name) for name in CHECKS}
        self.report: Report | None = None
        self.trouble = ""
        """Why there will be no report, when the checkup itself broke or ended early."""

    @classmethod
    def of_report(cls, report: Report) -> Course:
        """The course of a checkup that is over."""
        environment = report.environment
        course = cls(
            Planned(
                target=report.target,
                interpreter=environment.executable or environment.python or "",
                runs=[run.name for run in report.runs],
                steps=None,
                time_limit=0.0,
            )
        )
        course.take(Finished(report=report))
        return course

    def run(self, name: str) -> RunCourse:
        """The run of that name, planned or not."""
        return self.runs.setdefault(name, RunCourse(name))

    def _expect(self, planned: list[str]) -> None:
        """Lists the planned runs; what stands in parentheses after a name is the condition under which it is made."""
        for entry in planned:
            name, _, condition = entry.partition(" (")
            run = self.run(name)
            run.why = run.why or condition.removesuffix(")")

    def state_of(self, step: str) -> str:
        """The state of a check or of the verdict."""
        if step != VERDICT:
            return self.checks[step].state
        if self.report is not None:
            return self.report.verdict.status.value
        return "crashed" if self.trouble else WAITING

    def findings(self) -> list[Finding]:
        """All findings so far: in the report's order once there is one."""
        if self.report is not None:
            return self.report.findings
        return [finding for check in self.checks.values() for finding in check.findings]

    def findings_shown_by(self, step: str) -> list[Finding]:
        """The findings that a step shows."""
        return self.findings() if step == VERDICT else self.checks[step].findings

    def first_failed(self) -> str | None:
        """The first check, in their order, that failed or crashed."""
        return next((name for name in CHECKS if self.checks[name].state in ("failed", "crashed")), None)

    def take(self, news: Progress) -> None:
        """Folds one piece of news in."""
        if isinstance(news, Planned):
            self.plan = news
            self._expect(news.runs)
        elif isinstance(news, EnvironmentKnown):
            self.environment = news.environment
        elif isinstance(news, RunStarted):
            run = self.run(news.name)
            run.state, run.why = RUNNING, news.why
        elif isinstance(news, RunProgress):
            self.run(news.name).take_progress(news)
        elif isinstance(news, RunEnded):
            self.run(news.run.name).take_report(news.run)
        elif isinstance(news, CheckStarted):
            if news.name in self.checks:
                self.checks[news.name].state = RUNNING
        elif isinstance(news, CheckJudged):
            self._take_result(news.result, news.findings)
        else:
            self._take_end(news.report)

    def _take_result(self, result: CheckResult, findings: list[Finding]) -> None:
        if result.name in self.checks:
            self.checks[result.name] = StepCourse(result.name, result.status.value, result, findings)

    def _take_end(self, report: Report) -> None:
        self.report = report
        self.environment = report.environment
        for check in self.checks.values():
            # What the report does not speak of was not made, whatever was announced before.
            check.state, check.result, check.findings = "skipped", None, report.findings_of(check.name)
        for result in report.checks:
            self._take_result(result, report.findings_of(result.name))
        for run in report.runs:
            self.run(run.name).take_report(run)
        for name in [name for name, run in self.runs.items() if run.report is None]:
            self.runs[name].state = "not run"
