"""The first screen: what will be run, how often, within which bounds, and what will not be done."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from f64doctor.progress import Planned
from f64doctor.tui.screens import DoctorScreen
from f64doctor.tui.signs import Signs
from f64doctor.tui.typeset import grid, plain, wrap

_WIDEST = 76


def intake_lines(plan: Planned, width: int, signs: Signs) -> list[Content]:
    """The plan in words, each line at most ``width`` cells."""
    width = min(width, _WIDEST)
    count = len(plan.runs)
    runs = f"{count} run{'' if count == 1 else 's'}, each in a process of its own"
    steps = "every fit to its end" if plan.steps is None else f"at most {plan.steps} steps of each fit"
    if plan.steps == 1:
        steps = "at most 1 step of each fit"
    facts: list[tuple[str, str | list[str]]] = [
        ("target", f"{plan.target.path} ({plan.target.kind})"),
        ("arguments", shlex.join(plan.target.args) or "none"),
        ("interpreter", plan.interpreter or "unknown"),
        ("how often", [runs, ", ".join(plan.runs)] if plan.runs else ["never: the source is only read"]),
        ("bounds", [steps, f"at most {plan.time_limit:g} seconds a run"]),
        (
            "it will not",
            ["train further than these bounds", "change a line of your code", "send anything of its own anywhere"],
        ),
    ]
    lines = [
        *wrap(Content.styled("Is it double precision, and if not: where is it lost?", "bold"), width),
        Content(""),
    ]
    rows: list[list[Content]] = []
    for name, value in facts:
        for number, line in enumerate([value] if isinstance(value, str) else value):
            rows.append([Content.styled("" if number else name, signs.muted), plain(line, signs)])
        if name not in ("target", "arguments"):
            rows.append([Content(" "), Content("")])
    lines += grid(rows, width, signs, gap=3, most_lines=4)
    note = "Your script runs as it is; what it writes, deletes and sends is held back, what it downloads is not."
    if plan.allow_writes:
        note = "Your script runs as it is: what it writes, deletes and sends is real, as asked with --allow-writes."
    lines += wrap(Content.styled(note, signs.muted), width)
    prompt = Content.assemble(("Enter", signs.label), " starts the checkup")
    return [*lines, Content(""), *wrap(prompt, width)]


class IntakeScreen(DoctorScreen):
    """Waits for a yes."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "app.begin", "start", key_display="Enter")]

    def __init__(self, signs: Signs, plan: Planned) -> None:
        super().__init__(signs)
        self._plan = plan

    def header_facts(self) -> tuple[str, Sequence[str]]:
        """The target alone: nothing else is known yet."""
        return self._plan.target.path, ()

    def text(self, width: int) -> Sequence[Content]:
        """The plan."""
        return intake_lines(self._plan, width, self.signs)
