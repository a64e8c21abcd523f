"""Catalogue pages as text."""

from __future__ import annotations

import pytest

from f64doctor.tui.catalogue_page import catalogue_lines, without_front_matter
from f64doctor.tui.signs import Signs
from tests.tui.samples import HOSTILE_TEXTS

PAGE = """---
code: F203
---
# Latched policy

## What it is
Keras keeps the `dtype` policy that
was **current** then, see [the docs](https://keras.io).

- one
- two that is
  continued

```python
x = [1]

y = "<b>"
```

| a | b |
|---|---|
| 1 | `two` |
"""


def test_the_front_matter_is_not_shown() -> None:
    assert without_front_matter(PAGE).startswith("# Latched policy")
    assert without_front_matter("no front matter") == "no front matter"


def test_a_page_is_set_as_text() -> None:
    assert [line.plain.rstrip() for line in catalogue_lines(PAGE, 60, Signs())] == [
        "Latched policy",
        "",
        "What it is",
        "  Keras keeps the dtype policy that was current then, see",
        "  the docs (https://keras.io).",
        "",
        "  · one",
        "  · two that is continued",
        "",
        "    x = [1]",
        "",
        '    y = "<b>"',
        "",
        "  a  b",
        "  1  two",
    ]


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
@pytest.mark.parametrize("before", ["", "# ", "- ", "```\n", "| ", "> ", "**", "`"])
def test_no_line_is_wider_than_the_page(text: str, before: str) -> None:
    assert all(line.cell_length <= 40 for line in catalogue_lines(before + text, 40, Signs()))
