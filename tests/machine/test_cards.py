"""What decides about float64 on a card is read from the driver, from NVML and from a table, each of which may fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from f64doctor.machine.cards import read_cards
from f64doctor.machine.drivers import ask, major, rate_of, rate_table, read_missing_libraries
from f64doctor.observe.facts import Card, CardProcess
from f64doctor.report import Gpu
from tests.fakes.building import driver_libraries

GIB = 2**30
L4 = Gpu(0, "NVIDIA L4", 24 * GIB, 23 * GIB, "8.9", "550.54.14")


class Nvml:
    """A driver that answers, or raises, what each test wants."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def __getattr__(self, name: str) -> Any:
        if name not in self.answers:
            raise AttributeError(name)

        def answer(*_: Any) -> Any:
            value = self.answers[name]
            if isinstance(value, Exception):
                raise value
            return value

        return answer


def nvml(**answers: Any) -> Nvml:
    basics = {"nvmlInit": None, "nvmlShutdown": None, "nvmlDeviceGetHandleByIndex": 0}
    return Nvml(**{**basics, **answers})


def test_without_a_card_nobody_is_asked() -> None:
    def never() -> Any:
        raise AssertionError

    assert read_cards([], load=never, ask=never) == ([], None)


def test_the_drivers_own_rate_comes_before_the_table() -> None:
    driver = {"cards": [{"name": "NVIDIA L4", "capability": [8, 9], "rate": 32}], "cuda_version": "12.4"}
    cards, version = read_cards([L4], load=lambda: nvml(), ask=lambda: driver)
    assert cards == [Card(0, rate=32, rate_source="the driver (attribute 87)")]
    assert version == "12.4"


def test_where_the_driver_does_not_say_the_table_does_with_its_source() -> None:
    cards, _ = read_cards([L4], load=lambda: nvml(), ask=lambda: {"trouble": "cuInit answers 999"})
    assert cards[0].rate == 64
    assert "CUDA C++ Programming Guide" in cards[0].rate_source


def test_an_unknown_card_has_an_unknown_rate() -> None:
    unknown = Gpu(0, "NVIDIA of tomorrow", compute_capability="99.0")
    assert read_cards([unknown], load=lambda: nvml(), ask=dict) == ([Card(0)], None)


def test_slices_modes_and_processes_are_told() -> None:
    answers = nvml(
        nvmlDeviceGetMigMode=(1, 1),
        nvmlDeviceGetComputeMode=3,
        nvmlDeviceGetComputeRunningProcesses=[SimpleNamespace(pid=2**30, usedGpuMemory=22 * GIB)],
        nvmlSystemGetCudaDriverVersion_v2=12040,
    )
    cards, version = read_cards([L4], load=lambda: answers, ask=dict)
    assert (cards[0].mig, cards[0].compute_mode) == (True, "exclusive process")
    assert cards[0].processes == [CardProcess(2**30, 22 * GIB)]
    assert version == "12.4"


@pytest.mark.parametrize(
    "broken",
    [
        {"nvmlInit": RuntimeError("gone")},
        {"nvmlDeviceGetHandleByIndex": RuntimeError("GPU is lost")},
        {"nvmlDeviceGetMigMode": RuntimeError("not supported"), "nvmlDeviceGetComputeMode": RuntimeError("no")},
        {"nvmlDeviceGetMigMode": "nonsense", "nvmlDeviceGetComputeMode": "nonsense"},
        {"nvmlDeviceGetComputeRunningProcesses": [object()]},
    ],
)
def test_a_management_library_that_lies_or_fails_half_way_is_survived(broken: dict[str, Any]) -> None:
    cards, _ = read_cards([L4], load=lambda: nvml(**broken), ask=dict)
    assert [(card.index, card.rate) for card in cards] == [(0, 64)]


def test_a_process_that_hides_its_memory_is_told_without_it() -> None:
    answers = nvml(nvmlDeviceGetComputeRunningProcesses=[SimpleNamespace(pid=2**30, usedGpuMemory=None)])
    assert read_cards([L4], load=lambda: answers, ask=dict)[0][0].processes == [CardProcess(2**30)]


@pytest.mark.parametrize(
    ("capability", "rate"), [("6.0", 2), ("6.1", 32), ("8.0", 2), ("8.9", 64), ("9.0", 2), ("12.0", 64), (None, None)]
)
def test_the_table_knows_the_generations(capability: str | None, rate: int | None) -> None:
    assert rate_of(capability) == rate


def test_the_table_names_its_source() -> None:
    assert rate_table()["address"].startswith("https://docs.nvidia.com/")


@pytest.mark.parametrize(("version", "first"), [("12.5.1", "12"), ("9", "9"), (None, ""), ("unknown", "")])
def test_the_major_version_is_the_first_number(version: str | None, first: str) -> None:
    assert major(version) == first


def test_a_question_that_crashes_its_process_is_an_answer() -> None:
    assert "trouble" in ask("no_such_script.py")
    assert "trouble" in ask("ask_driver.py", interpreter="/no/such/python")


def test_libraries_of_no_known_cuda_are_not_asked_for() -> None:
    assert set(read_missing_libraries(sys.executable, "99.0", None)) <= {"libcuda.so.1"}


# -- with libraries that behave like NVIDIA's


def machine(libraries: Path, **variables: str) -> dict[str, Any]:
    """What a fresh doctor reads of this machine with these libraries."""
    code = "import msgspec; from f64doctor.machine import read_machine; print(msgspec.json.encode(read_machine()).decode())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LD_LIBRARY_PATH": str(libraries), "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return driver_libraries(tmp_path_factory.mktemp("nvidia"))


def test_a_card_is_read_through_the_real_bindings(libraries: Path) -> None:
    told = machine(libraries)
    assert told["gpus"][0]["name"] == "NVIDIA GeForce RTX 4090"
    assert told["cards"][0]["rate"] == 64
    assert told["cards"][0]["rate_source"] == "the driver (attribute 87)"
    assert told["cuda_version"] == "12.4"


def test_a_busy_card_in_slices_is_read_through_the_real_bindings(libraries: Path) -> None:
    card = machine(libraries, FAKE_BUSY="1", FAKE_MIG="1", FAKE_CMODE="3")["cards"][0]
    assert (card["mig"], card["compute_mode"]) == (True, "exclusive process")
    assert [(process["pid"], process["bytes"]) for process in card["processes"]] == [(4242, 22 * GIB)]


def test_a_driver_that_aborts_takes_its_own_process_down_and_no_other(libraries: Path) -> None:
    told = machine(libraries, FAKE_CRASH="1", FAKE_CC="9.0")
    assert told["cards"][0]["rate"] == 2
    assert "Programming Guide" in told["cards"][0]["rate_source"]


def test_a_driver_that_does_not_know_the_attribute_leaves_it_to_the_table(libraries: Path) -> None:
    assert "Programming Guide" in machine(libraries, FAKE_RATIO="0")["cards"][0]["rate_source"]


@pytest.mark.parametrize(("error", "words"), [("9", "not loaded"), ("18", "does not match the loaded module")])
def test_a_management_library_that_does_not_start_says_why(libraries: Path, error: str, words: str) -> None:
    told = machine(libraries, FAKE_NVML_FAIL=error)
    assert told["gpus"] == []
    assert words in told["nvml"]
