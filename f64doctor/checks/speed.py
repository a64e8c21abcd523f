"""Tells how fast the cards compute float64, and what they did while the runs went on."""

from __future__ import annotations

from f64doctor.amounts import bytes_in_words
from f64doctor.checks.intent import wish_of
from f64doctor.checks.scene import Scene
from f64doctor.report import Finding, Grade, Measure, Remedy, Severity, Table

NAME = "device"


def rate_of(scene: Scene) -> Finding | None:
    """How much slower float64 is than float32 on the first card that says so."""
    for gpu in scene.gpus:
        card = scene.card(gpu.index)
        if card is None or card.rate is None:
            continue
        measure = Measure(
            "float32 to float64 rate",
            float(card.rate),
            "times",
            f"{gpu.name}: float64 at 1/{card.rate} ({card.rate_source})",
        )
        if card.rate <= 3 or not wish_of(scene.observations).intended:
            return None
        return Finding(
            code="F319",
            check=NAME,
            title="the card computes float64 at a small fraction of its float32 rate",
            severity=Severity.INFO,
            grade=Grade.INFERRED,
            summary=f"{gpu.name} does float64 at 1/{card.rate} of its float32 rate: matrix products slow down up to {card.rate} times,"
            " what waits for memory twice.",
            evidence=[measure],
            remedies=[
                Remedy(
                    "for long runs in float64 use a card with full float64 units (compute capability 6.0, 7.0, 8.0, 9.0 or 10.0), or the CPU",
                    why="Those have a rate of 1/2 (P100, V100, A100, H100, B200).",
                )
            ],
        )
    return None


def rates(scene: Scene) -> Table | None:
    """The float64 rate of each card, for the evidence of the check."""
    rows = [
        [gpu.name, gpu.compute_capability or "?", f"1/{card.rate}", card.rate_source]
        for gpu in scene.gpus
        if (card := scene.card(gpu.index)) is not None and card.rate
    ]
    return Table("float64 rate", ["card", "compute capability", "of float32", "says"], rows) if rows else None


def card_use(scene: Scene) -> Table | None:
    """What each card did in each run, for the evidence of the check."""
    names = {gpu.index: gpu.name for gpu in scene.gpus}
    rows = [
        [
            run.name,
            names.get(use.index, str(use.index)),
            "?" if use.busy is None else f"{use.busy:.0f} %",
            "?" if use.memory_peak is None else bytes_in_words(use.memory_peak),
            "?" if use.clock_mhz is None else f"{use.clock_mhz:.0f} MHz",
            "?" if use.watts is None else f"{use.watts:.0f} W",
        ]
        for run in scene.observations.runs
        for use in run.cards
    ]
    return Table("the card meanwhile", ["run", "card", "busy", "memory peak", "clock", "power"], rows) if rows else None
