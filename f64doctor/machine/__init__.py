"""What this machine has: cards as the driver describes them, and memory as a process may use it."""

from __future__ import annotations

import platform

from f64doctor.machine.cards import read_cards
from f64doctor.machine.drivers import read_missing_libraries
from f64doctor.machine.gpus import read_gpus
from f64doctor.machine.memory import read_memory, read_oom_kills
from f64doctor.machine.watching import watched
from f64doctor.observe import Machine

__all__ = [
    "read_cards",
    "read_gpus",
    "read_machine",
    "read_memory",
    "read_missing_libraries",
    "read_oom_kills",
    "watched",
]


def read_machine(nvml_seconds: float = 3.0) -> Machine:
    """The cards, the memory and the platform of this machine. ``nvml_seconds`` bounds the wait for the driver, which can hang."""
    gpus, trouble = read_gpus(nvml_seconds)
    cards, cuda_version = read_cards(gpus, nvml_seconds)
    return Machine(
        gpus=gpus,
        nvml=trouble,
        memory=read_memory(),
        platform=platform.platform(),
        oom_kills=read_oom_kills(),
        cards=cards,
        cuda_version=cuda_version,
    )
