"""Small projects for the tests of this room: what the fixtures give, and the imports that most scripts begin with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from f64doctor.observe.facts import Source

Read = Callable[..., Source]
"""Writes a script, and modules by their name, and reads them."""

Said = Callable[..., list[tuple[str, str, str]]]
"""Kind, dtype and call of each mention in a few lines that follow the usual imports."""

Purposes = Callable[..., list[str]]
"""The purpose of each mention of float32."""

IMPORTS = "import math\nimport numpy as np\nimport tensorflow as tf\nimport keras\n"


def write(folder: Path, files: dict[str, str]) -> None:
    """Writes files by their path in a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(source: Source, folder: Path) -> list[str]:
    """The paths of the files that were read, from a folder."""
    return [str(Path(file.path).relative_to(folder)) for file in source.files]
