"""Draws evidence: one pure function for each kind, from the struct of the report to lines of a given width."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from textual.content import Content
from textual.highlight import HighlightTheme, highlight

from f64doctor.render.figures import (
    FILLINGS,
    FILLINGS_ASCII,
    amount,
    bounds,
    cells_of_parts,
    first_and_last,
    levels,
    sampled,
)
from f64doctor.report import Bars, Code, Comparison, Evidence, Measure, Message, Remedy, Series, Table, Timeline
from f64doctor.tui.signs import Signs, place
from f64doctor.tui.typeset import clean_line, crop, crop_left, grid, longest_word, paragraphs, plain, wrap

INDENT = 2
_NARROWEST_EVENT = 24
_FIRST_MESSAGE_LINES = 14
_LAST_MESSAGE_LINES = 6
_NARROWEST_BAR = 8
_WIDEST_BAR = 48
# No page is as wide; colouring more would only cost time.
_LONGEST_CODE = 300
_NUMBER = re.compile(r"[-+]?[\d.,_]+(?:e[-+]?\d+)?(?: ?(?:%|s|ms|B|KiB|MiB|GiB|digits|bits))?|[-–—]?", re.IGNORECASE)


_TONES = {
    "Token.Comment": "$muted italic",
    "Token.Keyword": "$syntax",
    "Token.Operator.Word": "$syntax",
    "Token.Literal.String": "$literal",
    "Token.Literal.Number": "$literal",
}


class QuietHighlight(HighlightTheme):
    """Code in few tones, so that the marked line stands out and not the syntax."""

    STYLES = {token: _TONES[str(token)] for token in HighlightTheme.STYLES if str(token) in _TONES}


class PlainHighlight(HighlightTheme):
    """Code where there are no colours: comments step back, nothing else changes."""

    STYLES = {token: "dim" for token in HighlightTheme.STYLES if str(token) == "Token.Comment"}


def draw(evidence: Evidence, width: int, signs: Signs) -> list[Content]:
    """The lines of one piece of evidence, its title first, each at most ``width`` cells."""
    title = wrap(plain(evidence.title, signs, signs.muted), width, first=" " * INDENT, rest=" " * INDENT)
    return [*(title if evidence.title else []), *draw_body(evidence, width, signs)]


def draw_body(evidence: Evidence, width: int, signs: Signs) -> list[Content]:
    """The lines of one piece of evidence without its title."""
    if isinstance(evidence, Timeline):
        return draw_timeline(evidence, width, signs)
    if isinstance(evidence, Table):
        return draw_table(evidence, width, signs)
    if isinstance(evidence, Code):
        return draw_code(evidence, width, signs)
    if isinstance(evidence, Message):
        return draw_message(evidence, width, signs)
    if isinstance(evidence, Measure):
        return draw_measure(evidence, width, signs)
    if isinstance(evidence, Bars):
        return draw_bars(evidence, width, signs)
    if isinstance(evidence, Series):
        return draw_series(evidence, width, signs)
    return draw_comparison(evidence, width, signs)


def draw_timeline(timeline: Timeline, width: int, signs: Signs) -> list[Content]:
    """One event a line: seconds, place, what happened, the state after; the turning point is marked and bright.

    Where the columns do not fit, every state moves under what happened; on a narrow page what happened moves too.
    """
    if not timeline.rows:
        return []
    times = ["" if row.seconds is None else f"{row.seconds:.2f} s" for row in timeline.rows]
    widest_time = max(map(len, times))
    rows: list[list[Content]] = []
    for row, time in zip(timeline.rows, times, strict=True):
        style = "bold" if row.turning_point else ""
        mark = Content.styled(signs.turning_point if row.turning_point else " ", signs.accent) + Content(" ")
        where = crop_left(clean_line(place(row.location), signs), max(width // 3, 16), signs)
        cells = [Content.styled(where, style), plain(row.what, signs, style)]
        if widest_time:
            cells.insert(0, Content.styled(time.rjust(widest_time), signs.muted))
        cells[0] = mark + cells[0]
        rows.append([*cells, plain(row.state, signs, signs.accent if row.turning_point else signs.muted)])
    longest = [max(row[column].cell_length for row in rows) for column in range(len(rows[0]))]
    if sum(longest) + 2 * (len(longest) - 1) <= width:
        return grid(rows, width, signs)
    if width - sum(longest[:-2]) - 2 * len(longest[:-2]) < _NARROWEST_EVENT:
        return _timeline_in_blocks(rows, width, signs)
    stacked: list[list[Content]] = []
    for *before, what, state in rows:
        stacked.append([*before, what])
        if state:
            stacked.append([*[Content("")] * len(before), state])
    return grid(stacked, width, signs)


def _timeline_in_blocks(rows: Sequence[Sequence[Content]], width: int, signs: Signs) -> list[Content]:
    lines: list[Content] = []
    for *before, what, state in rows:
        lines.append(crop(Content("  ").join(before).rstrip(), width, signs))
        for part in (what, state):
            lines += wrap(part, width, first="    ", rest="    ")[:3] if part else []
    return lines


def draw_table(table: Table, width: int, signs: Signs) -> list[Content]:
    """Rows under muted column heads, numbers at the right; with too many columns for the width, one block a row."""
    heads = [plain(column, signs, signs.muted) for column in table.columns]
    rows = [[plain(cell, signs) for cell in row] for row in table.rows]
    if not rows:
        return [Content(" " * INDENT) + Content.styled("no rows", signs.muted)]
    columns = range(max(len(row) for row in rows))
    narrowest = sum(
        max((longest_word(row[column]) for row in rows if column < len(row)), default=0) for column in columns
    )
    if len(columns) > 2 and INDENT + narrowest + 2 * (len(columns) - 1) > width:
        return _draw_blocks(heads, rows, width, signs)
    return _draw_columns(heads, rows, width, signs, indent=INDENT)


def draw_comparison(comparison: Comparison, width: int, signs: Signs) -> list[Content]:
    """Runs side by side, one column a run; rows that differ are marked and bright, the others step back."""
    if not comparison.rows:
        return []
    heads = [Content(""), *(plain(column, signs, signs.label) for column in comparison.columns)]
    rows: list[list[Content]] = []
    for row in comparison.rows:
        sign = signs.differs if row.differs else " " * len(signs.differs)
        label = Content.styled(sign + " ", signs.accent) + plain(row.label, signs, signs.muted)
        rows.append([label, *(plain(value, signs, "bold" if row.differs else "") for value in row.values)])
    return _draw_columns(heads, rows, width, signs, indent=0)


def _draw_columns(
    heads: list[Content], rows: list[list[Content]], width: int, signs: Signs, *, indent: int
) -> list[Content]:
    count = max(len(heads), *(len(row) for row in rows))
    numeric = [
        column
        for column in range(1, count)
        if all(_NUMBER.fullmatch(row[column].plain) for row in rows if column < len(row))
    ]
    return grid(rows, width, signs, heads=heads, indent=indent, right_aligned=numeric)


def _draw_blocks(heads: list[Content], rows: list[list[Content]], width: int, signs: Signs) -> list[Content]:
    lines: list[Content] = []
    for number, row in enumerate(rows):
        if number:
            lines.append(Content(""))
        pairs = [[head, cell] for head, cell in zip(heads, row, strict=False) if cell]
        lines += grid(pairs, width, signs, indent=INDENT)
    return lines


def draw_code(code: Code, width: int, signs: Signs) -> list[Content]:
    """Numbered source lines; the marked ones have a sign in the gutter and are bold. Long lines are cropped."""
    last = code.first_line + len(code.lines) - 1
    digits = len(str(last))
    lines: list[Content] = []
    for number, line in enumerate(highlighted(code.lines, signs), start=code.first_line):
        is_marked = number in code.marked
        gutter = Content.assemble(
            (signs.turning_point if is_marked else " ", signs.accent),
            (f" {number:>{digits}} ", signs.accent if is_marked else signs.muted),
            (signs.gutter + " ", signs.accent if is_marked else signs.muted),
        )
        shown = crop(line, width - gutter.cell_length, signs)
        lines.append((gutter + (shown.stylize("bold") if is_marked else shown)).rstrip())
    return lines


def highlighted(source: Sequence[str], signs: Signs) -> list[Content]:
    """Clean Python lines with quiet highlighting, as many as went in."""
    text = "\n".join(clean_line(line, signs)[:_LONGEST_CODE].rstrip() for line in source)
    if not text:
        return [Content("")] * len(source)
    theme = QuietHighlight if signs.colour else PlainHighlight
    content = highlight(text, language="python", theme=theme)
    lines = list(content.split("\n", allow_blank=True))
    # The highlighter forgets empty lines at the end; the gutter must not.
    return [*lines, *[Content("")] * (len(source) - len(lines))][: len(source)]


def draw_message(message: Message, width: int, signs: Signs) -> list[Content]:
    """Words as they were, wrapped; of a long message the beginning and the end."""
    lines = paragraphs(message.text, width, signs, indent=INDENT)
    left_out = len(lines) - _FIRST_MESSAGE_LINES - _LAST_MESSAGE_LINES
    if left_out > 1:
        gap = crop(Content.styled(f"  {signs.ellipsis} {left_out} more lines", signs.muted), width, signs)
        return [*lines[:_FIRST_MESSAGE_LINES], gap, *lines[-_LAST_MESSAGE_LINES:]]
    return lines


def draw_measure(measure: Measure, width: int, signs: Signs) -> list[Content]:
    """The number, bold, with its unit, and the same in words beside or below it."""
    number = amount(measure.value, clean_line(measure.unit, signs), digits=6)
    return grid(
        [[Content.styled(number, signs.label), plain(measure.text, signs)]], width, signs, indent=INDENT, most_lines=8
    )


def draw_bars(bars: Bars, width: int, signs: Signs) -> list[Content]:
    """Each bar with its label and sum, all to one scale, the parts told apart by filling as well as by name; the limit last."""
    unit = clean_line(bars.unit, signs)
    totals = [(clean_line(bar.label, signs), bar.total) for bar in bars.bars]
    if bars.limit is not None:
        totals.append((clean_line(bars.limit_label, signs) or "limit", bars.limit))
    full = max((value for _, value in totals if math.isfinite(value)), default=0.0)
    fillings = FILLINGS_ASCII if signs.ascii_only else FILLINGS
    labels = max((Content(label).cell_length for label, _ in totals), default=0)
    sums = [amount(value, unit) for _, value in totals]
    room = max(min(_WIDEST_BAR, width - INDENT - labels - max(map(len, sums), default=0) - 4), _NARROWEST_BAR)
    rows: list[list[Content]] = []
    for bar, said in zip(bars.bars, sums, strict=False):
        cells = cells_of_parts([part.value for part in bar.parts], full, room)
        drawn = "".join(fillings[place % len(fillings)] * count for place, count in enumerate(cells))
        rows.append(
            [
                plain(bar.label, signs),
                Content.styled(drawn.ljust(room), signs.accent),
                Content.styled(said, signs.label),
            ]
        )
    if bars.limit is not None:
        end = max(cells_of_parts([bars.limit], full, room)[0] - 1, 0)
        mark = signs.in_ascii("─") * end + "|"
        rows.append(
            [
                plain(bars.limit_label or "limit", signs),
                Content.styled(mark.ljust(room), signs.muted),
                Content.styled(sums[-1], signs.label),
            ]
        )
    lines = grid(rows, width, signs, indent=INDENT)
    for bar in bars.bars:
        if len(bar.parts) > 1:
            keys = [
                f"{fillings[place % len(fillings)]} {clean_line(part.name, signs)} {amount(part.value, unit)}"
                for place, part in enumerate(bar.parts)
            ]
            lines += [
                crop(Content(" " * (INDENT + 2)) + Content.styled(line, signs.muted), width, signs)
                for line in _in_lines([f"{clean_line(bar.label, signs)}:", *keys], width - INDENT - 2)
            ]
    return lines


def _in_lines(pieces: Sequence[str], width: int) -> list[str]:
    """Pieces set one after another, broken between them only."""
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + 2 + len(piece) <= width:
            lines[-1] += f"  {piece}"
        else:
            lines.append(f"  {piece}")
    return lines


def draw_series(series: Series, width: int, signs: Signs) -> list[Content]:
    """Each quantity as a sparkline to one scale, with its first and its last value in words."""
    unit, range_ = clean_line(series.unit, signs), bounds([line.values for line in series.lines])
    rows: list[list[Content]] = []
    for line in series.lines:
        ends = first_and_last(line.values)
        if ends is None or range_ is None:
            rows.append([plain(line.name, signs), Content(""), Content.styled("not known", signs.muted)])
            continue
        drawn = levels(sampled(line.values, max(width // 3, 8)), *range_, ascii_only=signs.ascii_only)
        said = signs.in_ascii(" → ").join(dict.fromkeys(amount(value, unit) for value in ends))
        rows.append([plain(line.name, signs), Content.styled(drawn, signs.accent), Content.styled(said, signs.label)])
    lines = grid(rows, width, signs, indent=INDENT)
    longest = max((len(line.values) for line in series.lines), default=0)
    if longest > 1:
        text = f"{clean_line(series.axis, signs)} {series.first} to {series.first + longest - 1}"
        lines.append(crop(Content(" " * INDENT) + Content.styled(text, signs.muted), width, signs))
    return lines


def draw_change(remedy: Remedy, width: int, signs: Signs) -> list[Content]:
    """Code before and after: lines that go have ``- ``, lines that come have ``+ ``, lines that stay have neither."""
    before, after = remedy.before.strip("\n").split("\n"), remedy.after.strip("\n").split("\n")
    old = highlighted(before, signs) if remedy.before else []
    new = highlighted(after, signs) if remedy.after else []
    texts = [line.plain for line in old], [line.plain for line in new]
    lines: list[Content] = []
    if not new:  # the line to change: how is said in words, and it is not to be deleted
        return [crop(Content("    ") + line, width, signs) for line in old]
    for kind, old_start, old_end, new_start, new_end in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += [Content("    ") + line for line in old[old_start:old_end]]
            continue
        lines += [Content.styled("  - ", signs.style_of_state("failed")) + line for line in old[old_start:old_end]]
        lines += [Content.styled("  + ", signs.style_of_state("passed")) + line for line in new[new_start:new_end]]
    return [crop(line, width, signs) for line in lines]
