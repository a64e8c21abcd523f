"""A card is watched while a run goes on, whatever its driver does meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from f64doctor.machine.watching import look, summary, watched
from f64doctor.observe.facts import CardUse

GIB = 2**30


class Nvml:
    """A card that is busier at each look; ``broken`` maps a question to what it answers instead."""

    def __init__(self, **broken: Any) -> None:
        self.broken = broken
        self.looks = 0
        self.shut_down = threading.Event()

    def answer(self, question: str, value: Any) -> Any:
        value = self.broken.get(question, value)
        if isinstance(value, Exception):
            raise value
        return value

    def nvmlInit(self) -> None:
        self.answer("init", None)

    def nvmlShutdown(self) -> None:
        self.shut_down.set()

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:
        self.looks += 1
        return self.answer("handle", index)

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        return SimpleNamespace(gpu=self.answer("busy", min(100, 10 * self.looks)))

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return SimpleNamespace(used=self.answer("memory", 2 * GIB))

    def nvmlDeviceGetClockInfo(self, handle: int, kind: int) -> Any:
        return self.answer("clock", 1410)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> Any:
        return self.answer("watts", 250_000)


def until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def test_one_look_tells_use_memory_clock_and_power() -> None:
    assert look(Nvml(), 0) == {"busy": 10.0, "memory": 2.0 * GIB, "clock": 1410.0, "watts": 250.0}


@pytest.mark.parametrize(
    ("broken", "missing"),
    [
        ({"busy": RuntimeError("not supported")}, "busy"),
        ({"busy": 4_294_967_295}, "busy"),
        ({"memory": -1}, "memory"),
        ({"clock": "nonsense"}, "clock"),
        ({"watts": float("nan")}, "watts"),
    ],
)
def test_an_answer_that_fails_or_cannot_be_is_left_out(broken: dict[str, Any], missing: str) -> None:
    assert set(look(Nvml(**broken), 0)) == {"busy", "memory", "clock", "watts"} - {missing}


def test_a_card_that_is_lost_gives_no_look() -> None:
    assert look(Nvml(handle=RuntimeError("GPU is lost")), 0) == {}


def test_a_run_is_told_in_medians_and_peaks() -> None:
    samples = [{"busy": busy, "memory": memory} for busy, memory in ((0.0, 1.0), (90.0, 5.0), (100.0, 3.0))]
    assert summary(0, samples) == CardUse(0, 3, busy=90.0, busiest=100.0, memory_peak=5)
    assert summary(0, []) is None


def test_watching_goes_on_while_the_block_runs_and_ends_with_it() -> None:
    nvml = Nvml()
    with watched(1, lambda: nvml, 0.005) as told:
        assert until(lambda: bool(told()) and told()[0].samples >= 3)
    assert told()[0].memory_peak == 2 * GIB
    assert nvml.shut_down.wait(5)


def test_without_a_card_nothing_is_started() -> None:
    def never() -> Any:
        raise AssertionError

    before = threading.active_count()
    with watched(0, never) as told:
        assert threading.active_count() == before
        assert told() == []


@pytest.mark.parametrize("broken", [{"init": RuntimeError("gone")}, {"handle": RuntimeError("GPU is lost")}])
def test_a_driver_that_fails_is_survived(broken: dict[str, Any]) -> None:
    nvml = Nvml(**broken)
    with watched(1, lambda: nvml, 0.005) as told:
        time.sleep(0.05)
        assert told() == []


def test_a_driver_that_hangs_holds_nobody_up() -> None:
    release = threading.Event()
    began = time.monotonic()
    try:
        with watched(1, lambda: release.wait(30)) as told:
            assert told() == []
        assert time.monotonic() - began < 5
    finally:
        release.set()
