"""Cards are read through NVML, which may be missing, half broken, or hang."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from f64doctor.machine import gpus, read_machine
from f64doctor.machine.gpus import read_gpus
from f64doctor.report import Gpu

GIB = 2**30


class NVMLError_LibraryNotFound(Exception):
    """As pynvml names it."""


class NVMLError_DriverNotLoaded(Exception):
    """As pynvml names it."""


class NVMLError_LibRmVersionMismatch(Exception):
    """As pynvml names it."""


class Nvml:
    """A driver with these cards; a question in ``refused`` is answered by an exception."""

    def __init__(self, names: list[Any], refused: dict[str, Exception] | None = None) -> None:
        self.names = names
        self.refused = refused or {}
        self.was_shut_down = False

    def answer(self, question: str, value: Any) -> Any:
        if question in self.refused:
            raise self.refused[question]
        return value

    def nvmlInit(self) -> None:
        self.answer("init", None)

    def nvmlShutdown(self) -> None:
        self.was_shut_down = True

    def nvmlSystemGetDriverVersion(self) -> Any:
        return self.answer("driver", "550.54.14")

    def nvmlDeviceGetCount(self) -> Any:
        return self.answer("count", len(self.names))

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        self.answer(f"card {index}", None)
        return index

    def nvmlDeviceGetName(self, handle: int) -> Any:
        return self.answer("name", self.names[handle])

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return self.answer("memory", SimpleNamespace(total=24 * GIB, free=23 * GIB))

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> Any:
        return self.answer("capability", (8, 9))


RTX = Gpu(0, "RTX 4090", 24 * GIB, 23 * GIB, "8.9", "550.54.14")


def test_a_card_is_described_as_the_driver_tells_it() -> None:
    nvml = Nvml(["RTX 4090"])
    assert read_gpus(load=lambda: nvml) == ([RTX], "")
    assert nvml.was_shut_down


def test_names_may_be_bytes_as_older_versions_give_them() -> None:
    assert read_gpus(load=lambda: Nvml([b"RTX 4090"]))[0] == [RTX]


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        ("memory", Gpu(0, "RTX 4090", None, None, "8.9", "550.54.14")),
        ("capability", Gpu(0, "RTX 4090", 24 * GIB, 23 * GIB, None, "550.54.14")),
        ("driver", Gpu(0, "RTX 4090", 24 * GIB, 23 * GIB, "8.9", None)),
        ("name", Gpu(0, "unnamed GPU", 24 * GIB, 23 * GIB, "8.9", "550.54.14")),
    ],
)
def test_what_the_driver_refuses_is_unknown_and_the_rest_is_told(refused: str, expected: Gpu) -> None:
    nvml = Nvml(["RTX 4090"], {refused: RuntimeError("insufficient permissions")})
    assert read_gpus(load=lambda: nvml) == ([expected], "")


def test_a_card_that_does_not_answer_is_named_and_the_others_are_told() -> None:
    cards, trouble = read_gpus(load=lambda: Nvml(["RTX 4090", "lost"], {"card 1": RuntimeError("GPU is lost")}))
    assert cards == [RTX]
    assert trouble == "card 1: NVML: GPU is lost"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (NVMLError_LibraryNotFound(), "no NVIDIA driver here (libnvidia-ml.so.1 is not found)"),
        (NVMLError_DriverNotLoaded(), "the NVIDIA driver is installed but not loaded"),
        (
            NVMLError_LibRmVersionMismatch(),
            "the NVIDIA driver was updated and its library does not match the loaded module: restart the machine",
        ),
        (RuntimeError("Unknown Error"), "NVML: Unknown Error"),
    ],
)
def test_a_driver_that_does_not_start_says_why(error: Exception, sentence: str) -> None:
    assert read_gpus(load=lambda: Nvml([], {"init": error})) == ([], sentence)


def test_a_count_that_fails_is_told_and_the_driver_is_left_in_order() -> None:
    nvml = Nvml(["RTX 4090"], {"count": RuntimeError("Unknown Error")})
    assert read_gpus(load=lambda: nvml) == ([], "NVML: Unknown Error")
    assert nvml.was_shut_down


def test_a_missing_pynvml_is_told() -> None:
    def missing() -> Any:
        raise ImportError("No module named 'pynvml'")

    assert read_gpus(load=missing) == ([], "pynvml cannot be imported: No module named 'pynvml'")


def test_a_driver_that_hangs_does_not_hang_the_doctor() -> None:
    release = threading.Event()
    began = time.monotonic()
    try:
        assert read_gpus(0.05, load=lambda: release.wait(30)) == (
            [],
            "the NVIDIA driver did not answer within 0.05 s",
        )
        assert time.monotonic() - began < 5
        assert all(thread.daemon for thread in threading.enumerate() if thread.name == "nvml")
    finally:
        release.set()


def test_a_machine_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "import_pynvml", lambda: Nvml(["RTX 4090"]))
    machine = read_machine()
    assert machine.gpus == [RTX]
    assert machine.nvml == ""
    assert machine.platform
    assert machine.memory.total_bytes
