"""The catalogue has a page for every code that a check can raise, and for no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import f64doctor.checks
from f64doctor import catalogue
from f64doctor.checks import ORDER

CHECKS = Path(f64doctor.checks.__file__).parent
FAMILIES = {f"F{number}": name for number, name in enumerate(ORDER, 1)}
PAGES = sorted(path.stem for path in (Path(catalogue.__file__).parent / "pages").glob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def codes_in(path: Path) -> set[str]:
    """The codes that stand in a module's source as whole string literals."""
    literals = (node.value for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Constant))
    return {text for text in literals if isinstance(text, str) and re.fullmatch(r"F\d{3}", text)}


def raised() -> dict[str, set[str]]:
    """The codes that each module of the checks can raise."""
    return {path.stem: codes_in(path) for path in sorted(CHECKS.glob("*.py"))}


def sides(block: str) -> list[str]:
    """The code before and after the change that a block with the margins ``- `` and ``+ `` shows."""
    lines = block.splitlines()
    return ["\n".join(line[2:] for line in lines if not line.startswith(other)) for other in "+-"]


def test_the_families_are_those_of_the_five_checks() -> None:
    assert FAMILIES == {"F1": "inputs", "F2": "layers", "F3": "device", "F4": "casts", "F5": "memory"}


def test_every_code_that_a_check_raises_has_a_page() -> None:
    codes = set().union(*raised().values())
    assert len(codes) > 20
    assert codes - set(PAGES) == set()


def test_every_page_is_about_a_code_that_a_check_raises() -> None:
    assert set(PAGES) - set().union(*raised().values()) == set()


@pytest.mark.parametrize("check", ORDER)
def test_a_check_raises_codes_of_its_own_family_only(check: str) -> None:
    codes = raised()[check]
    assert codes
    assert {FAMILIES[code[:2]] for code in codes} == {check}


def test_no_two_findings_have_the_same_title() -> None:
    titles = [catalogue.title(code).casefold() for code in PAGES]
    assert sorted(titles) == sorted(set(titles))


@pytest.mark.parametrize("code", PAGES)
def test_a_page_names_its_code_its_check_and_a_severity(code: str) -> None:
    matter = catalogue.front_matter(code)
    assert set(matter) == {"code", "check", "title", "severity"}
    assert matter["code"] == code
    assert matter["check"] == FAMILIES[code[:2]]
    assert matter["severity"] in ("error", "warning", "info")
    assert "{" not in matter["title"]


@pytest.mark.parametrize("code", PAGES)
def test_a_page_has_all_sections_in_order_and_none_is_empty(code: str) -> None:
    found = catalogue.sections(catalogue.page(code))
    assert tuple(found) == catalogue.SECTIONS
    assert [heading for heading, text in found.items() if not text.strip()] == []


@pytest.mark.parametrize("code", PAGES)
def test_a_page_says_how_sure_its_finding_is(code: str) -> None:
    words = catalogue.sections(catalogue.page(code))["How it is detected"].casefold()
    assert any(grade in words for grade in ("observed", "inferred", "suspected"))


@pytest.mark.parametrize("code", PAGES)
def test_the_example_shows_a_change_and_its_code_is_valid(code: str) -> None:
    blocks = FENCE.findall(catalogue.sections(catalogue.page(code))["Example"])
    assert blocks
    if blocks[0][0] == "diff":
        before, after = sides(blocks[0][1])
    else:
        assert len(blocks) >= 2
        before, after = blocks[0][1], blocks[1][1]
    assert before != after
    for side in (before, after):
        if not side.startswith("pip "):
            ast.parse(side)


@pytest.mark.parametrize("code", PAGES)
def test_the_references_are_addresses_and_none_stands_twice(code: str) -> None:
    text = catalogue.sections(catalogue.page(code))["References"]
    addresses = re.findall(r"^- (https://\S+)$", text, re.MULTILINE)
    assert len(addresses) == len(text.splitlines())
    assert len(addresses) == len(set(addresses))
