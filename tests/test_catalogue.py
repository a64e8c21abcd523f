"""Pages of the catalogue have a head and fixed sections, and are found by code and by family."""

from __future__ import annotations

from pathlib import Path

import pytest

from f64doctor import catalogue
from f64doctor.catalogue import PageError, parse_page, sections

PAGE = """---
code: F203
check: layers
title: "the policy was latched: too early"
severity: error
---

# The policy was latched too early

## What it is

Words.

## Example

```python
## no heading
x = 1
```
"""


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue in a folder of its own."""
    monkeypatch.setattr(catalogue, "pages_folder", lambda: tmp_path)
    catalogue.read_page.cache_clear()
    for code in ("F203", "F101", "F210"):
        (tmp_path / f"{code}.md").write_text(PAGE.replace("F203", code), encoding="utf-8")
    (tmp_path / "README.md").write_text("no page")
    (tmp_path / "F2.md.orig").write_text("no page")
    return tmp_path


def test_codes_are_those_that_have_a_page_in_order(pages: Path) -> None:
    assert catalogue.codes() == ["F101", "F203", "F210"]


@pytest.mark.parametrize(
    ("prefix", "members"), [("F2", ["F203", "F210"]), ("f2xx", ["F203", "F210"]), ("F9", []), ("", [])]
)
def test_a_family_is_every_code_with_its_beginning(pages: Path, prefix: str, members: list[str]) -> None:
    assert catalogue.family(prefix) == members


def test_a_page_is_markdown_without_its_front_matter(pages: Path) -> None:
    page = catalogue.page("f203")
    assert page.startswith("# The policy was latched too early\n\n## What it is\n")
    assert page.endswith("```\n")


def test_the_title_may_have_quotes_and_colons(pages: Path) -> None:
    assert catalogue.title("F203") == "the policy was latched: too early"
    assert catalogue.front_matter("F203")["check"] == "layers"


@pytest.mark.parametrize("code", ["F999", "", "F2", "../F203", "README", "F203.md"])
def test_a_code_without_a_page_is_a_key_error(pages: Path, code: str) -> None:
    with pytest.raises(KeyError):
        catalogue.page(code)


def test_a_catalogue_without_pages_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "pages_folder", lambda: tmp_path / "none")
    assert catalogue.codes() == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# no head", "F203.md does not begin with ---"),
        ("---\ncode: F203\n", "F203.md has no line --- after its front matter"),
        ("---\ncode F203\n---\n", "F203.md, line 2: 'code F203' is no `key: value`"),
        ("---\ncode: F203\ncheck: layers\n---\n", "F203.md says no title and no severity"),
    ],
)
def test_a_malformed_page_is_told_with_its_fault(text: str, sentence: str) -> None:
    with pytest.raises(PageError) as caught:
        parse_page(text, "F203.md")
    assert str(caught.value) == sentence


def test_headings_in_code_are_no_sections() -> None:
    found = sections(PAGE)
    assert list(found) == ["What it is", "Example"]
    assert found["What it is"] == "Words."
    assert "## no heading" in found["Example"]


@pytest.mark.parametrize("code", catalogue.codes())
def test_a_page_that_ships_has_its_head_and_its_sections_in_order(code: str) -> None:
    matter = catalogue.front_matter(code)
    assert matter["code"] == code
    assert matter["check"] == ["inputs", "layers", "device", "casts", "memory"][int(code[1]) - 1]
    assert matter["severity"] in ("error", "warning", "info")
    found = sections(catalogue.page(code))
    assert tuple(found) == catalogue.SECTIONS
    assert all(found.values())
