"""Sets plain text in columns: widths as a terminal counts them, wrapping, cropping and grids."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence

NARROWEST_COLUMN = 6
BREAK_AFTER = frozenset("/\\,.;:_-=&|)")
"""Characters after which a word that is too long for its line may be broken."""


def width_of(text: str) -> int:
    """The cells that ``text`` takes on a terminal: wide East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(map(width_of_character, text))


def width_of_character(character: str) -> int:
    """0, 1 or 2 cells."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, width: int, *, right: bool = False) -> str:
    """``text`` filled up with blanks to ``width`` cells, at its end or, for ``right``, before it."""
    blanks = " " * max(width - width_of(text), 0)
    return blanks + text if right else text + blanks


def head_of(text: str, width: int) -> str:
    """As many characters from the beginning of ``text`` as fit in ``width`` cells, one at least."""
    used = 0
    for index, character in enumerate(text):
        used += width_of_character(character)
        if used > width and index:
            return text[:index]
    return text


def crop(text: str, width: int, ellipsis: str = "…") -> str:
    """``text`` in at most ``width`` cells, an ellipsis at the end where it was cut."""
    if width_of(text) <= width:
        return text
    return head_of(text, width - len(ellipsis)).rstrip() + ellipsis


def crop_middle(text: str, width: int, ellipsis: str = "…") -> str:
    """``text`` in at most ``width`` cells; of a path the root and the name are kept and the middle is cut."""
    if width_of(text) <= width:
        return text
    head = head_of(text, max((width - len(ellipsis)) // 3, 1))
    tail = head_of(text[::-1], width - len(ellipsis) - width_of(head))[::-1]
    return head + ellipsis + tail


def wrap(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """``text`` in lines of at most ``width`` cells, broken at blanks; ``first`` leads the first line, ``rest`` the others.

    Without ``rest`` the others are indented as far as ``first`` is wide. Words that are too long are broken, after punctuation if possible.
    """
    rest = " " * width_of(first) if rest is None else rest
    lines: list[str] = []
    line, empty = first, True
    words = text.split(" ")
    while words:
        word = words.pop(0)
        candidate = line + word if empty else f"{line} {word}"
        if width_of(candidate) <= width:
            line, empty = candidate, False
            continue
        room = width - width_of(rest)
        if empty or (width_of(word) > room and width - width_of(line) > room // 2):
            free = width - width_of(line) - (0 if empty else 1)
            piece = breakable_head(word, max(free, 1))
            line += piece if empty else f" {piece}"
            words.insert(0, word[len(piece) :])
        else:
            words.insert(0, word)
        lines.append(line)
        line, empty = rest, True
        if words == [""]:
            return lines
    return [*lines, line.rstrip() if empty else line]


def breakable_head(word: str, room: int) -> str:
    """The part of a long word for this line: up to its last punctuation in the second half of the room, else all that fits."""
    head = head_of(word, room)
    if len(head) < len(word):
        for index in range(len(head) - 1, len(head) // 2, -1):
            if head[index] in BREAK_AFTER:
                return head[: index + 1]
    return head


def fitted_widths(natural: Sequence[int], room: int) -> list[int]:
    """Widths of columns that have ``room`` cells together: narrow columns keep what they need, wide ones share the rest."""
    widths = list(natural)
    if sum(widths) <= room:
        return widths
    open_columns = set(range(len(widths)))
    left = room
    while open_columns:
        share = left // len(open_columns)
        narrow = [column for column in open_columns if natural[column] <= share]
        if not narrow:
            for place, column in enumerate(sorted(open_columns)):
                widths[column] = max(share + (1 if place < left % len(open_columns) else 0), NARROWEST_COLUMN)
            break
        for column in narrow:
            left -= natural[column]
            open_columns.remove(column)
    return widths


def grid(
    rows: Sequence[Sequence[str]], room: int, *, right: Collection[int] = (), gap: str = "  "
) -> list[list[list[str]]]:
    """Rows of cells set in columns that together take at most ``room`` cells where that can be.

    The result is, for each row, its lines, and for each line its cells, padded to their columns; ``right`` are the columns that are aligned
    right. Columns that are empty in every row are left out.
    """
    count = max(map(len, rows), default=0)
    full = [[*row, *[""] * (count - len(row))] for row in rows]
    used = [column for column in range(count) if any(row[column] for row in full)]
    natural = [max(width_of(row[column]) for row in full) for column in used]
    widths = fitted_widths(natural, room - len(gap) * max(len(used) - 1, 0))
    result = []
    for row in full:
        cells = [wrap(row[column], width) for column, width in zip(used, widths, strict=True)]
        height = max(map(len, cells), default=1)
        result.append(
            [
                [
                    pad(cell[line] if line < len(cell) else "", width, right=column in right)
                    for column, cell, width in zip(used, cells, widths, strict=True)
                ]
                for line in range(height)
            ]
        )
    return result
