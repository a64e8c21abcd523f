"""Makes text from outside safe to print: what a terminal would act on, or would hide, is written out as a visible escape."""

from __future__ import annotations

import re
import unicodedata

HIDDEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Controls, formats (zero-width and bidirectional marks too), surrogates, and the separators of lines and paragraphs."""

TAB_WIDTH = 4

COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
BACKSPACED = re.compile(r"[^\x08]\x08")

ASCII_FOR = str.maketrans(
    {
        "…": "...",
        "→": "->",
        "←": "<-",
        "▸": ">",
        "▶": ">",
        "·": "-",
        "×": "x",
        "–": "-",
        "—": "-",
        "−": "-",
        "│": "|",
        "✓": "+",
        "✗": "x",
        "≠": "!=",
        "≤": "<=",
        "≥": ">=",
        "≈": "~",
        "±": "+-",
        "’": "'",
        "‘": "'",
        "“": '"',
        "”": '"',
        "\u00a0": " ",
        "\u202f": " ",
    }
)


def visible(text: str) -> str:
    """One line of ``text`` in which nothing acts on the terminal: ESC reads ``\\x1b``, a right-to-left override ``\\u202e``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(visible_character, text))


def visible_character(character: str) -> str:
    """A character that is shown as it is, or its escape."""
    if unicodedata.category(character) not in HIDDEN_CATEGORIES:
        return character
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible_lines(text: str) -> list[str]:
    """The lines of ``text``, tabs expanded and each made visible; no line for a last line break."""
    return (
        [visible(line.rstrip("\r").expandtabs(TAB_WIDTH)) for line in text.removesuffix("\n").split("\n")]
        if text
        else []
    )


def prose(text: str) -> str:
    """``text`` as one paragraph: each stretch of white space is one blank, everything else is visible."""
    return visible(" ".join(text.split()))


def log_lines(text: str) -> list[str]:
    """The lines of a log as a terminal would have left them: without colours, and of a line drawn over, the last drawing."""
    text = COLOUR.sub("", text)
    while "\b" in text:
        text, erased = BACKSPACED.subn("", text)
        if not erased:
            text = text.replace("\b", "")
    overdrawn = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return [line.rstrip() for line in visible_lines("\n".join(overdrawn)) if line.strip()]


def in_ascii(text: str) -> str:
    """``text`` for a terminal that knows ASCII only: signs by their likeness, other characters as escapes."""
    return text if text.isascii() else text.translate(ASCII_FOR).encode("ascii", "backslashreplace").decode("ascii")
