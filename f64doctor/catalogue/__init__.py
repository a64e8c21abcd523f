"""Reads the catalogue: one Markdown page for each finding code, with front matter and fixed sections."""

from __future__ import annotations

import json
import sys
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

SECTIONS = ("What it is", "Why it hurts", "How it is detected", "Remedy", "Example", "References")
"""The sections of a page, as second-level headings, in this order."""

FENCE = "---"
SUFFIX = ".md"


class PageError(ValueError):
    """A page of the catalogue is not written as pages are."""


def pages_folder() -> Traversable:
    """Where the pages lie in the installed package."""
    return resources.files(__package__) / "pages"


def codes() -> list[str]:
    """The codes that have a page, in order. Reads no page."""
    folder = pages_folder()
    if not folder.is_dir():
        return []
    return sorted(entry.name.removesuffix(SUFFIX) for entry in folder.iterdir() if is_page(entry.name))


def is_page(name: str) -> bool:
    """True for the file name of a page: a code, as ``F203``, and ``.md``."""
    return name.endswith(SUFFIX) and name.startswith("F") and name[1:-3].isdigit()


@cache
def framework_items() -> dict[str, str]:
    """What Keras and TensorFlow do in float32 under float64, by name, each with a way round it (empty where none is needed).

    Source: framework_float32.json, measured by benchmarks/framework_float32.py.
    """
    text = (resources.files(__package__) / "framework_float32.json").read_text(encoding="utf-8")
    return {name: str(item["way_round"]) for name, item in json.loads(text)["items"].items()}


def way_round(name: str) -> str:
    """What to use in float64 instead of a class or function of Keras or TensorFlow; empty when nothing is known."""
    return next((way for item, way in framework_items().items() if way and item.split("(")[0] == name), "")


def family(prefix: str) -> list[str]:
    """The codes that begin with ``prefix``: ``F2`` or ``F2xx`` name the findings of the layers. Empty when there are none."""
    begin = prefix.strip().upper().rstrip("X")
    return [code for code in codes() if code.startswith(begin)] if begin else []


def page(code: str) -> str:
    """The page of a code as Markdown, without its front matter. Raises ``KeyError`` when there is none."""
    return read_page(code)[1]


def title(code: str) -> str:
    """The title of a code's finding. Raises ``KeyError`` when it has no page."""
    return front_matter(code)["title"]


def front_matter(code: str) -> dict[str, str]:
    """What the head of a page says: ``code``, ``check``, ``title``, ``severity``. Raises ``KeyError`` when there is no page."""
    return dict(read_page(code)[0])


@cache
def read_page(code: str) -> tuple[dict[str, str], str]:
    """The front matter and the Markdown of a page. Raises ``KeyError`` when there is none, ``PageError`` when it is malformed."""
    name = code.strip().upper() + SUFFIX
    if not is_page(name):
        raise KeyError(code)
    try:
        text = (pages_folder() / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise KeyError(code) from None
    return parse_page(text, name)


def parse_page(text: str, name: str) -> tuple[dict[str, str], str]:
    """The front matter (``key: value`` lines between two lines ``---``) and the Markdown after it. Raises ``PageError``."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != FENCE:
        raise PageError(f"{name} does not begin with {FENCE}")
    matter: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        if line.strip() == FENCE:
            break
        key, colon, value = line.partition(":")
        if colon:
            matter[key.strip()] = unquoted(value.strip())
        elif line.strip():
            raise PageError(f"{name}, line {number}: {line.strip()!r} is no `key: value`")
    else:
        raise PageError(f"{name} has no line {FENCE} after its front matter")
    missing = [key for key in ("code", "check", "title", "severity") if not matter.get(key)]
    if missing:
        raise PageError(f"{name} says no {' and no '.join(missing)}")
    return matter, "\n".join(lines[number:]).strip("\n") + "\n"


def unquoted(value: str) -> str:
    """A value without the quotes around it, if it has a pair."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def sections(markdown: str) -> dict[str, str]:
    """The text of each second-level section of a page by its heading, in order; headings inside code blocks do not count."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    in_code = False
    for line in markdown.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        if line.startswith("## ") and not in_code:
            current = found.setdefault(line[3:].strip(), [])
        elif current is not None:
            current.append(line)
    return {heading: "\n".join(lines).strip("\n") for heading, lines in found.items()}
