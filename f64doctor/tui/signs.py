"""The signs, words and styles of states, in Unicode or ASCII: colour never carries meaning alone."""

from __future__ import annotations

from dataclasses import dataclass

from f64doctor.render.escape import in_ascii
from f64doctor.render.figures import levels
from f64doctor.report import Finding, Grade, Location, RunReport, Severity

WAITING = "waiting"
RUNNING = "running"

_STATE_SIGNS = {
    "passed": ("✓", "+"),
    "info": ("i", "i"),
    "warning": ("!", "!"),
    "failed": ("✗", "x"),
    "inconclusive": ("?", "?"),
    "skipped": ("–", "-"),
    "crashed": ("✗", "X"),
    WAITING: ("…", "."),
    RUNNING: ("…", "*"),
}

_STATE_STYLES = {
    "passed": "$success",
    "info": "$accent",
    "warning": "$warning",
    "failed": "bold $error",
    "inconclusive": "$warning",
    "skipped": "$muted",
    "crashed": "bold $error",
    WAITING: "$muted",
    RUNNING: "$accent",
}

_SEVERITY_STATES = {Severity.ERROR: "failed", Severity.WARNING: "warning", Severity.INFO: "info"}

GRADE_WORDS = {
    Grade.OBSERVED: "observed while running",
    Grade.INFERRED: "inferred from the source",
    Grade.SUSPECTED: "suspected: never ran",
}


@dataclass(frozen=True)
class Signs:
    """Which characters and text styles the terminal can show.

    ``ascii_only``: every character above U+007E is replaced. ``colour``: False where only bold and dim tell text apart.
    """

    ascii_only: bool = False
    colour: bool = True

    @property
    def muted(self) -> str:
        """The style of secondary text; without colours the terminal's own dim."""
        return "$muted" if self.colour else "dim"

    @property
    def accent(self) -> str:
        """The style of what the eye should meet first."""
        return "$accent" if self.colour else "bold"

    @property
    def label(self) -> str:
        """The style of section labels."""
        return "bold $accent" if self.colour else "bold"

    @property
    def ellipsis(self) -> str:
        """What stands for text that was cut."""
        return "..." if self.ascii_only else "…"

    @property
    def pointer(self) -> str:
        """What points to the selected step."""
        return ">" if self.ascii_only else "▸"

    @property
    def turning_point(self) -> str:
        """What marks the line or event that matters."""
        return ">" if self.ascii_only else "▶"

    @property
    def differs(self) -> str:
        """What marks a row in which runs differ."""
        return "!=" if self.ascii_only else "≠"

    @property
    def dot(self) -> str:
        """What stands between facts on one line."""
        return "-" if self.ascii_only else "·"

    @property
    def gutter(self) -> str:
        """What stands between line numbers and code."""
        return "|" if self.ascii_only else "│"

    def of_state(self, state: str) -> str:
        """The sign of a state; a state unheard of has the sign of what is unknown."""
        return _STATE_SIGNS.get(state, ("?", "?"))[1 if self.ascii_only else 0]

    def style_of_state(self, state: str) -> str:
        """The style of a state's sign and word."""
        style = _STATE_STYLES.get(state, "$warning")
        return style.replace("$muted", self.muted)

    def in_ascii(self, text: str) -> str:
        """``text`` as the terminal can show it: unchanged, or transliterated, other characters as backslash escapes."""
        return in_ascii(text) if self.ascii_only else text

    def sparkline(self, values: list[float], width: int) -> str:
        """The last ``width`` finite values as bars, lowest to highest; empty in ASCII and below two values."""
        finite = [value for value in values if abs(value) < float("inf")][-width:]
        if self.ascii_only or len(finite) < 2:
            return ""
        return levels(finite, min(finite), max(finite))


def state_of_finding(finding: Finding) -> str:
    """The state whose sign and style a finding wears."""
    return _SEVERITY_STATES[finding.severity]


def state_of_run(run: RunReport) -> str:
    """The state whose sign and style a finished run wears; its word is the outcome itself."""
    if run.outcome in ("completed", "stopped"):
        return "passed"
    return "skipped" if run.outcome == "unstarted" else "failed"


def place(location: Location | None) -> str:
    """``file:line``, or nothing when no line is known."""
    return f"{location.file}:{location.line}" if location is not None else ""


def seconds_in_words(seconds: float) -> str:
    """A duration as it is read at a glance: tenths below a minute, then minutes and seconds."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest:02d} s"
