"""The report as text: the first lines tell what is wrong and what to do, the rest is the proof."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from f64doctor.amounts import bytes_in_words
from f64doctor.render.escape import in_ascii, log_lines, prose, visible, visible_lines
from f64doctor.render.figures import amount
from f64doctor.render.held_back import count_held_back, held_back_in, what_did_not_happen
from f64doctor.render.layout import crop, crop_middle, grid, pad, width_of, wrap
from f64doctor.report import (
    Bars,
    CheckResult,
    Code,
    Comparison,
    Environment,
    Evidence,
    Finding,
    Location,
    Measure,
    Message,
    Remedy,
    Report,
    RunReport,
    Series,
    Severity,
    Status,
    Table,
    Timeline,
)

NARROWEST = 40
"""Cells below which nothing is set narrower; a terminal that is narrower still breaks the lines itself."""

LONGEST_MESSAGE = 20
"""Lines of a message that are shown; the JSON report has them all."""

LONGEST_HELD_BACK = 12
"""Things held back that are listed; the JSON report has them all."""

LOG_LINES = 8
"""Last lines of the log of a run that failed."""

SIGNS = {
    Status.PASSED: "✓",
    Status.INFO: "i",
    Status.WARNING: "!",
    Status.FAILED: "✗",
    Status.INCONCLUSIVE: "?",
    Status.SKIPPED: "–",
    Status.CRASHED: "✗",
}

WORDS = {Status.SKIPPED: "not judged"}
"""Statuses that are said in other words than their own."""

STYLES = {
    Status.PASSED: "green",
    Status.INFO: "cyan",
    Status.WARNING: "yellow",
    Status.FAILED: "red",
    Status.INCONCLUSIVE: "yellow",
    Status.SKIPPED: "dim",
    Status.CRASHED: "red",
}

SEVERITY_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}

ANSI = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}

LABEL_WIDTH = 10
"""Cells of the labels ``Remedy`` and ``Why`` with their margin."""

GOOD_OUTCOMES = ("completed", "stopped")


def render_text(
    report: Report, *, width: int = 80, color: bool = False, ascii_only: bool = False, verified: bool = False
) -> str:
    """The whole report in lines of at most ``width`` cells. ``verified`` adds what each check has looked at, whatever it found."""
    page = Page(width, color=color, ascii_only=ascii_only)
    write_head(page, report)
    page.blank()
    states = [
        f"{page.sign(SIGNS[check.status])} {WORDS.get(check.status, check.status.value)}" for check in report.checks
    ]
    state_width = max(12, *map(width_of, states)) if states else 0
    for number, (check, state) in enumerate(zip(report.checks, states, strict=True), 1):
        write_check(page, number, check, pad(state, state_width))
        if verified or check.status is Status.CRASHED:
            for evidence in check.evidence:
                write_evidence(page, evidence, indent=4)
    for finding in report.findings:
        page.blank()
        write_finding(page, report, finding)
    if report.runs:
        page.blank()
        write_runs(page, report.runs)
    return page.text()


def render_head(report: Report, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The beginning of the report: what was examined, the verdict, and what to do."""
    page = Page(width, color=color, ascii_only=ascii_only)
    write_head(page, report)
    return page.text()


class Page:
    """Lines of a report being written, in cells of a terminal; every word from outside goes through ``prose`` or ``code`` first."""

    def __init__(self, width: int, *, color: bool, ascii_only: bool) -> None:
        self.width = max(width, NARROWEST)
        self.color = color
        self.ascii_only = ascii_only
        self.lines: list[str] = []

    def sign(self, text: str) -> str:
        """One of the report's own signs, as this terminal can show it."""
        return in_ascii(text) if self.ascii_only else text

    def prose(self, text: str) -> str:
        """Words from outside as one safe paragraph."""
        return self.sign(prose(text))

    def code(self, text: str) -> str:
        """A line of code or of a log from outside, safe, its inner blanks kept."""
        return self.sign(visible(text.expandtabs(4)))

    def paint(self, text: str, *styles: str) -> str:
        """``text`` in colours where the page has them; call it after padding, since colours take no cells."""
        if not self.color or not text.strip() or not styles:
            return text
        return f"\x1b[{';'.join(ANSI[style] for style in styles)}m{text}\x1b[0m"

    def line(self, text: str) -> None:
        """Adds a finished line."""
        self.lines.append(text.rstrip(" "))

    def blank(self) -> None:
        """Adds an empty line."""
        self.lines.append("")

    def paragraph(self, text: str, first: str = "", rest: str | None = None, *styles: str) -> None:
        """Adds clean text, wrapped; see ``wrap``."""
        for line in wrap(text, self.width, first, rest):
            self.line(self.paint(line, *styles))

    def cropped(self, text: str, indent: int, *styles: str) -> None:
        """Adds a line of code, cut where it does not fit: its place is known, so nothing is lost."""
        fitting = crop(text, self.width - indent, self.sign("…"))
        self.line(" " * indent + self.paint(fitting, *styles))

    def text(self) -> str:
        """All lines, the last one ended."""
        return "\n".join(self.lines) + "\n"


