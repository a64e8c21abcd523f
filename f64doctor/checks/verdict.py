"""Ranks the findings of all checks, and says in one sentence what is the matter and what to do."""

from __future__ import annotations

from f64doctor.checks.intent import wish_of
from f64doctor.checks.outcome import ended, saw_tensorflow
from f64doctor.observe import Observations, events
from f64doctor.report import CheckResult, Finding, Grade, Severity, Status, Verdict

_SEVERITIES = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
_SEEN = (Status.PASSED, Status.INFO, Status.WARNING, Status.FAILED)
_GRADES = {Grade.OBSERVED: 0, Grade.INFERRED: 1, Grade.SUSPECTED: 2}


def ranked(findings: list[Finding], order: tuple[str, ...], observations: Observations) -> list[Finding]:
    """The likeliest root cause first.

    What matters more before what matters less; a limit that ended the run before anything that did not; then the checks in their order,
    which goes from causes to consequences; then what was seen before what is suspected.
    """
    run = observations.run()
    ended_early = run is not None and run.outcome in ("raised", "killed")

    def key(finding: Finding) -> tuple[int, int, int, int]:
        limit = ended_early and finding.check == "memory" and finding.severity is Severity.ERROR
        return (_SEVERITIES[finding.severity], 0 if limit else 1, order.index(finding.check), _GRADES[finding.grade])

    return sorted(findings, key=key)


def verdict(observations: Observations, results: list[CheckResult], findings: list[Finding]) -> Verdict:
    """The verdict over ranked findings."""
    wish = wish_of(observations)
    run = observations.run()
    intended = wish.intended if run is not None or wish.asked else None
    loud = [finding for finding in findings if finding.severity is not Severity.INFO]
    if loud:
        first = loud[0]
        status = Status.FAILED if first.severity is Severity.ERROR else Status.WARNING
        return Verdict(status, first.code, first.summary, intended, first.remedies[0].title if first.remedies else "")
    if run is None:
        return Verdict(
            Status.INCONCLUSIVE,
            None,
            f"Nothing was run: {observations.not_run or 'the source alone was read'}.",
            intended,
        )
    if run.outcome not in ("completed", "stopped"):
        return _no_conclusion(observations, intended)
    if not saw_tensorflow(observations):
        return Verdict(
            Status.INCONCLUSIVE, None, "The script never imported TensorFlow: there is nothing to examine.", intended
        )
    backend = next((lib.backend for lib in run.all(events.Library) if lib.name == "keras" and lib.backend), None)
    if backend not in (None, "tensorflow"):
        return Verdict(
            Status.INCONCLUSIVE, None, f"Keras runs on {backend} here; the doctor examines TensorFlow only.", intended
        )
    if not wish.intended:
        less = "asks for lower precision in so many words" if wish.lower else "shows no wish for float64"
        return Verdict(
            Status.PASSED, None, f"The script {less}: nothing is wrong, and nothing in it is double precision.", False
        )
    unsure = [result for result in results if result.status in (Status.INCONCLUSIVE, Status.CRASHED)]
    if unsure and all(
        r.status in (Status.INCONCLUSIVE, Status.SKIPPED, Status.CRASHED)
        for r in results
        if r.name in ("inputs", "layers", "casts")
    ):
        return Verdict(Status.INCONCLUSIVE, None, f"No conclusion: {unsure[0].summary}.", True)
    whole = {"inputs": "the data that enter", "layers": "the layers", "casts": "what is computed"}
    judged = [words for name, words in whole.items() if any(r.name == name and r.status in _SEEN for r in results)]
    if len(judged) < len(whole) and not unsure:
        if not judged:
            words = "No fault found; whether it computes in float64 was not judged: the checks that tell were left out."
            return Verdict(Status.PASSED, None, words, True)
        said = " and ".join(judged)
        return Verdict(
            Status.PASSED, None, f"Nothing against double precision in {said}; the rest was not judged.", True
        )
    what = "the data that enter, the layers, and what is computed" if not unsure else "what could be seen"
    return Verdict(Status.PASSED, None, f"Double precision throughout: {what}, in the steps that were observed.", True)


def _no_conclusion(observations: Observations, intended: bool | None) -> Verdict:
    run = observations.run()
    assert run is not None
    failure = run.failure
    why = ended(run)
    summary = f"No conclusion: {why}, and nothing ties that to float64."
    advice = ""
    if run.outcome == "timed-out":
        summary = f"No conclusion: {why}."
        advice = "give it more time with --time-limit, or fewer steps with --steps"
    elif failure is not None:
        first_line = failure.message.strip().splitlines()[0][:160] if failure.message.strip() else ""
        summary = f"No conclusion: the script ended with {failure.type}{': ' + first_line if first_line else ''}, and nothing ties that to float64."
        advice = "make the script run first; the log of the run is below"
    return Verdict(Status.INCONCLUSIVE, None, summary, intended, advice)
