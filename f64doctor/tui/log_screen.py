"""The screen with the log of a run, live while the run goes on, bounded to its last lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Log

from f64doctor.tui.course import LONGEST_LOG, Course
from f64doctor.tui.screens import DoctorScreen
from f64doctor.tui.signs import RUNNING, Signs
from f64doctor.tui.typeset import clean_line
from f64doctor.tui.widgets import AsciiScrollBarRender, KeyLine


class LogScreen(DoctorScreen):
    """What the script wrote; starts with the run that goes on, or the last one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,l", "app.leave_screen", "back", key_display="Esc"),
        Binding("n", "move(1)", "next run"),
        Binding("p", "move(-1)", "previous run"),
        Binding("right", "sideways(8)", "Scroll right", show=False),
        Binding("left", "sideways(-8)", "Scroll left", show=False),
    ]

    def __init__(self, signs: Signs, course: Callable[[], Course]) -> None:
        super().__init__(signs)
        self._course = course
        runs = list(course().runs.values())
        running = [number for number, run in enumerate(runs) if run.state == RUNNING]
        logged = [number for number, run in enumerate(runs) if run.log]
        self._position = (running or logged or [0])[-1]
        self._shown_of = ("", 0)
        self._will_scroll = False
        self._log = Log(max_lines=LONGEST_LOG, id="log")
        self._log.can_focus = False

    @property
    def shown(self) -> Sequence[str]:
        """The lines that are shown."""
        return list(self._log.lines)

    def compose(self) -> ComposeResult:
        """Header, log, keys."""
        yield self.header
        yield self._log
        yield KeyLine(self.signs)

    def on_mount(self) -> None:
        """Shows what there is."""
        if self.signs.ascii_only:
            self._log.vertical_scrollbar.renderer = AsciiScrollBarRender  # type: ignore[misc]
            self._log.horizontal_scrollbar.renderer = AsciiScrollBarRender  # type: ignore[misc]
        self.redraw()

    def _run_name(self) -> str:
        names = list(self._course().runs)
        return names[min(self._position, len(names) - 1)] if names else ""

    def header_facts(self) -> tuple[str, Sequence[str]]:
        """Whose log it is, and how much of it."""
        runs = self._course().runs
        name = self._run_name()
        if not name:
            return "log", ["no run yet"]
        left_out = runs[name].log_lines - len(runs[name].log)
        return f"log of {name}", [f"first {left_out} lines left out" if left_out else "", runs[name].state]

    def text(self, width: int) -> Sequence[Content]:
        """Nothing: this screen has a log in place of a sheet."""
        return ()

    def redraw(self, *, from_top: bool = False) -> None:
        """Appends what is new; a log that was scrolled up stays where it is."""
        self.header.redraw()
        name = self._run_name()
        run = self._course().runs.get(name)
        if run is None:
            return
        shown_name, shown_count = self._shown_of
        if name != shown_name or run.log_lines < shown_count:
            self._log.clear()
            shown_count = 0
        new = min(run.log_lines - shown_count, len(run.log))
        if new:
            lines = list(run.log)[-new:]
            follows = self._will_scroll or not shown_count or self._log.is_vertical_scroll_end
            # The widget drops empty lines, and redraws too little once it has dropped old ones.
            self._log.write_lines([clean_line(line, self.signs) or " " for line in lines], scroll_end=False)
            self._log.refresh()
            if follows and not self._will_scroll:
                self._will_scroll = True
                self.call_after_refresh(self._to_the_end)
        self._shown_of = (name, run.log_lines)

    def _to_the_end(self) -> None:
        self._will_scroll = False
        self._log.scroll_end(animate=False, immediate=True, x_axis=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is somewhere to move with several runs only."""
        return len(self._course().runs) > 1 if action == "move" else True

    def action_move(self, by: int) -> None:
        """Shows the log of the next or the previous run."""
        self._position = min(max(self._position + by, 0), max(len(self._course().runs) - 1, 0))
        self.redraw()

    def action_sideways(self, by: int) -> None:
        """Moves along long lines."""
        self._log.scroll_relative(x=by, animate=False)

    def action_scroll(self, to: str) -> None:
        """Scrolls the log."""
        moves = {
            "up": self._log.scroll_up,
            "down": self._log.scroll_down,
            "page_up": self._log.scroll_page_up,
            "page_down": self._log.scroll_page_down,
            "home": self._log.scroll_home,
            "end": self._log.scroll_end,
        }
        moves[to](animate=False)