def write_head(page: Page, report: Report) -> None:
    """The header, the verdict, and what to do."""
    page.line(page.paint(header(page, report), "dim"))
    page.blank()
    verdict = report.verdict
    style = STYLES[verdict.status]
    summary = page.prose(verdict.summary)
    first, *others = wrap(summary, page.width, page.sign(SIGNS[verdict.status]) + " ")
    for line in (first, *others):
        page.line(page.paint(line, "bold", style))
    counts = page.prose(count_others(report))
    if verdict.advice:
        advice = sentence(page.prose(verdict.advice))
        page.paragraph(f"{advice} {counts}".strip(), "  Do this: ", "  ")
    elif counts:
        page.paragraph(counts, "  ")


def header(page: Page, report: Report) -> str:
    """What was examined, where, and for how long, in one line: with long words where they fit, else with shorter ones."""
    separator = page.sign(" · ")
    begin = f"f64doctor {page.prose(report.f64doctor)}"
    target = page.code(report.target.path)
    effort = page.prose(describe_effort(report))
    long = [begin, target, page.prose(describe_environment(report.environment)), effort]
    short = [begin, target, page.sign(describe_environment_shortly(report.environment)), effort]
    for parts in (long, short):
        line = separator.join(filter(None, parts))
        if width_of(line) <= page.width:
            return line
    room = max(page.width - width_of(separator.join(filter(None, [begin, "", *short[2:]]))) - len(separator), 12)
    short[1] = crop_middle(target, room, page.sign("…"))
    return crop(separator.join(filter(None, short)), page.width, page.sign("…"))


def describe_environment(environment: Environment) -> str:
    """Versions and devices in words: ``TensorFlow 2.21.0, Keras 3.15.1, CPU only``."""
    parts = []
    if environment.tensorflow:
        parts.append(f"TensorFlow {environment.tensorflow}")
    if environment.keras:
        parts.append(f"Keras {environment.keras}")
    cards = [device for device in environment.devices if ":GPU:" in device]
    if cards:
        names = {gpu.name for gpu in environment.gpus}
        name = names.pop() if len(names) == 1 else "GPU"
        parts.append(name if len(cards) == 1 else f"{len(cards)} x {name}")
    elif environment.devices:
        parts.append("CPU only")
    return ", ".join(parts)


def describe_environment_shortly(environment: Environment) -> str:
    """The same in as few characters as can be: ``TF 2.21 · Keras 3.15 · CPU``."""
    parts = []
    if environment.tensorflow:
        parts.append("TF " + prose(".".join(environment.tensorflow.split(".")[:2])))
    if environment.keras:
        parts.append("Keras " + prose(".".join(environment.keras.split(".")[:2])))
    if environment.devices:
        parts.append("GPU" if any(":GPU:" in device for device in environment.devices) else "CPU")
    return " · ".join(parts)


def describe_effort(report: Report) -> str:
    """How many training steps were seen in the first run, and how long everything took."""
    parts = []
    if report.runs and report.runs[0].steps:
        parts.append(plural(len(report.runs[0].steps), "step"))
    if report.seconds >= 0.05:
        parts.append(duration(report.seconds))
    return ", ".join(parts)


def count_others(report: Report) -> str:
    """How much more than the first finding there is, as a sentence; empty when there is nothing."""
    faults = [finding for finding in report.findings if finding.severity is not Severity.INFO]
    notes = len(report.findings) - len(faults)
    parts = []
    if len(faults) > 1:
        parts.append(plural(len(faults) - 1, "other finding"))
    if notes:
        parts.append(plural(notes, "note"))
    return f"{', '.join(parts)} below." if parts else ""


def write_check(page: Page, number: int, check: CheckResult, state: str) -> None:
    """One check in its line: number, name, sign and word of its state, and what it says."""
    name = f" {number} {pad(page.prose(check.name), 8)} "
    column = width_of(name) + width_of(state) + 2
    first, *others = wrap(page.prose(check.summary), page.width - column)
    page.line(f"{name}{page.paint(state, STYLES[check.status])}  {first}")
    for line in others:
        page.line(" " * column + line)


