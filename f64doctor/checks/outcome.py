"""How the run ended, in words, for checks that could not look because of it."""

from __future__ import annotations

from f64doctor.observe import Observations, Run, events
from f64doctor.report import CheckResult, Status


def ended(run: Run) -> str:
    """How a run ended, as a clause."""
    failure = run.failure
    if run.outcome == "timed-out":
        return f"the run was ended after {run.seconds:.0f} s, its time limit"
    if run.outcome == "killed":
        return f"the process was killed ({run.signal or 'by a signal'})"
    if run.outcome == "raised" and failure is not None:
        return f"the run ended with {failure.type}"
    if run.outcome == "exited":
        return f"the script left with exit status {run.exit_code}"
    if run.outcome == "unstarted":
        return run.trouble or "the run could not be started"
    return "the run ended"


def could_not_look(name: str, run: Run, what: str) -> CheckResult:
    """The result of a check that had nothing to look at: never a pass."""
    if run.outcome in ("completed", "stopped"):
        return CheckResult(name, Status.INCONCLUSIVE, f"{what} in this run")
    return CheckResult(name, Status.INCONCLUSIVE, f"{what} before {ended(run)}")


def saw_tensorflow(observations: Observations) -> bool:
    """Whether the script imported TensorFlow in any run."""
    return any(library.name == "tensorflow" for run in observations.runs for library in run.all(events.Library))
