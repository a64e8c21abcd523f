"""The wizard itself: it runs a checkup as a worker, hands its news to the screens, and returns the report."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.worker import Worker, WorkerState

from f64doctor.progress import Finished, Planned, Progress
from f64doctor.report import Report
from f64doctor.tui.checkup_screen import CheckupScreen
from f64doctor.tui.course import Course
from f64doctor.tui.help_screen import HelpScreen
from f64doctor.tui.intake import IntakeScreen
from f64doctor.tui.log_screen import LogScreen
from f64doctor.tui.screens import DoctorScreen
from f64doctor.tui.signs import Signs, seconds_in_words
from f64doctor.tui.themes import COLOURLESS, DARK, LIGHT, THEMES
from f64doctor.tui.why_screen import WhyScreen

_TEXTUALS_OWN_ACTIONS = (
    "command_palette",
    "help_quit",
    "app.focus_next",
    "app.focus_previous",
    "screen.copy_text",
)


class DoctorApp(App[Report | None]):
    """Shows a checkup from its plan to its report. ``report`` is the last finished one."""

    CSS_PATH = "style.tcss"
    TITLE = "f64doctor"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "help", key_display="?", tooltip="Help: all keys"),
        Binding("q", "quit", "quit"),
        Binding("t", "change_colours", "Dark or light colours", show=False),
    ]

    def __init__(
        self,
        plan: Planned,
        start: Callable[[], AsyncIterator[Progress]] | None,
        *,
        confirm: bool = True,
        ascii_only: bool = False,
        no_mouse: bool = False,
    ) -> None:
        """``start`` begins a checkup and gives its news; without it (see ``of_report``) there is nothing to run."""
        # Textual chooses its filter for NO_COLOR here: grey for ordinary themes, no colour codes at all for ansi ones.
        has_colour = not os.environ.get("NO_COLOR")
        super().__init__(ansi_color=None if has_colour else True)
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = (DARK if has_colour else COLOURLESS).name
        self.signs = Signs(ascii_only=ascii_only, colour=has_colour)
        self.course = Course(plan)
        self.report: Report | None = None
        self._start = start
        self._confirm = confirm
        self._no_mouse = no_mouse
        self._began: float | None = None
        self._examination: Worker[None] | None = None
        self._clock: Timer | None = None
        self._checkup_screen = CheckupScreen(self.signs, lambda: self.course, self._time)
        self._is_leaving = False
        # Textual draws its palette with signs and borders that an ASCII terminal lacks.
        self.use_command_palette = not ascii_only

    @classmethod
    def of_report(cls, report: Report, *, ascii_only: bool = False, no_mouse: bool = False) -> DoctorApp:
        """The wizard on a report that is there already: it runs nothing."""
        course = Course.of_report(report)
        app = cls(course.plan, None, confirm=False, ascii_only=ascii_only, no_mouse=no_mouse)
        app.course = course
        app.report = report
        return app

    async def run_async(self, *, mouse: bool = True, **options: Any) -> Report | None:
        """As Textual's, but without the mouse when that was asked for."""
        return await super().run_async(mouse=mouse and not self._no_mouse, **options)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The wizard's own colour names, for themes that do not know them."""
        return dict(DARK.variables)

    @property
    def is_running_checkup(self) -> bool:
        """Whether a checkup goes on."""
        return self._examination is not None and not self._examination.is_finished

    def on_mount(self) -> None:
        """Opens the first screen."""
        self._clock = self.set_interval(1.0, self._checkup_screen.tick, pause=True)
        self.push_screen(self._checkup_screen)
        if self._start is None:
            self._show()
        elif self._confirm:
            self.push_screen(IntakeScreen(self.signs, self.course.plan))
        else:
            self._begin()

    def _time(self) -> str:
        if self._is_leaving and self.is_running_checkup:
            return "ending the runs"
        if self.course.report is not None:
            return seconds_in_words(self.course.report.seconds)
        if self._began is None:
            return ""
        return f"{monotonic() - self._began:.0f} s"

    def _show(self) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, DoctorScreen) and screen.is_mounted:
                screen.redraw()
        self.refresh_bindings()
        self.screen.refresh_bindings()

    def _begin(self) -> None:
        self.course = Course(self.course.plan)
        self._began = monotonic()
        self._examination = self.run_worker(self._examine(), name="checkup", exit_on_error=False)
        if self._clock is not None:
            self._clock.resume()
        self._show()

    async def _examine(self) -> None:
        assert self._start is not None
        news_of_checkup = self._start()
        try:
            async for news in news_of_checkup:
                self.course.take(news)
                if isinstance(news, Finished):
                    self.report = news.report
                self._show()
        except Exception as error:
            self.course.trouble = f"The checkup itself broke: {type(error).__name__}: {error}"
        finally:
            # Closing the iterator ends the child processes; an iterator that is exhausted does nothing here.
            close = getattr(news_of_checkup, "aclose", None)
            if close is not None:
                await close()
        if self.course.report is None and not self.course.trouble:
            self.course.trouble = "The checkup ended without a report."

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """The checkup is over, however it ended: the clock stops."""
        if event.worker is not self._examination or event.state in (WorkerState.PENDING, WorkerState.RUNNING):
            return
        if event.state is WorkerState.ERROR and not self.course.trouble:
            self.course.trouble = f"The checkup itself broke: {event.worker.error}"
        if self._clock is not None:
            self._clock.pause()
        if not self._is_leaving:
            self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What applies now; the line of keys and the command palette show nothing else."""
        screen = self.screen if self.screen_stack else None
        if action == "rerun":
            return self._start is not None and not self.is_running_checkup
        if action == "why":
            return bool(self._titles_shown())
        if action == "log":
            return bool(self.course.runs)
        if action == "help":
            return not isinstance(screen, HelpScreen)
        if action == "change_colours":
            return self.signs.colour
        return True

    def _titles_shown(self) -> dict[str, str]:
        findings = self.course.findings_shown_by(self._checkup_screen.selected)
        titles: dict[str, str] = {}
        for finding in findings:
            titles.setdefault(finding.code, finding.title)
        return titles

    def action_begin(self) -> None:
        """Leaves the intake and starts the checkup."""
        self.pop_screen()
        self._begin()

    def action_rerun(self) -> None:
        """Examines again, with the present state of the files."""
        if self._start is not None and not self.is_running_checkup:
            self._begin()

    def action_why(self) -> None:
        """Explains the findings of the selected step."""
        titles = self._titles_shown()
        if titles:
            self.push_screen(WhyScreen(self.signs, titles))

    def action_log(self) -> None:
        """Opens the log."""
        self.push_screen(LogScreen(self.signs, lambda: self.course))

    def action_help(self) -> None:
        """Lists every key."""
        self.push_screen(HelpScreen(self.signs))

    def action_leave_screen(self) -> None:
        """Back from log, why or help."""
        self.pop_screen()
        self._show()

    def action_change_colours(self) -> None:
        """Dark to light or back."""
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name

    async def action_quit(self) -> None:
        """Ends what still runs, then leaves; asked a second time it leaves at once."""
        if self._is_leaving or not self.is_running_checkup:
            self.exit(self.report)
            return
        self._is_leaving = True
        self._checkup_screen.tick()
        # A worker of its own, so that the screen stays alive while child processes take their time to end.
        self.run_worker(self._leave(), name="leave", group="leave", exit_on_error=False)

    async def _leave(self) -> None:
        examination = self._examination
        if examination is not None:
            examination.cancel()
            # Cancelled is what was asked for, and an error while ending must not keep the user here.
            with suppress(Exception):
                await examination.wait()
        self.exit(self.report)

    def action_help_quit(self) -> None:
        """Ctrl+C copies in a terminal application; says how to leave instead."""
        self.notify("Press q to quit", markup=False)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every action that applies on this screen, under its key."""
        seen: set[str] = set()
        for active in screen.active_bindings.values():
            binding = active.binding
            if not active.enabled or binding.action in seen or binding.action in _TEXTUALS_OWN_ACTIONS:
                continue
            seen.add(binding.action)
            what = binding.tooltip or binding.description[:1].upper() + binding.description[1:]
            run = partial(self.run_action, binding.action, default_namespace=active.node)
            # The line of keys shows 1-6 for all steps; here each has its own digit.
            key = binding.key if binding.key.isdigit() else self.get_key_display(binding)
            yield SystemCommand(what, f"key {key}", run)