def write_finding(page: Page, report: Report, finding: Finding) -> None:
    """A finding with its place, its proof, and its remedies."""
    write_finding_title(page, report, finding)
    if finding.location:
        page.cropped(described(page, finding.location), 2, "bold")
    summary = page.prose(finding.summary)
    if summary and summary not in (page.prose(report.verdict.summary), page.prose(finding.title)):
        page.paragraph(summary, "  ")
    for evidence in finding.evidence:
        write_evidence(page, evidence, indent=2)
    if finding.related:
        page.line("  " + page.paint("See also", "dim"))
        rows = [(f"{page.code(other.file)}:{other.line}", page.prose(other.note)) for other in finding.related]
        write_grid(page, rows, indent=4)
    for number, remedy in enumerate(finding.remedies):
        write_remedy(page, remedy, "Remedy" if number == 0 else "Or")
    why = next((remedy.why for remedy in finding.remedies if remedy.why), "")
    more = f"(f64doctor --explain {page.prose(finding.code)})"
    page.paragraph(f"{page.prose(why)} {more}".strip(), label("Why" if why else "More"))


def write_finding_title(page: Page, report: Report, finding: Finding) -> None:
    """Check, code and title of a finding at the left, how grave and how sure it is at the right, where that fits."""
    names = [check.name for check in report.checks]
    number = f"{names.index(finding.check) + 1} " if finding.check in names else ""
    separator = page.sign(" · ")
    title = separator.join((number + page.prose(finding.check), page.prose(finding.code), page.prose(finding.title)))
    grade = f"{finding.severity.value}, {finding.grade.value}"
    style = SEVERITY_STYLES[finding.severity]
    lines = wrap(title, page.width, rest="  ")
    room = page.width - width_of(lines[-1]) - 2
    for line in lines[:-1]:
        page.line(page.paint(line, "bold"))
    if width_of(grade) <= room:
        filling = " " * (page.width - width_of(lines[-1]) - width_of(grade))
        page.line(page.paint(lines[-1], "bold") + filling + page.paint(grade, style))
    else:
        page.line(page.paint(lines[-1], "bold"))
        page.line("  " + page.paint(grade, style))


def write_evidence(page: Page, evidence: Evidence, indent: int) -> None:
    """A piece of evidence under its title."""
    margin = " " * indent
    if isinstance(evidence, Measure):
        value = page.prose(evidence.text) or f"{evidence.value:g} {page.prose(evidence.unit)}".strip()
        page.paragraph(f"{page.prose(evidence.title)}: {value}".removeprefix(": "), margin, margin + "  ")
        return
    title = page.prose(evidence.title)
    if isinstance(evidence, Code) and evidence.file not in evidence.title:
        title = page.sign(" · ").join(filter(None, (title, page.code(evidence.file))))
    if title:
        page.paragraph(title, margin, margin, "dim")
    if isinstance(evidence, Timeline):
        write_timeline(page, evidence, indent)
    elif isinstance(evidence, Table):
        heads = [page.prose(column) for column in evidence.columns]
        rows = [[page.prose(cell) for cell in row] for row in evidence.rows]
        write_grid(page, [heads, *rows], indent + 2, heads=True, right=numeric_columns(rows))
    elif isinstance(evidence, Comparison):
        write_comparison(page, evidence, indent)
    elif isinstance(evidence, Code):
        write_code(page, evidence, indent)
    elif isinstance(evidence, Bars):
        write_bars(page, evidence, indent + 2)
    elif isinstance(evidence, Series):
        write_series(page, evidence, indent + 2)
    else:
        write_message(page, evidence, indent)


def write_timeline(page: Page, timeline: Timeline, indent: int) -> None:
    """Events in their order: when, where, what, and the state after; the turning point has a marker."""
    rows = [
        (
            "" if row.seconds is None else f"{row.seconds:.2f} s",
            f"{page.code(row.location.file)}:{row.location.line}" if row.location else "",
            page.prose(row.what),
            page.prose(row.state),
        )
        for row in timeline.rows
    ]
    write_grid(page, rows, indent, marked=[row.turning_point for row in timeline.rows], right=(0,))


def write_comparison(page: Page, comparison: Comparison, indent: int) -> None:
    """Runs side by side; rows in which they differ have a marker."""
    heads = ["", *(page.prose(column) for column in comparison.columns)]
    rows = [[page.prose(row.label), *(page.prose(value) for value in row.values)] for row in comparison.rows]
    marked = [False, *(row.differs for row in comparison.rows)]
    write_grid(page, [heads, *rows], indent, heads=True, marked=marked)


