"""The parts that the screens share: header line, line of keys, list of steps, runs, and the sheet of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.scrollbar import ScrollBarRender
from textual.widget import Widget
from textual.widgets import Static

from f64doctor.report import Environment
from f64doctor.tui.course import STEPS, Course
from f64doctor.tui.signs import RUNNING, Signs
from f64doctor.tui.step_pages import run_lines, run_on_one_line, side_word
from f64doctor.tui.typeset import clean_line, crop, crop_left

# Left and right margin of the header and of the line of keys.
_MARGIN = 1


class AsciiScrollBarRender(ScrollBarRender):
    """A scrollbar whose ends are whole cells: without eighth blocks."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


class Drawn(Widget):
    """A widget of prepared lines that redraws only when they differ from what is on the screen."""

    ALLOW_SELECT = False

    def __init__(self, signs: Signs, identity: str) -> None:
        super().__init__(id=identity)
        self.signs = signs
        self._drawn = Content("")

    def lines(self, width: int, height: int) -> Sequence[Content]:
        """The lines to show in that many cells; each widget has its own."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Shows the present lines, at no cost when nothing changed."""
        width, height = self.size
        drawn = Content("\n").join(list(self.lines(width, height))[: max(height, 0)]) if width > 0 else Content("")
        if not drawn.is_same(self._drawn):
            self._drawn = drawn
            self.refresh()

    def render(self) -> Content:
        """The prepared lines."""
        return self._drawn

    def on_resize(self, _event: events.Resize) -> None:
        """Prepares the lines for the new size."""
        self.redraw()


class HeaderLine(Drawn):
    """One line at the top: the tool, what is examined, the versions and the time; what does not fit is left out."""

    def __init__(self, signs: Signs, facts: Callable[[], tuple[str, Sequence[str]]]) -> None:
        super().__init__(signs, "header")
        self._facts = facts

    def lines(self, width: int, height: int) -> Sequence[Content]:
        """The single line. Facts at the right go first to last by importance: the first are dropped first."""
        target, facts = self._facts()
        facts = [clean_line(fact, self.signs) for fact in facts if fact]
        name = "f64doctor"
        target = clean_line(target, self.signs)
        between = f" {self.signs.dot} "
        room = width - 2 * _MARGIN - len(name) - 3
        while len(facts) > 1 and len(between.join(facts)) + min(len(target), 24) + 3 > room:
            facts.pop(0)
        right = between.join(facts)
        shown_target = crop_left(target, max(room - len(right) - 3, 0), self.signs)
        left = Content.assemble(" " * _MARGIN, (name, self.signs.label), "   ", (shown_target, "bold"))
        padding = max(width - left.cell_length - len(right) - _MARGIN, 1)
        return [left + Content(" " * padding) + Content.styled(right, self.signs.muted)]


def environment_facts(environment: Environment) -> list[str]:
    """Versions and devices for the header, the least important first."""
    facts = []
    if environment.tensorflow:
        facts.append(f"TF {_short_version(environment.tensorflow)}")
    if environment.keras:
        facts.append(f"Keras {_short_version(environment.keras)}")
    gpus = [device for device in environment.devices if "GPU" in device.upper()]
    if gpus:
        facts.append("GPU" if len(gpus) == 1 else f"{len(gpus)} GPUs")
    elif environment.devices:
        facts.append("CPU")
    elif environment.gpus:
        facts.append("GPU" if len(environment.gpus) == 1 else f"{len(environment.gpus)} GPUs")
    return facts


def _short_version(version: str) -> str:
    return ".".join(version.split(".")[:2])


class KeyLine(Drawn):
    """One line at the bottom: the keys that do something now, to press or to click; rare ones go when it is narrow."""

    _FIRST_TO_STAY = ("q", "escape", "question_mark", "enter", "n", "w", "r", "p", "l", "1")

    def __init__(self, signs: Signs) -> None:
        super().__init__(signs, "keys")
        self._places: list[tuple[int, int, str]] = []

    def on_mount(self) -> None:
        """Follows the screen's bindings."""
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def _bindings_changed(self, _screen: Screen[object]) -> None:
        if self.is_attached and self.size.width:
            self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Content]:
        """The single line, and where each key stands on it."""
        # Several keys may do the same; the first stands for all.
        first_keys = {
            active.binding.action: active.binding
            for active in reversed(self.screen.active_bindings.values())
            if active.binding.show and active.enabled
        }
        entries = [
            (binding.key, self.app.get_key_display(binding), binding.description)
            for binding in reversed(first_keys.values())
        ]
        order = {key: number for number, key in enumerate(self._FIRST_TO_STAY)}
        entries.sort(key=lambda entry: (entry[0] in ("question_mark", "q"), entry[0] == "q"))
        while entries and sum(len(key) + len(word) + 3 for _, key, word in entries) - 2 > width - 2 * _MARGIN:
            entries.remove(max(entries, key=lambda entry: order.get(entry[0], len(order))))
        line = Content(" " * _MARGIN)
        self._places = []
        for key, shown, word in entries:
            start = line.cell_length
            line += Content.assemble((shown, self.signs.label), " ", (word, self.signs.muted))
            self._places.append((start, line.cell_length, key))
            line += Content("  ")
        return [line.rstrip()]

    def on_click(self, event: events.Click) -> None:
        """Presses the key that was clicked."""
        for start, end, key in self._places:
            if start <= event.x < end:
                self.app.simulate_key(key)


