"""The screen that explains a finding with its page of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from f64doctor.tui.catalogue_page import WIDEST, catalogue_lines
from f64doctor.tui.screens import DoctorScreen
from f64doctor.tui.signs import Signs
from f64doctor.tui.typeset import plain, wrap


def page_of(code: str) -> str | None:
    """The Markdown of a finding's page, or None when the catalogue has none (or is not installed)."""
    try:
        from f64doctor.catalogue import page
    except ImportError:
        return None
    try:
        return str(page(code))
    except (KeyError, OSError, ValueError):
        return None


class WhyScreen(DoctorScreen):
    """One page at a time; with several findings, the next and the previous one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,w", "app.leave_screen", "back to the step", key_display="Esc"),
        Binding("n,right", "move(1)", "next finding", key_display="n"),
        Binding("p,left", "move(-1)", "previous", key_display="p"),
    ]

    def __init__(self, signs: Signs, titles: Mapping[str, str]) -> None:
        super().__init__(signs)
        self._titles = titles
        self._codes = list(titles)
        self._position = 0

    def header_facts(self) -> tuple[str, Sequence[str]]:
        """Which finding of how many."""
        count = f"{self._position + 1} of {len(self._codes)}" if len(self._codes) > 1 else ""
        return f"why {self._codes[self._position]}", [count]

    def text(self, width: int) -> Sequence[Content]:
        """The page of the finding."""
        code = self._codes[self._position]
        markdown = page_of(code)
        width = min(width, WIDEST)
        head = wrap(plain(f"{code}  {self._titles[code]}", self.signs, "bold"), width, rest=" " * (len(code) + 2))
        if markdown is None:
            missing = plain(f"The catalogue has no page about {code}.", self.signs)
            return [*head, Content(""), *wrap(missing, width)]
        return [*head, Content(""), *catalogue_lines(markdown, width, self.signs)]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is somewhere to move with several findings only."""
        return len(self._codes) > 1 if action == "move" else True

    def action_move(self, by: int) -> None:
        """Shows the next or the previous finding's page."""
        self._position = min(max(self._position + by, 0), len(self._codes) - 1)
        self.redraw(from_top=True)