def write_grid(
    page: Page,
    rows: Sequence[Sequence[str]],
    indent: int,
    *,
    heads: bool = False,
    marked: Sequence[bool] = (),
    right: Sequence[int] = (),
) -> None:
    """Rows in columns. ``heads``: the first row holds the heads; ``marked``: the rows with a marker, for which all rows make room."""
    room = page.width - indent - (2 if marked else 0)
    for number, lines in enumerate(grid(rows, room, right=right)):
        is_marked = bool(marked) and marked[number]
        styles = ["dim"] if heads and number == 0 else ["bold"] if is_marked else []
        for place, cells in enumerate(lines):
            marker = ("▸ " if is_marked and place == 0 else "  ") if marked else ""
            page.line(" " * indent + page.paint((page.sign(marker) + "  ".join(cells)).rstrip(" "), *styles))


def numeric_columns(rows: Sequence[Sequence[str]]) -> list[int]:
    """The columns in which every cell begins with a digit or is empty, and one at least is a number: they are aligned right."""
    count = max(map(len, rows), default=0)
    found = []
    for column in range(count):
        cells = [row[column] for row in rows if column < len(row) and row[column]]
        if cells and all(cell.lstrip("+-").replace(".", "", 1).replace(",", "").isdigit() for cell in cells):
            found.append(column)
    return found


def write_bars(page: Page, bars: Bars, indent: int) -> None:
    """A line for each bar: its label, its sum and its parts in words; the limit comes last."""
    rows = [
        [
            page.prose(bar.label),
            amount(bar.total, page.prose(bars.unit)),
            ", ".join(f"{page.prose(part.name)} {amount(part.value, page.prose(bars.unit))}" for part in bar.parts)
            if len(bar.parts) > 1
            else "",
        ]
        for bar in bars.bars
    ]
    if bars.limit is not None:
        rows.append([page.prose(bars.limit_label) or "limit", amount(bars.limit, page.prose(bars.unit)), ""])
    write_grid(page, rows, indent, right=(1,))


def write_series(page: Page, series: Series, indent: int) -> None:
    """A line for each quantity: its name, its first and its last value, and where on the axis they stand."""
    rows = []
    for line in series.lines:
        known = [(place, value) for place, value in enumerate(line.values, series.first) if value is not None]
        if not known:
            rows.append([page.prose(line.name), "not known"])
            continue
        words = [
            f"{amount(value, page.prose(series.unit))} at {page.prose(series.axis)} {place}" for place, value in known
        ]
        rows.append([page.prose(line.name), page.sign(" → ").join(dict.fromkeys((words[0], words[-1])))])
    write_grid(page, rows, indent)


def write_code(page: Page, code: Code, indent: int) -> None:
    """Source lines with their numbers; those that matter have a marker."""
    digits = len(str(code.first_line + max(len(code.lines) - 1, 0)))
    for number, text in enumerate(code.lines, code.first_line):
        marked = number in code.marked
        marker = page.sign("▸ ") if marked else "  "
        gutter = f"{marker}{number:>{digits}} {page.sign('│')} "
        page.cropped(gutter + page.code(text), indent, *(["bold"] if marked else []))


def write_message(page: Page, message: Message, indent: int) -> None:
    """Words of TensorFlow, Keras or the script, line by line as they were."""
    margin = " " * (indent + 2) + page.sign("│ ")
    lines = [page.sign(line) for line in visible_lines(message.text.strip("\n"))]
    for line in lines[:LONGEST_MESSAGE]:
        page.paragraph(line, margin, margin)
    if len(lines) > LONGEST_MESSAGE:
        page.line(
            " " * (indent + 2)
            + page.paint(f"{plural(len(lines) - LONGEST_MESSAGE, 'more line')} in the JSON report", "dim")
        )


def write_remedy(page: Page, remedy: Remedy, name: str) -> None:
    """What to change, as a sentence and as lines taken out and put in."""
    proof = {None: "", True: page.sign(" (proved ✓)"), False: " (tried: it did not help)"}[remedy.proved]
    page.paragraph(page.prose(remedy.title) + proof, label(name))
    if remedy.before and not remedy.after:  # the line to change: how is said in words, and it is not to be deleted
        for line in visible_lines(remedy.before):
            page.cropped("  " + page.sign(line), 4)
    elif remedy.before or remedy.after:
        write_change(page, remedy.before, remedy.after)
    else:
        for edit in remedy.edits:
            page.cropped(f"{page.code(edit.file)}:{edit.line}", 4, "dim")
            write_change(page, edit.old, edit.new)


