"""Small projects written to a folder and read."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from f64doctor.observe.facts import Source
from f64doctor.source import read_source
from tests.source.projects import IMPORTS, Read, Said, write


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def write_and_read(script: str, **modules: str) -> Source:
        files = {"train": script, **modules}
        write(tmp_path, {f"{name}.py": textwrap.dedent(text) for name, text in files.items()})
        return read_source("train.py", str(tmp_path))

    return write_and_read


@pytest.fixture
def said(read: Read) -> Said:
    def kinds(lines: str, **modules: str) -> list[tuple[str, str, str]]:
        source = read(IMPORTS + textwrap.dedent(lines), **modules)
        return [(mention.kind, mention.dtype, mention.call) for mention in source.mentions]

    return kinds
