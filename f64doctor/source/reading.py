"""Reads one file of Python source: its lines as Python counts them, and its syntax tree where it has one."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings

LONGEST_FILE = 16_000_000
MOST_LINES_PARSED = 20_000

_TOP_LEVEL_START = re.compile(r"[A-Za-z_@]")
_CONTINUES_A_STATEMENT = re.compile(r"(?:else|elif|except|finally)\b")


def read_text(path: str) -> tuple[str, bool]:
    """The text of a file with ``\\n`` line ends, and whether Python itself would be able to decode it."""
    try:
        with open(path, "rb") as file:
            raw = file.read(LONGEST_FILE)
    except (OSError, ValueError):
        return "", False
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text, decodable = raw.decode(encoding), True
    except (SyntaxError, UnicodeError, LookupError, ValueError):
        text, decodable = raw.decode("utf-8", "replace"), False
    return text.replace("\r\n", "\n").replace("\r", "\n"), decodable


def split_lines(text: str) -> list[str]:
    """The lines of a text, numbered as Python numbers them: form feeds and Unicode separators end no line."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def parse(text: str, lines: list[str]) -> ast.Module | None:
    """The syntax tree, or None when this interpreter cannot parse the text. Of a very long file, only the first part is parsed."""
    if len(lines) > MOST_LINES_PARSED:
        text = _first_statements(lines)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _first_statements(lines: list[str]) -> str:
    """The longest run of lines within the limit that seems to end where a top-level statement ends."""
    for count in range(MOST_LINES_PARSED, 0, -1):
        line = lines[count]
        if _TOP_LEVEL_START.match(line) and not _CONTINUES_A_STATEMENT.match(line):
            return "\n".join(lines[:count]) + "\n"
    return ""
