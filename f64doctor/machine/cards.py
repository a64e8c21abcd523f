"""What decides about float64 on each card: its rate, slices, compute mode, and who else is on it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import Any

from f64doctor.machine.drivers import rate_of, rate_table, read_driver
from f64doctor.machine.gpus import answered, as_text, import_pynvml
from f64doctor.observe.facts import Card, CardProcess
from f64doctor.report import Gpu

MODES = {0: "default", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}


def read_cards(
    gpus: list[Gpu], seconds: float = 3.0, load: Callable[[], Any] | None = None, ask: Callable[[], Any] = read_driver
) -> tuple[list[Card], str | None]:
    """The facts of each card, and the newest CUDA that the driver supports. Asks nobody when there is no card."""
    if not gpus:
        return [], None
    found: dict[int, dict[str, Any]] = {}
    version: list[str] = []
    thread = threading.Thread(
        target=lambda: _ask_nvml(load or import_pynvml, gpus, found, version), name="nvml cards", daemon=True
    )
    thread.start()
    thread.join(seconds)
    driver = ask()
    rates = _driver_rates(gpus, driver)
    cards = []
    for gpu in gpus:
        rate, source = rates.get(gpu.index), "the driver (attribute 87)"
        if rate is None:
            rate, source = rate_of(gpu.compute_capability), str(rate_table()["source"])
        facts = dict(found.get(gpu.index, {}))
        cards.append(Card(index=gpu.index, rate=rate, rate_source=source if rate else "", **facts))
    return cards, version[0] if version else driver.get("cuda_version")


def _ask_nvml(load: Callable[[], Any], gpus: list[Gpu], found: dict[int, dict[str, Any]], version: list[str]) -> None:
    try:
        nvml = load()
        nvml.nvmlInit()
    except Exception:
        return
    try:
        number = answered(lambda: _cuda_version(nvml))
        if number:
            version.append(f"{int(number) // 1000}.{int(number) % 1000 // 10}")
        for gpu in gpus:
            with contextlib.suppress(Exception):
                found[gpu.index] = _card_facts(nvml, nvml.nvmlDeviceGetHandleByIndex(gpu.index))
    finally:
        with contextlib.suppress(Exception):
            nvml.nvmlShutdown()


def _card_facts(nvml: Any, handle: Any) -> dict[str, Any]:
    mig = answered(lambda: nvml.nvmlDeviceGetMigMode(handle))
    mode = answered(lambda: nvml.nvmlDeviceGetComputeMode(handle))
    processes = answered(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle)) or []
    return {
        "mig": bool(mig[0]) if mig else None,
        "compute_mode": None if mode is None else MODES.get(int(mode), str(mode)),
        "processes": [
            CardProcess(int(process.pid), _bytes(process.usedGpuMemory), _name_of(int(process.pid)))
            for process in processes
            if int(process.pid) != os.getpid()
        ],
    }


def _bytes(value: Any) -> int | None:
    return None if value is None else int(value)


def _name_of(pid: int) -> str:
    """The name of a process, empty where it is not ours to know."""
    try:
        import psutil

        return as_text(psutil.Process(pid).name()) or ""
    except Exception:
        return ""


def _driver_rates(gpus: list[Gpu], driver: dict[str, Any]) -> dict[int, int]:
    """The driver's own rates by index, as far as its cards are those of NVML: CUDA numbers the fastest first, and hides some."""
    cards = [card for card in driver.get("cards", []) if isinstance(card, dict) and card.get("rate")]
    rates = {}
    for gpu in gpus:
        same = {
            int(card["rate"])
            for card in cards
            if card.get("name") == gpu.name
            or (
                gpu.compute_capability
                and ".".join(str(n) for n in card.get("capability", [])) == gpu.compute_capability
            )
        }
        if len(same) == 1:
            rates[gpu.index] = same.pop()
    return rates


def _cuda_version(nvml: Any) -> Any:
    """The newest CUDA of the driver; the older question answers with the version of a loaded library instead."""
    try:
        return nvml.nvmlSystemGetCudaDriverVersion_v2()
    except Exception:
        return nvml.nvmlSystemGetCudaDriverVersion()
