"""What the script would have written, deleted or sent, in words: as a count, and as rows of a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from f64doctor.report import HeldBack, RunReport

KINDS = {
    "file": ("file", "files", "not written"),
    "folder": ("folder", "folders", "not made"),
    "deletion": ("deletion", "deletions", "not deleted"),
    "upload": ("upload", "uploads", "not sent"),
    "mail": ("mail", "mails", "not sent"),
}
"""For each kind: one of it, many of it, and what did not become real."""


def held_back_in(runs: Iterable[RunReport]) -> list[HeldBack]:
    """What all runs held back, each thing once."""
    found: dict[tuple[str, str], HeldBack] = {}
    for run in runs:
        for held in run.held_back:
            found.setdefault((held.kind, held.what), held)
    return list(found.values())


def count_held_back(held: Iterable[HeldBack]) -> str:
    """``3 files, 1 deletion``; empty when nothing was held back."""
    counts = Counter(one.kind for one in held)
    parts = []
    for kind, count in counts.items():
        one, many, _ = KINDS.get(kind, (kind, kind, ""))
        parts.append(f"{count} {one if count == 1 else many}")
    return ", ".join(parts)


def what_did_not_happen(held: HeldBack) -> str:
    """``not written``."""
    return KINDS.get(held.kind, ("", "", "held back"))[2]
