"""The vocabulary of facts: events that a probe sends, facts that need no run, and the fold of them all."""

from f64doctor.observe.events import AnyEvent, Event, Frame, Values
from f64doctor.observe.facts import Machine, Mention, Source, SourceFile
from f64doctor.observe.observations import Limits, Observations, Run, innermost

__all__ = [
    "AnyEvent",
    "Event",
    "Frame",
    "Limits",
    "Machine",
    "Mention",
    "Observations",
    "Run",
    "Source",
    "SourceFile",
    "Values",
    "innermost",
]
