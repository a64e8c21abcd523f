"""What every screen of the wizard has: header, sheet of text, line of keys, and the keys that scroll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen

from f64doctor.tui.signs import Signs
from f64doctor.tui.widgets import HeaderLine, KeyLine, Sheet

SCROLL_BINDINGS: list[BindingType] = [
    Binding("up,k", "scroll('up')", "Scroll up", show=False),
    Binding("down,j", "scroll('down')", "Scroll down", show=False),
    Binding("pageup,b", "scroll('page_up')", "Page up", show=False),
    Binding("pagedown,space", "scroll('page_down')", "Page down", show=False),
    Binding("home,g", "scroll('home')", "To the top", show=False),
    Binding("end,G", "scroll('end')", "To the end", show=False),
]


class DoctorScreen(Screen[None]):
    """A screen whose text is one sheet."""

    BINDINGS: ClassVar[list[BindingType]] = SCROLL_BINDINGS
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (72, "-normal"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high")]

    def __init__(self, signs: Signs) -> None:
        super().__init__()
        self.signs = signs
        self.sheet = Sheet(signs, self.text)
        self.header = HeaderLine(signs, self.header_facts)
        if signs.ascii_only:
            self.add_class("-ascii")

    def compose(self) -> ComposeResult:
        """Header, sheet, keys."""
        yield self.header
        yield self.sheet
        yield KeyLine(self.signs)

    def header_facts(self) -> tuple[str, Sequence[str]]:
        """What stands at the left and at the right of the header."""
        return "", ()

    def text(self, width: int) -> Sequence[Content]:
        """The lines of the sheet."""
        raise NotImplementedError

    def redraw(self, *, from_top: bool = False) -> None:
        """Shows what is so now."""
        self.header.redraw()
        self.sheet.redraw(from_top=from_top)

    def action_scroll(self, to: str) -> None:
        """Scrolls the sheet; without animation, which would cost a redraw a frame over SSH."""
        moves = {
            "up": self.sheet.scroll_up,
            "down": self.sheet.scroll_down,
            "page_up": self.sheet.scroll_page_up,
            "page_down": self.sheet.scroll_page_down,
            "home": self.sheet.scroll_home,
            "end": self.sheet.scroll_end,
        }
        moves[to](animate=False)
