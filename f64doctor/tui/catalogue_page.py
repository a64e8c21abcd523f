"""Sets a page of the catalogue, headings, paragraphs, lists, code and tables of Markdown, in lines of a given width."""

from __future__ import annotations

import re

from textual.content import Content

from f64doctor.tui.evidence import highlighted
from f64doctor.tui.signs import Signs
from f64doctor.tui.typeset import clean, crop, grid, plain, wrap

WIDEST = 88
_INLINE = re.compile(
    r"`([^`]+)`|\*\*([^*]+)\*\*|(?<![\w*])\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)|<(https?://[^>\s]+)>"
)
_ITEM = re.compile(r"( *)([-*+]|\d+[.)]) +(.*)")


def without_front_matter(markdown: str) -> str:
    """``markdown`` from its first heading or paragraph on."""
    if markdown.startswith("---\n"):
        _, _, rest = markdown[4:].partition("\n---")
        return rest.partition("\n")[2].lstrip("\n")
    return markdown


def catalogue_lines(markdown: str, width: int, signs: Signs) -> list[Content]:
    """The lines of a page, each at most ``width`` cells."""
    width = min(width, WIDEST)
    lines: list[Content] = []
    block: list[str] = []
    source = clean(without_front_matter(markdown), signs).split("\n")
    position = 0

    def end_block() -> None:
        if block:
            lines.extend(_paragraph(block, width, signs))
            block.clear()

    while position < len(source):
        line = source[position]
        position += 1
        fence = re.match(r" *(```+|~~~+)", line)
        if fence:
            end_block()
            code: list[str] = []
            while position < len(source) and not source[position].lstrip().startswith(fence[1]):
                code.append(source[position])
                position += 1
            position += 1
            lines += [crop(Content("    ") + shown, width, signs) for shown in highlighted(code, signs)]
        elif heading := re.match(r"(#{1,6}) +(.*?)[ #]*$", line):
            end_block()
            style = "bold" if len(heading[1]) == 1 else signs.label
            lines += wrap(_inline(heading[2], signs).stylize_before(style), width)
        elif line.lstrip().startswith("|"):
            end_block()
            rows = [line]
            while position < len(source) and source[position].lstrip().startswith("|"):
                rows.append(source[position])
                position += 1
            lines += _table(rows, width, signs)
        elif not line.strip():
            end_block()
            if lines and lines[-1].plain:
                lines.append(Content(""))
        else:
            if _ITEM.match(line) or line.startswith(">"):
                end_block()
            block.append(line)
    end_block()
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return lines


def _paragraph(block: list[str], width: int, signs: Signs) -> list[Content]:
    item = _ITEM.match(block[0])
    if item:
        bullet = signs.dot if item[2] in "-*+" else item[2]
        first = " " * len(item[1]) + f"  {bullet} "
        text = " ".join([item[3], *(line.strip() for line in block[1:])])
        return wrap(_inline(text, signs), width, first=first, rest=" " * len(first))
    quoted = block[0].startswith(">")
    text = " ".join(line.lstrip("> ").strip() if quoted else line.strip() for line in block)
    margin = "    " if quoted else "  "
    return wrap(_inline(text, signs), width, first=margin, rest=margin)


def _table(rows: list[str], width: int, signs: Signs) -> list[Content]:
    cells = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows]
    shown = [row for row in cells if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    content = [
        [_inline(cell, signs) if number else plain(cell, signs, signs.muted) for cell in row]
        for number, row in enumerate(shown)
    ]
    return grid(content, width, signs, indent=2, most_lines=6)


def _inline(text: str, signs: Signs) -> Content:
    parts: list[Content | tuple[str, str]] = []
    position = 0
    for found in _INLINE.finditer(text):
        parts.append(Content(text[position : found.start()]))
        code, strong, emphasis, link, address, bare = found.groups()
        if code:
            parts.append((code, signs.accent))
        elif strong:
            parts.append((strong, "bold"))
        elif emphasis:
            parts.append((emphasis, "italic"))
        elif link:
            parts.append(Content.assemble(link, (f" ({address})", signs.muted) if address != link else ""))
        else:
            parts.append((bare, signs.muted))
        position = found.end()
    parts.append(Content(text[position:]))
    return Content.assemble(*parts)