class StepList(Drawn):
    """The five checks and the verdict, each with its state as sign and word; in a wide, low place three in a row."""

    class Chosen(Message):
        """A step was clicked."""

        def __init__(self, step: str) -> None:
            super().__init__()
            self.step = step

    def __init__(self, signs: Signs, course: Callable[[], Course], selected: Callable[[], str]) -> None:
        super().__init__(signs, "steps")
        self._course = course
        self._selected = selected

    @property
    def in_rows(self) -> bool:
        """Whether the steps stand three in a row."""
        return self.size.width >= 40

    def lines(self, width: int, height: int) -> Sequence[Content]:
        """One step a line and a blank line before the verdict, or two lines of three."""
        if self.in_rows:
            cell = width // 3
            widths = (cell, cell, width - 2 * cell)
            entries = [self._entry(number, step, widths[number % 3], 6) for number, step in enumerate(STEPS)]
            padded = [entry + Content(" " * (cell - entry.cell_length)) for entry in entries]
            return [Content("").join(padded[:3]), Content("").join(padded[3:])]
        entries = [self._entry(number, step, width, 7) for number, step in enumerate(STEPS)]
        return [*entries[:-1], Content(""), entries[-1]]

    def _entry(self, number: int, step: str, width: int, width_of_name: int) -> Content:
        signs = self.signs
        state = self._course().state_of(step)
        is_selected = step == self._selected()
        name = f"{number + 1} {step:<{width_of_name}} "
        after_pointer = "" if self.in_rows else " "
        word = side_word(state, width - len(name) - len(after_pointer) - 3)
        entry = Content.assemble(
            (signs.pointer if is_selected else " ", signs.accent),
            after_pointer,
            (name, "bold" if is_selected else ""),
            (f"{signs.of_state(state)} {clean_line(word, signs)}", signs.style_of_state(state)),
        )
        return crop(entry, width, signs)

    def on_click(self, event: events.Click) -> None:
        """Chooses the step that was clicked."""
        if self.in_rows:
            number = event.y * 3 + min(event.x // max(self.size.width // 3, 1), 2)
        else:
            number = event.y if event.y < 5 else 5
        if 0 <= number < len(STEPS):
            self.post_message(self.Chosen(STEPS[number]))


class RunList(Drawn):
    """The runs and where each stands, in as much detail as there is room for."""

    def __init__(self, signs: Signs, course: Callable[[], Course]) -> None:
        super().__init__(signs, "runs")
        self._course = course

    def lines(self, width: int, height: int) -> Sequence[Content]:
        """All runs in full; else the running ones in full and the others on a line each; else one line."""
        runs = list(self._course().runs.values())
        if not runs or height < 1:
            return []
        running = [run for run in runs if run.state == RUNNING]
        over = [run for run in runs if run.report is not None]
        current = (running or over or runs)[-1]
        if height < 3:
            return [run_on_one_line(current, width, self.signs)]
        full = [run_lines(run, width, self.signs) for run in runs]
        for detailed in ([True] * len(runs), [run is current for run in runs]):
            lines = [
                line for of_run, whole in zip(full, detailed, strict=True) for line in (of_run if whole else of_run[:1])
            ]
            if len(lines) <= height:
                break
        return lines


class Sheet(VerticalScroll, can_focus=False):
    """Scrolling text that is set anew for the width it has; the keys of the screen scroll it."""

    def __init__(self, signs: Signs, text: Callable[[int], Sequence[Content]]) -> None:
        super().__init__(id="page")
        self.signs = signs
        self._text = text
        self._body = Static(Content(""), markup=False, classes="body")
        self._shown = Content("")

    def on_mount(self) -> None:
        """Chooses the scrollbar that the terminal can show."""
        if self.signs.ascii_only:
            self.vertical_scrollbar.renderer = AsciiScrollBarRender  # type: ignore[misc]

    def compose(self) -> ComposeResult:
        """The text."""
        yield self._body

    @property
    def text(self) -> str:
        """What is shown, without styles."""
        return self._shown.plain

    def redraw(self, *, from_top: bool = False) -> None:
        """Sets the text anew, at no cost when it is what is shown; ``from_top`` scrolls to its beginning."""
        # One cell stays free between the text and the scrollbar.
        width = self.scrollable_content_region.width - 1
        if width > 0:
            shown = Content("\n").join(self._text(width))
            if not shown.is_same(self._shown):
                self._shown = shown
                self._body.update(shown)
        if from_top:
            self.scroll_home(animate=False)

    def on_resize(self, _event: events.Resize) -> None:
        """Sets the text for the new width."""
        self.redraw()
