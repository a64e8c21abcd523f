"""Watches the cards while a run goes on: how busy they are, their memory, clocks and power, through NVML in a thread of its own."""

from __future__ import annotations

import contextlib
import statistics
import threading
from collections.abc import Callable, Iterator
from typing import Any

from f64doctor.machine.gpus import answered, import_pynvml
from f64doctor.observe.facts import CardUse

SECONDS = 0.5
MOST_SAMPLES = 20_000
# NVML's numbers for the clock of the multiprocessors.
SM_CLOCK = 1

Sample = dict[str, float]


@contextlib.contextmanager
def watched(
    cards: int, load: Callable[[], Any] = import_pynvml, seconds: float = SECONDS
) -> Iterator[Callable[[], list[CardUse]]]:
    """Watch that many cards until the block ends; the function that it gives tells what was seen up to now.

    Without cards nothing is started. A driver that is missing, fails half-way, lies or hangs gives fewer samples and no error: the thread is a
    daemon, and nobody waits for it.
    """
    samples: list[list[Sample]] = [[] for _ in range(cards)]
    over = threading.Event()
    if cards:
        arguments = (load, samples, over, seconds)
        threading.Thread(target=_watch, args=arguments, name="nvml watch", daemon=True).start()
    try:
        yield lambda: [use for index, seen in enumerate(samples) if (use := summary(index, list(seen))) is not None]
    finally:
        over.set()


def summary(index: int, samples: list[Sample]) -> CardUse | None:
    """The samples of one card in a few numbers, or None when there are none."""
    if not samples:
        return None

    def median(name: str) -> float | None:
        values = [sample[name] for sample in samples if name in sample]
        return statistics.median(values) if values else None

    def most(name: str) -> float | None:
        return max((sample[name] for sample in samples if name in sample), default=None)

    memory = most("memory")
    return CardUse(
        index=index,
        samples=len(samples),
        busy=median("busy"),
        busiest=most("busy"),
        memory_peak=None if memory is None else int(memory),
        clock_mhz=median("clock"),
        watts=median("watts"),
    )


def _watch(load: Callable[[], Any], samples: list[list[Sample]], over: threading.Event, seconds: float) -> None:
    try:
        nvml = load()
        nvml.nvmlInit()
    except Exception:
        return
    try:
        while not over.is_set() and len(samples[0]) < MOST_SAMPLES:
            for index, seen in enumerate(samples):
                if sample := look(nvml, index):
                    seen.append(sample)
            over.wait(seconds)
    finally:
        with contextlib.suppress(Exception):
            nvml.nvmlShutdown()


def look(nvml: Any, index: int) -> Sample:
    """One look at one card: what the driver answers, within what can be."""
    handle = answered(lambda: nvml.nvmlDeviceGetHandleByIndex(index))
    if handle is None:
        return {}
    asked: dict[str, tuple[Callable[[], Any], float, float]] = {
        "busy": (lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu, 1.0, 100.0),
        "memory": (lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used, 1.0, 2.0**50),
        "clock": (lambda: nvml.nvmlDeviceGetClockInfo(handle, SM_CLOCK), 1.0, 1e5),
        "watts": (lambda: nvml.nvmlDeviceGetPowerUsage(handle), 1e-3, 1e4),
    }
    found: Sample = {}
    for name, (question, unit, most) in asked.items():
        with contextlib.suppress(Exception):
            value = float(question()) * unit
            if 0.0 <= value <= most:
                found[name] = value
    return found
