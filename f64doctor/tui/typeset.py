"""Sets hostile text in lines of a given width: cleans it, wraps, crops and aligns it, and never reads markup in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from f64doctor.tui.signs import Signs, is_unshowable

# A line of evidence longer than this is nobody's reading; cutting it first keeps wrapping and highlighting quick.
LONGEST_LINE = 2000

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)"  # OSC: titles, links, clipboard
    r"|\x1b[PX^_].*?(?:\x1b\\|$)"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor
    r"|\x1b[ -/]*[0-~]?",
    re.DOTALL,
)
_UNUSUAL = re.compile(r"[^\n -~]")
_COMBINING_PILE = re.compile(r"([\u0300-\u036f]{2})[\u0300-\u036f]+")


def clean(text: str, signs: Signs) -> str:
    """``text`` without terminal escapes; other controls become U+FFFD, tabs spaces, and only ``\\n`` ends a line.

    Of a line that a carriage return rewrote, what a terminal would still show last is kept.
    """
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    if "\b" in text:
        text = re.sub(r"\x08+", "", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if "\t" in text:
        text = text.expandtabs(4)
    text = _COMBINING_PILE.sub(r"\1", text)
    text = _UNUSUAL.sub(lambda found: "\ufffd" if is_unshowable(found[0]) else found[0], text)
    return signs.in_ascii(text)


def clean_line(text: str, signs: Signs) -> str:
    """``clean`` for text that must stay on one line, cut at ``LONGEST_LINE`` characters."""
    line = clean(text, signs).replace("\n", " ")
    return line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + signs.ellipsis


def plain(text: str, signs: Signs, style: str = "") -> Content:
    """One clean line as content in one style."""
    return Content.styled(clean_line(text, signs), style)


def crop(content: Content, width: int, signs: Signs) -> Content:
    """``content`` in at most ``width`` cells, with an ellipsis where its end was cut."""
    if content.cell_length <= width:
        return content
    room = width - len(signs.ellipsis)
    if room < 1:
        return content.truncate(max(width, 0))
    return content.truncate(room).rstrip() + Content(signs.ellipsis)


def crop_left(text: str, width: int, signs: Signs) -> str:
    """``text`` in at most ``width`` cells, its end kept: of a path the name matters more than the root."""
    if cell_len(text) <= width:
        return text
    room = width - len(signs.ellipsis)
    if room < 1:
        return set_cell_size(text, max(width, 0))
    kept = text[-room:]
    while cell_len(kept) > room:
        kept = kept[1:]
    return signs.ellipsis + kept


def wrap(content: Content, width: int, *, first: str = "", rest: str = "") -> list[Content]:
    """``content`` in lines of at most ``width`` cells; ``first`` leads the first line and ``rest`` each later one."""
    room = max(width - max(cell_len(first), cell_len(rest)), 2)
    lines = [line.rstrip() for line in content.wrap(room)] or [Content("")]
    return [Content(rest if number else first) + line for number, line in enumerate(lines)]


def paragraphs(text: str, width: int, signs: Signs, *, style: str = "", indent: int = 0) -> list[Content]:
    """Clean ``text`` wrapped at ``width``; its own line ends and leading spaces stay."""
    lines: list[Content] = []
    for line in clean(text, signs).strip("\n").split("\n"):
        cut = line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + signs.ellipsis
        body = cut.lstrip(" ")
        own_indent = min(len(cut) - len(body), max(width - indent, 0) // 3)
        margin = " " * (indent + own_indent)
        lines += wrap(Content.styled(body, style), width, first=margin, rest=margin)
    return lines


def spread(left: Content, right: Content, width: int, signs: Signs) -> Content:
    """``left`` at the left edge and ``right`` at the right edge of one line; ``left`` is cropped when they meet."""
    right = crop(right, width, signs)
    room = width - right.cell_length - (2 if right else 0)
    shown = crop(left, max(room, 0), signs)
    return shown + Content(" " * max(width - shown.cell_length - right.cell_length, 0)) + right


def fitted_widths(natural: Sequence[int], room: int) -> list[int]:
    """Column widths that sum to at most ``room``: the widest columns give way, narrow ones keep their natural width."""
    widths = list(natural)
    while sum(widths) > room and max(widths) > 1:
        widest = max(widths)
        second = max((width for width in widths if width < widest), default=0)
        count = widths.count(widest)
        excess = sum(widths) - room
        cut = min(widest - second, -(-excess // count), widest - 1)
        for number, width in enumerate(widths):
            if width == widest and excess > 0:
                taken = min(cut, excess)
                widths[number] = width - taken
                excess -= taken
    return widths


def grid(
    rows: Sequence[Sequence[Content]],
    width: int,
    signs: Signs,
    *,
    indent: int = 0,
    gap: int = 2,
    right_aligned: Collection[int] = (),
    most_lines: int = 3,
) -> list[Content]:
    """Rows of cells in aligned columns within ``width``; a cell too long wraps, and is cropped after ``most_lines``."""
    if not rows:
        return []
    count = max(len(row) for row in rows)
    cells = [[*row, *[Content("")] * (count - len(row))] for row in rows]
    natural = [max(row[column].cell_length for row in cells) for column in range(count)]
    shown = [column for column in range(count) if natural[column]]
    room = width - indent - gap * (len(shown) - 1)
    fitted = fitted_widths([natural[column] for column in shown], max(room, len(shown)))
    widths = dict(zip(shown, fitted, strict=True))
    lines: list[Content] = []
    for row in cells:
        wrapped = {
            column: _cell_lines(row[column], widths[column], most_lines, column in right_aligned, signs)
            for column in shown
        }
        for number in range(max((len(lines_of) for lines_of in wrapped.values()), default=1)):
            line = Content(" " * indent)
            for position, column in enumerate(shown):
                part = wrapped[column][number] if number < len(wrapped[column]) else Content("")
                padding = Content(" " * max(widths[column] - part.cell_length, 0))
                between = Content(" " * gap if position else "")
                line += between + (padding + part if column in right_aligned else part + padding)
            lines.append(crop(line.rstrip(), width, signs))
    return lines


def _cell_lines(cell: Content, width: int, most_lines: int, right: bool, signs: Signs) -> list[Content]:
    if cell.cell_length <= width:
        return [cell]
    if right:
        return [crop(cell, width, signs)]
    lines = [line.rstrip() for line in cell.wrap(max(width, 2))]
    if len(lines) > most_lines:
        last = lines[most_lines - 1]
        room = max(width - len(signs.ellipsis), 0)
        lines = [*lines[: most_lines - 1], last.truncate(min(room, last.cell_length)) + Content(signs.ellipsis)]
    return [crop(line, width, signs) for line in lines]
