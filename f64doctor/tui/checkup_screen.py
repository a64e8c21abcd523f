"""The main screen: the steps and runs at the left, the selected step at the right, live while the checkup goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content

from f64doctor.tui.course import STEPS, VERDICT, Course
from f64doctor.tui.screens import DoctorScreen
from f64doctor.tui.signs import Signs
from f64doctor.tui.step_pages import step_page
from f64doctor.tui.widgets import KeyLine, RunList, StepList, environment_facts


class CheckupScreen(DoctorScreen):
    """Shows a course; which step is selected is the only thing that it decides itself."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n,right", "move(1)", "next", key_display="n", tooltip="Next step"),
        Binding("p,left", "move(-1)", "back", key_display="p", tooltip="Previous step"),
        Binding("1", "go(0)", "go", key_display="1-6", tooltip="Go to inputs"),
        *(
            Binding(str(number + 1), f"go({number})", f"Go to {step}", show=False)
            for number, step in enumerate(STEPS)
            if number
        ),
        Binding("w", "app.why", "why", tooltip="Why: the page of the catalogue about the finding"),
        Binding("l", "app.log", "log", tooltip="Log of the run"),
        Binding("r", "app.rerun", "rerun", tooltip="Rerun the checkup"),
    ]

    def __init__(self, signs: Signs, course: Callable[[], Course], time: Callable[[], str]) -> None:
        super().__init__(signs)
        self._course = course
        self._time = time
        self.selected = STEPS[0]
        self.has_navigated = False
        self._steps = StepList(signs, course, lambda: self.selected)
        self._runs = RunList(signs, course)

    def compose(self) -> ComposeResult:
        """Header, the two sides, keys."""
        yield self.header
        with Horizontal(id="sides"):
            with Vertical(id="left"):
                yield self._steps
                yield self._runs
            yield self.sheet
        yield KeyLine(self.signs)

    def on_mount(self) -> None:
        """Shows what is known already: a finished report is there from the start."""
        self.redraw()

    def header_facts(self) -> tuple[str, Sequence[str]]:
        """The target; versions, device and time."""
        course = self._course()
        return course.plan.target.path, [*environment_facts(course.environment), self._time()]

    def text(self, width: int) -> Sequence[Content]:
        """The page of the selected step."""
        return step_page(self._course(), self.selected, width, self.signs)

    def redraw(self, *, from_top: bool = False) -> None:
        """Shows the present course, and jumps to what failed unless the user went somewhere himself."""
        if not self.has_navigated:
            from_top = self._jump() or from_top
        super().redraw(from_top=from_top)
        self._steps.redraw()
        self._runs.redraw()

    def _jump(self) -> bool:
        course = self._course()
        failed = course.first_failed()
        goal = failed or (VERDICT if course.report is not None or course.trouble else self.selected)
        has_moved = goal != self.selected
        self.selected = goal
        return has_moved

    def tick(self) -> None:
        """A second went by: only the header tells the time."""
        self.header.redraw()

    def go_to(self, step: str) -> None:
        """Selects a step on the user's behalf."""
        self.has_navigated = True
        self.selected = step
        self.redraw(from_top=True)
        self.refresh_bindings()

    def action_move(self, by: int) -> None:
        """Selects the next or the previous step; the ends are ends."""
        self.go_to(STEPS[min(max(STEPS.index(self.selected) + by, 0), len(STEPS) - 1)])

    def action_go(self, number: int) -> None:
        """Selects a step by its number, from 0."""
        self.go_to(STEPS[number])

    @on(StepList.Chosen)
    def _choose(self, event: StepList.Chosen) -> None:
        self.go_to(event.step)
