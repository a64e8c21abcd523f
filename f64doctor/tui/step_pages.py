"""What the right-hand side says about each step: pure functions from a checkup's course to lines of a given width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content

from f64doctor.amounts import bytes_in_words
from f64doctor.report import Code, Evidence, Finding, Location, Related, Remedy, RunReport
from f64doctor.tui.course import STEPS, VERDICT, Course, RunCourse
from f64doctor.tui.evidence import draw, draw_body, draw_change, highlighted
from f64doctor.tui.signs import (
    GRADE_WORDS,
    RUNNING,
    WAITING,
    Signs,
    place,
    seconds_in_words,
    state_of_finding,
    state_of_run,
)
from f64doctor.tui.typeset import clean_line, crop, crop_left, grid, paragraphs, plain, spread, wrap

# Beyond this many cells a line of prose is hard to follow back to its beginning.
WIDEST_PROSE = 88
WIDEST_PAGE = 116
_LOG_LINES_SHOWN = 8
_WIDE_ENOUGH_FOR_COLUMNS = 72

_QUESTIONS = {
    "inputs": "Do the arrays that reach the model hold double precision, in dtype and in their digits?",
    "layers": "In which precision does each layer compute, and who decided that?",
    "device": "Does every operation have a float64 kernel on the device that it runs on, and how fast is it?",
    "casts": "Where does a float64 value become float32 or less, or meet one and raise?",
    "memory": "What does double precision cost in memory, and does it fit?",
    VERDICT: "What to do, and what it rests on.",
}


def step_page(course: Course, step: str, width: int, signs: Signs) -> list[Content]:
    """The page of one step in its present state, every line at most ``width`` cells."""
    width = max(min(width, WIDEST_PAGE), 16)
    if step == VERDICT and (course.report is not None or course.trouble):
        return _verdict_page(course, width, signs)
    check = course.checks.get(step)
    if check is None or check.result is None:
        return _page_before_result(course, step, width, signs)
    lines: list[Content | str] = [
        _title(step, check.state, _codes(check.findings), width, signs),
        *_prose(check.result.summary, width, signs),
    ]
    for finding in check.findings:
        lines += ["", *finding_lines(finding, check.result.summary, width, signs)]
    if check.result.evidence:
        label = "ALSO LOOKED AT" if check.findings else "EVIDENCE"
        lines += ["", *_evidence_lines(label, check.result.evidence, width, signs)]
    return _lines(lines)


def _lines(parts: Iterable[Content | str]) -> list[Content]:
    return [Content(part) if isinstance(part, str) else part for part in parts]


def _codes(findings: Sequence[Finding]) -> list[str]:
    return list(dict.fromkeys(finding.code for finding in findings))


def _title(step: str, state: str, codes: Sequence[str], width: int, signs: Signs) -> Content:
    codes_shown = " ".join([*codes[:3], *([f"+{len(codes) - 3}"] if len(codes) > 3 else [])])
    style = signs.style_of_state(state)
    right = Content.assemble(
        (clean_line(codes_shown, signs), signs.muted),
        "  " if codes else "",
        (f"{signs.of_state(state)} {clean_line(state, signs)}", style),
    )
    return spread(Content.styled(f"{STEPS.index(step) + 1} {step.capitalize()}", "bold"), right, width, signs)


def _label(text: str, signs: Signs) -> Content:
    return Content.styled(text, signs.label)


def _prose(text: str, width: int, signs: Signs, *, style: str = "", indent: int = 0) -> list[Content]:
    return paragraphs(text, min(width, WIDEST_PROSE), signs, style=style, indent=indent) if text else []


def finding_lines(finding: Finding, said: str, width: int, signs: Signs) -> list[Content]:
    """One finding: code and title, how bad and how sure, the place, the proof, and what to do.

    ``said`` is what the page says already; a summary that only repeats it is left out.
    """
    state = state_of_finding(finding)
    head = f"{signs.of_state(state)} {clean_line(finding.code, signs)}  "
    lines: list[Content | str] = []
    for number, line in enumerate(
        wrap(plain(finding.title, signs, "bold"), min(width, WIDEST_PROSE), first=head, rest=" " * len(head))
    ):
        lines.append(line if number else line.stylize(signs.style_of_state(state), 0, len(head)))
    margin = " " * len(head)
    where = crop_left(clean_line(place(finding.location), signs), width - len(margin), signs)
    sureness = f"{finding.severity.value} {signs.dot} {GRADE_WORDS[finding.grade]}"
    between = (f" {signs.dot} ", signs.muted)
    facts = Content.assemble((where, signs.accent), between if where else "", (sureness, signs.muted))
    lines += wrap(facts, width, first=margin, rest=margin)
    if finding.location is not None and finding.location.snippet and not _shows_code(finding, finding.location):
        lines.append(crop(Content(margin) + highlighted([finding.location.snippet.strip()], signs)[0], width, signs))
    if finding.summary and finding.summary != said:
        lines += ["", *_prose(finding.summary, width, signs)]
    if finding.evidence:
        lines += ["", *_evidence_lines("EVIDENCE", finding.evidence, width, signs)]
    if finding.related:
        lines += ["", *_related_lines(finding.related, width, signs)]
    for remedy in finding.remedies:
        lines += ["", *_remedy_lines(remedy, width, signs)]
    return _lines(lines)


def _shows_code(finding: Finding, location: Location) -> bool:
    """Whether the code evidence has the line already, so that it need not be shown twice."""
    return any(
        isinstance(piece, Code)
        and piece.file == location.file
        and piece.first_line <= location.line < piece.first_line + len(piece.lines)
        for piece in finding.evidence
    )


def _evidence_lines(label: str, evidence: Sequence[Evidence], width: int, signs: Signs) -> list[Content]:
    lines: list[Content] = []
    for number, piece in enumerate(evidence):
        if number:
            lines += [Content(""), *draw(piece, width, signs)]
            continue
        lead = label + "  "
        title = wrap(plain(piece.title, signs, signs.muted), width, first=lead, rest=" " * len(lead))
        lines.append(title[0].stylize(signs.label, 0, len(label)))
        lines += [*title[1:], *draw_body(piece, width, signs)]
    return lines


def _related_lines(related: Sequence[Related], width: int, signs: Signs) -> list[Content]:
    rows = [
        [
            Content(crop_left(clean_line(f"{line.file}:{line.line}", signs), max(width // 3, 16), signs)),
            plain(line.note, signs, signs.muted),
        ]
        for line in related
    ]
    return [_label("RELATED", signs), *grid(rows, width, signs, indent=2)]


def _remedy_lines(remedy: Remedy, width: int, signs: Signs) -> list[Content]:
    proof = Content("")
    if remedy.proved is True:
        proof = Content.styled(f"{signs.of_state('passed')} proved", signs.style_of_state("passed"))
    elif remedy.proved is False:
        proof = Content.styled(f"{signs.of_state('failed')} tried, did not help", signs.style_of_state("failed"))
    lead = "REMEDY  "
    room = width - (proof.cell_length + 2 if proof else 0)
    title = wrap(plain(remedy.title, signs, "bold"), room, first=lead, rest=" " * len(lead))
    title[0] = spread(title[0].stylize(signs.label, 0, len(lead) - 2), proof, width, signs)
    lines = [*title, *draw_change(remedy, width, signs)]
    return [*lines, *_prose(remedy.why, width, signs, style=signs.muted, indent=2)]


def _page_before_result(course: Course, step: str, width: int, signs: Signs) -> list[Content]:
    state = course.state_of(step)
    lines: list[Content | str] = [_title(step, state, (), width, signs)]
    lines += _prose(_QUESTIONS.get(step, ""), width, signs, style=signs.muted)
    if course.trouble:
        return _lines([*lines, "", *_prose(course.trouble, width, signs, style=signs.style_of_state("crashed"))])
    if course.report is not None:
        return _lines([*lines, "", "This check was not made."])
    for run in course.runs.values():
        if run.state == RUNNING:
            lines += ["", *_run_in_progress(run, width, signs)]
    return _lines(lines)


def _run_in_progress(run: RunCourse, width: int, signs: Signs) -> list[Content]:
    lead = "RUNNING  "
    name = wrap(plain(run.name, signs, "bold"), width, first=lead, rest=" " * len(lead))
    lines = [name[0].stylize(signs.label, 0, len(lead) - 2), *name[1:]]
    lines += _prose(run.why, width, signs, style=signs.muted, indent=2)
    progress = run.progress
    if progress is None:
        return lines
    rows: list[list[Content]] = []

    def row(name: str, value: str, history: list[float], style: str) -> None:
        bars = Content.styled(signs.sparkline(history, 24), style)
        rows.append([Content.styled(name, signs.muted), plain(value, signs), bars])

    where = [progress.stage, f"step {progress.steps}" if progress.steps else "", seconds_in_words(progress.seconds)]
    lines += _prose(f" {signs.dot} ".join(filter(None, where)), width, signs, indent=2)
    if progress.loss is not None:
        row("loss", f"{progress.loss:.6g}", run.losses, signs.accent)
    if progress.resident_bytes is not None:
        row("memory", bytes_in_words(progress.resident_bytes), run.residents, signs.muted)
    lines += [Content(""), *grid(rows, width, signs, indent=2)]
    if run.log:
        last = [
            Content.styled("  " + clean_line(line, signs), signs.muted) for line in list(run.log)[-_LOG_LINES_SHOWN:]
        ]
        lines += [Content(""), _label("LOG", signs), *(crop(line, width, signs) for line in last)]
    return lines


def _verdict_page(course: Course, width: int, signs: Signs) -> list[Content]:
    report = course.report
    if report is None:
        return _lines(
            [
                _title(VERDICT, "crashed", (), width, signs),
                *_prose(course.trouble, width, signs),
                "",
                *_prose("What was learnt before is on the pages of the checks.", width, signs, style=signs.muted),
            ]
        )
    verdict = report.verdict
    root = [verdict.root_cause] if verdict.root_cause else []
    lines: list[Content | str] = [
        _title(VERDICT, verdict.status.value, root, width, signs),
        *_prose(verdict.summary, width, signs, style="bold"),
    ]
    if verdict.advice:
        lines += ["", _label("DO THIS", signs), *_prose(verdict.advice, width, signs, indent=2)]
    if report.findings:
        lines += ["", *_finding_list(report.findings, verdict.root_cause, width, signs)]
    lines += ["", *_run_list(report.runs, width, signs)]
    bounded = [(run.name, words) for run in report.runs for words in run.bounded]
    lines += ["", _label("CUT SHORT", signs)]
    if bounded:
        rows = [[plain(name, signs, signs.muted), plain(words, signs)] for name, words in bounded]
        lines += grid(rows, min(width, WIDEST_PROSE), signs, indent=2, most_lines=6)
    else:
        lines.append("  nothing")
    lines += ["", *_machine_lines(course, width, signs)]
    return _lines(lines)


def _finding_list(findings: Sequence[Finding], root: str | None, width: int, signs: Signs) -> list[Content]:
    rows: list[list[Content]] = []
    for finding in findings:
        state = state_of_finding(finding)
        sign = Content.styled(f"{signs.of_state(state)} {clean_line(finding.code, signs)}", signs.style_of_state(state))
        where = Content.styled(crop_left(clean_line(place(finding.location), signs), 40, signs), signs.muted)
        cause = Content.styled("root cause" if finding.code == root else "", signs.accent)
        title = plain(finding.title, signs)
        if width >= _WIDE_ENOUGH_FOR_COLUMNS:
            rows.append([sign, title, where, cause])
            continue
        between = Content.styled(f" {signs.dot} ", signs.muted)
        rows += [[sign, title], [Content(""), between.join([part for part in (where, cause) if part])]]
    return [_label("FINDINGS", signs), *grid(rows, width, signs, indent=2)]


def _run_list(runs: Sequence[RunReport], width: int, signs: Signs) -> list[Content]:
    if not runs:
        return [_label("RUNS", signs), Content("  none")]
    rows: list[list[Content]] = []
    for run in runs:
        state = state_of_run(run)
        peak = f"peak {bytes_in_words(run.peak_process_bytes)}" if run.peak_process_bytes is not None else ""
        rows.append(
            [
                Content.styled(f"{signs.of_state(state)} {clean_line(run.name, signs)}", signs.style_of_state(state)),
                plain(run.outcome, signs),
                plain(f"{len(run.steps)} step{'' if len(run.steps) == 1 else 's'}", signs),
                plain(seconds_in_words(run.seconds), signs),
                plain(peak, signs),
            ]
        )
    lines = [_label("RUNS", signs), *grid(rows, width, signs, indent=2, right_aligned=(2, 3))]
    for run in runs:
        if run.exception is not None:
            where = f" at {place(run.exception.frames[-1])}" if run.exception.frames else ""
            text = plain(f"{run.name}: {run.exception.type}{where}: {run.exception.message}", signs, signs.muted)
            ended = wrap(text, min(width, WIDEST_PROSE), first="  ", rest="    ")
            lines += [*ended[:3], Content("    " + signs.ellipsis)] if len(ended) > 4 else ended
    return lines


def _machine_lines(course: Course, width: int, signs: Signs) -> list[Content]:
    environment = course.environment
    memory = environment.memory
    pairs = [
        ("Python", environment.python),
        ("interpreter", environment.executable),
        ("TensorFlow", environment.tensorflow),
        ("Keras", " on ".join(filter(None, (environment.keras, environment.keras_backend)))),
        ("NumPy", environment.numpy),
        ("platform", environment.platform),
        ("devices", ", ".join(environment.devices)),
        ("GPU", ", ".join(gpu.name for gpu in environment.gpus)),
        ("memory", bytes_in_words(memory.available_bytes) + " available" if memory.available_bytes is not None else ""),
    ]
    rows = [[Content.styled(name, signs.muted), plain(value, signs)] for name, value in pairs if value]
    return [_label("MACHINE", signs), *grid(rows, width, signs, indent=2)] if rows else []


def side_word(state: str, width: int) -> str:
    """The word of a state where ``width`` cells are left for it: the long ones have a short form."""
    short = {"inconclusive": "unclear"}
    return state if len(state) <= width else short.get(state, state)


def run_lines(run: RunCourse, width: int, signs: Signs) -> list[Content]:
    """One run in the narrow column: its name and state, then where it stands."""
    state = state_of_run(run.report) if run.report is not None else run.state
    style = signs.style_of_state(state if state in (RUNNING, WAITING) or run.report is not None else "skipped")
    sign = signs.of_state(state) if state != "not run" else signs.of_state("skipped")
    word = Content.styled(clean_line(run.state, signs), style)
    name = Content.assemble((sign, style), " ", clean_line(run.name, signs))
    lines = [spread(name, word, width, signs)]
    for value, bars, style_of_bars in _run_facts(run, signs):
        text = plain("  " + value, signs, signs.muted)
        room = width - text.cell_length - 1
        shown = Content.styled(bars[-room:], style_of_bars) if bars and room >= 2 else Content("")
        lines.append(spread(text, shown, width, signs) if shown else crop(text, width, signs))
    return lines


def run_on_one_line(run: RunCourse, width: int, signs: Signs) -> Content:
    """One run where only one line is left for it."""
    facts = [value for value, _, _ in _run_facts(run, signs)]
    head = run_lines(run, width, signs)[0].plain.split()
    return crop(plain(" ".join(head) + "".join(f" {signs.dot} {fact}" for fact in facts), signs), width, signs)


def _run_facts(run: RunCourse, signs: Signs) -> list[tuple[str, str, str]]:
    facts: list[tuple[str, str, str]] = []
    report, progress = run.report, run.progress
    if report is not None:
        count = len(report.steps)
        facts.append(
            (f"{count} step{'' if count == 1 else 's'} {signs.dot} {seconds_in_words(report.seconds)}", "", "")
        )
        if run.losses:
            facts.append((f"loss {run.losses[-1]:.4g}", signs.sparkline(run.losses, 8), signs.accent))
        if report.peak_process_bytes is not None:
            facts.append((f"peak {bytes_in_words(report.peak_process_bytes)}", "", ""))
    elif progress is not None:
        if progress.stage:
            facts.append((progress.stage, "", ""))
        steps = f"step {progress.steps} {signs.dot} " if progress.steps else ""
        facts.append((steps + seconds_in_words(progress.seconds), "", ""))
        if progress.loss is not None:
            facts.append((f"loss {progress.loss:.4g}", signs.sparkline(run.losses, 8), signs.accent))
        if progress.resident_bytes is not None:
            facts.append((bytes_in_words(progress.resident_bytes), signs.sparkline(run.residents, 8), signs.muted))
    return facts