def write_change(page: Page, before: str, after: str) -> None:
    """The lines of ``before`` and ``after``, those of one only behind - or +."""
    old, new = visible_lines(before), visible_lines(after)
    for operation, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if operation == "equal":
            for line in old[old_from:old_to]:
                page.cropped("  " + page.sign(line), 4)
            continue
        for line in old[old_from:old_to]:
            page.cropped("- " + page.sign(line), 4, "red")
        for line in new[new_from:new_to]:
            page.cropped("+ " + page.sign(line), 4, "green")


def write_runs(page: Page, runs: Sequence[RunReport]) -> None:
    """How each run of the target ended; of one that failed, the exception and the last lines of its log."""
    page.line(page.paint("runs", "bold"))
    rows = [(page.prose(run.name), run.outcome, duration(run.seconds), page.prose(describe_run(run))) for run in runs]
    for run, lines in zip(runs, grid(rows, page.width - 2, right=(2,)), strict=True):
        for cells in lines:
            page.line("  " + "  ".join(cells))
        write_failure(page, run)
    write_held_back(page, runs)


def write_held_back(page: Page, runs: Sequence[RunReport]) -> None:
    """What the script would have written, deleted or sent; nothing when there was nothing."""
    held = held_back_in(runs)
    if not held:
        return
    page.blank()
    page.line(
        page.paint("held back", "bold") + f"  {page.prose(count_held_back(held))} (--allow-writes lets all through)"
    )
    rows = [
        (
            what_did_not_happen(one),
            page.code(one.what),
            f"{page.code(one.location.file)}:{one.location.line}" if one.location else "",
        )
        for one in held[:LONGEST_HELD_BACK]
    ]
    write_grid(page, rows, indent=2)
    if len(held) > LONGEST_HELD_BACK:
        page.line("  " + page.paint(f"{len(held) - LONGEST_HELD_BACK} more in the JSON report", "dim"))


def write_failure(page: Page, run: RunReport) -> None:
    """Why a run failed, as far as it is known; nothing for one that did not."""
    if run.exception:
        message = [page.sign(line) for line in visible_lines(run.exception.message.strip())][:3]
        first = f"{page.prose(run.exception.type)}: {message[0] if message else ''}".removesuffix(": ")
        page.paragraph(first, "    ")
        for line in message[1:]:
            page.paragraph(line, "      ")
        if run.exception.frames:
            page.cropped("at " + described(page, run.exception.frames[-1]), 4)
    if run.outcome in GOOD_OUTCOMES or (run.outcome == "exited" and run.exit_code == 0):
        return
    for line in log_lines(run.log_tail)[-LOG_LINES:]:
        page.cropped(page.sign("│ " + line), 4, "dim")


def describe_run(run: RunReport) -> str:
    """What is worth knowing of a run: steps, loss, memory, and what was cut short."""
    parts = list(run.bounded)
    if run.steps:
        parts.append(plural(len(run.steps), "step"))
        losses = [step.loss for step in run.steps if step.loss is not None]
        if losses:
            parts.append(f"loss {losses[0]:.6g}" + (f" → {losses[-1]:.6g}" if len(losses) > 1 else ""))
    if run.peak_process_bytes is not None:
        parts.append(f"peak {bytes_in_words(run.peak_process_bytes)}")
    parts += [
        f"{bytes_in_words(peak)} on {device.rpartition('device:')[2]}" for device, peak in run.peak_device_bytes.items()
    ]
    if run.exit_code:
        parts.append(f"exit code {run.exit_code}")
    return "; ".join(parts)


def described(page: Page, location: Location) -> str:
    """A place and its code: ``train.py:6  keras.config.set_floatx("float64")``."""
    return f"{page.code(location.file)}:{location.line}  {page.code(location.snippet.strip())}".rstrip()


def label(name: str) -> str:
    """The margin of a labelled paragraph of a finding."""
    return f"  {name}".ljust(LABEL_WIDTH)


def sentence(text: str) -> str:
    """``text`` with a full stop, unless it ends like a sentence already."""
    return text if not text or text[-1] in ".!?" else text + "."


def plural(count: int, noun: str) -> str:
    """``1 note``, ``2 notes``."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def duration(seconds: float) -> str:
    """Seconds in words: ``4.2 s``, ``5 min 12 s``."""
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
