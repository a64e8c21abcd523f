"""Sets hostile text in lines of a given width: cleans it, wraps, crops and aligns it, and never reads markup in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from f64doctor.render.escape import TAB_WIDTH, visible_character
from f64doctor.tui.signs import Signs

# A line of evidence longer than this is nobody's reading; cutting it first keeps wrapping and highlighting quick.
LONGEST_LINE = 1000

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)"  # OSC: titles, links, clipboard
    r"|\x1b[PX^_].*?(?:\x1b\\|$)"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor
    r"|\x1b[ -/]*[0-~]?",
    re.DOTALL,
)
# ``clean`` leaves at most two combining marks on a character.
_MOST_CHARACTERS_A_CELL = 3
# A head cut below this says nothing any more.
_SHORTEST_HEAD = 5
_UNUSUAL = re.compile(r"[^\n -~]")
_COMBINING_PILE = re.compile(r"([\u0300-\u036f]{2})[\u0300-\u036f]+")


def clean(text: str, signs: Signs) -> str:
    """``text`` without terminal sequences; other hidden characters are written out, and only ``\\n`` ends a line.

    Of a line that backspaces or a carriage return rewrote, what a terminal would show last is kept.
    """
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    if "\b" in text:
        text = _without_backspaces(text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if "\t" in text:
        text = text.expandtabs(TAB_WIDTH)
    text = _COMBINING_PILE.sub(r"\1", text)
    text = _UNUSUAL.sub(lambda found: visible_character(found[0]), text)
    return signs.in_ascii(text)


def _without_backspaces(text: str) -> str:
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


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
    # Measuring is slow, so what is far beyond the width goes first.
    beginning = content[: _MOST_CHARACTERS_A_CELL * width]
    return beginning.truncate(min(room, beginning.cell_length)).rstrip() + Content(signs.ellipsis)


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


def fitted_widths(natural: Sequence[int], room: int, floors: Sequence[int] | None = None) -> list[int]:
    """Column widths that sum to ``room`` or less where ``floors`` allow it: the widest give way first."""
    widths = list(natural)
    least = list(floors) if floors is not None else [1] * len(widths)
    while sum(widths) > room:
        able = [number for number, width in enumerate(widths) if width > least[number]]
        if not able:
            break
        widest = max(widths[number] for number in able)
        widths[next(number for number in reversed(able) if widths[number] == widest)] -= 1
    return widths


def longest_word(content: Content) -> int:
    """The width in cells of the longest part of ``content`` that wrapping would not break."""
    return max((cell_len(word) for word in content.plain.split()), default=0)


def grid(
    rows: Sequence[Sequence[Content]],
    width: int,
    signs: Signs,
    *,
    heads: Sequence[Content] = (),
    indent: int = 0,
    gap: int = 2,
    right_aligned: Collection[int] = (),
    most_lines: int = 3,
) -> list[Content]:
    """Rows of cells in aligned columns within ``width``, under ``heads`` if there are any.

    Where room is short, first the heads are cut, then cells wrap between words, then within words; a cell that needs
    more than ``most_lines`` is cropped.
    """
    if not rows:
        return []
    count = max(len(heads), *(len(row) for row in rows))
    head = [*heads, *[Content("")] * (count - len(heads))]
    cells = [[*row, *[Content("")] * (count - len(row))] for row in rows]
    of_cells = [max(row[column].cell_length for row in cells) for column in range(count)]
    natural = [max(of_cells[column], head[column].cell_length) for column in range(count)]
    shown = [column for column in range(count) if natural[column]]
    room = max(width - indent - gap * (len(shown) - 1), len(shown))
    fitted = [min(natural[column], room) for column in shown]
    fitted = fitted_widths(fitted, room, [min(max(of_cells[column], _SHORTEST_HEAD), room) for column in shown])
    fitted = fitted_widths(fitted, room, [max(longest_word(row[column]) for row in cells) for column in shown])
    widths = dict(zip(shown, fitted_widths(fitted, room), strict=True))

    def set_row(wrapped: dict[int, list[Content]]) -> Iterator[Content]:
        for number in range(max((len(lines) for lines in wrapped.values()), default=1)):
            line = Content(" " * indent)
            for position, column in enumerate(shown):
                part = wrapped[column][number] if number < len(wrapped[column]) else Content("")
                padding = Content(" " * max(widths[column] - part.cell_length, 0))
                between = Content(" " * gap if position else "")
                line += between + (padding + part if column in right_aligned else part + padding)
            yield crop(line.rstrip(), width, signs)

    lines: list[Content] = []
    if any(head):
        lines += set_row({column: _head_lines(head[column], widths[column], signs) for column in shown})
    for row in cells:
        lines += set_row(
            {
                column: _cell_lines(row[column], widths[column], most_lines, column in right_aligned, signs)
                for column in shown
            }
        )
    return lines


def _head_lines(head: Content, width: int, signs: Signs) -> list[Content]:
    if longest_word(head) > width:
        return [crop(head, width, signs)]
    return _cell_lines(head, width, 2, False, signs)


def _cell_lines(cell: Content, width: int, most_lines: int, right: bool, signs: Signs) -> list[Content]:
    if cell.cell_length <= width:
        return [cell]
    if right:
        return [crop(cell, width, signs)]
    # Only the beginning can be shown, so only the beginning is wrapped.
    beginning = cell[: _MOST_CHARACTERS_A_CELL * (most_lines + 1) * width]
    lines = [line.rstrip() for line in beginning.wrap(max(width, 2))]
    if len(lines) > most_lines:
        last = lines[most_lines - 1]
        room = max(width - len(signs.ellipsis), 0)
        lines = [*lines[: most_lines - 1], last.truncate(min(room, last.cell_length)) + Content(signs.ellipsis)]
    return [crop(line, width, signs) for line in lines]
