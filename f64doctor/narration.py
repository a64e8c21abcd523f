"""Tells on stderr how a checkup goes on, so that stdout carries the report only."""

from __future__ import annotations

import contextlib
import shutil
from typing import TextIO

from f64doctor.amounts import bytes_in_words
from f64doctor.progress import (
    CheckJudged,
    CheckStarted,
    EnvironmentKnown,
    Planned,
    Progress,
    RunEnded,
    RunProgress,
    RunStarted,
)
from f64doctor.render.escape import in_ascii, log_lines, prose
from f64doctor.render.held_back import count_held_back
from f64doctor.render.layout import crop
from f64doctor.render.text import WORDS, describe_environment, duration, plural

HEARTBEAT = 10.0
"""Seconds of a run after which its progress is told again though nothing new happened."""

BREATH = 1.0
"""Seconds of a run between two lines about its steps."""


class Narrator:
    """Writes one line for each news, or, on a terminal, lines for what is settled and one line that is drawn over for what goes on.

    ``verbose`` adds the interpreter and the log of the script; ``quiet`` says nothing at all.
    """

    def __init__(
        self,
        stream: TextIO | None,
        *,
        live: bool = False,
        quiet: bool = False,
        verbose: bool = False,
        ascii_only: bool = False,
    ) -> None:
        self.stream = None if quiet else stream
        self.live = live
        self.verbose = verbose
        self.ascii_only = ascii_only
        self.is_line_open = False
        self.environment = ""
        self.told: RunProgress | None = None

    def tell(self, news: Progress) -> None:
        """Says what is new."""
        if self.stream is None:
            return
        if isinstance(news, RunProgress):
            self.tell_progress(news)
        elif isinstance(news, CheckStarted):
            self.draw(f"{news.name}: being judged")
        elif isinstance(news, Planned):
            self.tell_plan(news)
        elif isinstance(news, RunStarted):
            self.told = None
            self.say(f"run {news.name}: started" + (f" ({news.why})" if news.why else ""))
        elif isinstance(news, RunEnded):
            steps = f", {plural(len(news.run.steps), 'step')}" if news.run.steps else ""
            self.say(f"run {news.run.name}: {news.run.outcome} after {duration(news.run.seconds)}{steps}")
            if news.run.held_back:
                self.say(f"held back: {count_held_back(news.run.held_back)}")
        elif isinstance(news, EnvironmentKnown):
            words = describe_environment(news.environment)
            if words and words != self.environment:
                self.environment = words
                self.say(words)
        elif isinstance(news, CheckJudged):
            status = news.result.status
            # The report has the whole sentence; here one line must do.
            more = f" · {news.result.summary}" if self.verbose else ""
            self.say(f"{news.result.name}: {WORDS.get(status, status.value)}{more}")

    def tell_plan(self, plan: Planned) -> None:
        """Says what will be done and within which bounds."""
        if plan.runs:
            steps = "all steps" if plan.steps is None else plural(plan.steps, "step")
            bounds = f"{steps} of each fit, {plan.time_limit:g} s a run at most"
            self.say(f"{plan.target.path}: to run {', '.join(plan.runs)}; {bounds}")
            if plan.allow_writes:
                self.say("what it writes, deletes and sends is real, as asked with --allow-writes")
            else:
                self.say("what it writes, deletes and sends is held back; --allow-writes lets it through")
        if self.verbose and plan.interpreter:
            self.say(f"interpreter: {plan.interpreter}")

    def tell_progress(self, news: RunProgress) -> None:
        """Says where a run stands: always on the drawn line, as a line of its own when there is something new to say."""
        if self.verbose:
            for line in log_lines("\n".join(news.log)):
                self.say(f"| {line}")
        parts = [f"step {news.steps}" if news.steps else news.stage or "running"]
        if news.loss is not None:
            parts.append(f"loss {news.loss:.6g}")
        parts.append(duration(news.seconds))
        if news.resident_bytes is not None:
            parts.append(bytes_in_words(news.resident_bytes))
        line = f"run {news.name}: {', '.join(parts)}"
        if self.live:
            self.draw(line)
            return
        before = self.told
        waited = news.seconds - (before.seconds if before else 0.0)
        has_moved = (news.steps, news.stage) != ((before.steps, before.stage) if before else (0, ""))
        if (has_moved and (before is None or waited >= BREATH)) or waited >= HEARTBEAT:
            self.told = news
            self.say(line)

    def say(self, text: str) -> None:
        """A line that stays."""
        self.wipe()
        self.write(self.clean(text) + "\n")

    def draw(self, text: str) -> None:
        """A line that the next one draws over; nothing where lines cannot be drawn over."""
        if self.live:
            width = shutil.get_terminal_size().columns
            self.write("\r\x1b[K" + crop(self.clean(text), width - 1, "..."))
            self.is_line_open = True

    def wipe(self) -> None:
        """Takes the drawn line away; the last thing to do before anybody else writes."""
        if self.is_line_open:
            self.write("\r\x1b[K")
            self.is_line_open = False

    def clean(self, text: str) -> str:
        """Text that the terminal can show and that does nothing to it."""
        return in_ascii(prose(text)) if self.ascii_only else prose(text)

    def write(self, text: str) -> None:
        """Writes at once; a reader of stderr who has gone does not end the checkup."""
        if self.stream is None:
            return
        try:
            with contextlib.suppress(OSError, ValueError):
                self.stream.write(text)
                self.stream.flush()
        except UnicodeEncodeError:
            self.stream.write(in_ascii(text))
