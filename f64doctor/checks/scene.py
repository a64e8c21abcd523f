"""The facts about devices of one checkup, gathered once for all questions of the device check."""

from __future__ import annotations

import msgspec

from f64doctor.checks.parting import CPU_RUN, failed, worked
from f64doctor.checks.runtime_words import Said, what_was_said
from f64doctor.observe import Observations, Run, events
from f64doctor.observe.facts import Card
from f64doctor.report import Gpu


class Scene(msgspec.Struct, frozen=True):
    """What the questions look at, gathered once."""

    observations: Observations
    run: Run
    accelerators: list[str]
    said: list[Said]
    build: events.Build
    settings: events.DeviceSettings

    @property
    def gpus(self) -> list[Gpu]:
        """The cards that the driver shows."""
        return self.observations.machine.gpus

    @property
    def fails_here_only(self) -> bool:
        """Whether the script fails as it is and works without the accelerator."""
        return failed(self.run) and worked(self.observations.run(CPU_RUN))

    def card(self, index: int) -> Card | None:
        """The facts of one card."""
        return next((card for card in self.observations.machine.cards if card.index == index), None)


def scene_of(observations: Observations, run: Run, accelerators: list[str]) -> Scene:
    """The facts of one checkup, with empty ones where nothing was told."""
    return Scene(
        observations,
        run,
        accelerators,
        what_was_said(run),
        run.last(events.Build) or events.Build(),
        run.last(events.DeviceSettings) or events.DeviceSettings(),
    )
