"""The screen that lists every key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from f64doctor.tui.screens import DoctorScreen
from f64doctor.tui.signs import Signs
from f64doctor.tui.typeset import grid, wrap

KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "STEPS",
        (
            ("n, Right", "next step"),
            ("p, Left", "previous step"),
            ("1 to 5", "inputs, layers, device, casts, memory"),
            ("6", "verdict"),
        ),
    ),
    (
        "READING",
        (
            ("Up, Down, k, j", "one line"),
            ("PgUp, PgDn, b, Space", "one page"),
            ("Home, End, g, G", "to the top, to the end"),
            ("w", "why: the page of the catalogue about the finding"),
            ("l", "log of the run; n and p change the run"),
        ),
    ),
    (
        "DOING",
        (
            ("Enter", "start the checkup"),
            ("r", "rerun, when the checkup is over"),
            ("t", "dark or light colours"),
            ("Ctrl+P", "all actions by name"),
            ("?", "this help"),
            ("Esc", "back from log, why and help"),
            ("q, Ctrl+Q", "quit; runs that still go on are ended first"),
        ),
    ),
)

STATES = ("passed", "info", "warning", "failed", "inconclusive", "skipped", "crashed", "waiting", "running")


def help_lines(width: int, signs: Signs) -> list[Content]:
    """All keys and what they do, then all signs."""
    lines: list[Content] = []
    for title, keys in KEYS:
        lines.append(Content.styled(title, signs.label))
        widest = max(len(key) for _, group in KEYS for key, _ in group)
        entries = [(key, what) for key, what in keys if not (signs.ascii_only and key == "Ctrl+P")]
        rows = [[Content.styled(key.ljust(widest), "bold"), Content(what)] for key, what in entries]
        lines += [*grid(rows, width, signs, indent=2), Content("")]
    lines.append(Content.styled("SIGNS", signs.label))
    shown = [Content.styled(f"{signs.of_state(state)} {state}", signs.style_of_state(state)) for state in STATES]
    lines += wrap(Content("   ").join(shown), width, first="  ", rest="  ")
    return lines


class HelpScreen(DoctorScreen):
    """All keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark", "app.leave_screen", "back", key_display="Esc"),
    ]

    def header_facts(self) -> tuple[str, Sequence[str]]:
        """That this is the help."""
        return "help", ()

    def text(self, width: int) -> Sequence[Content]:
        """All keys."""
        return help_lines(width, self.signs)
