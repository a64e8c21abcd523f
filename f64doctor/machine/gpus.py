"""The NVIDIA cards of this machine, read through the driver's management library (NVML) by ``pynvml``."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from f64doctor.report import Gpu

T = TypeVar("T")


def read_gpus(seconds: float = 3.0, load: Callable[[], Any] | None = None) -> tuple[list[Gpu], str]:
    """The cards that the driver lists, and why they are not known or not all known (empty when they are).

    The driver can hang; after ``seconds`` it is left alone in a daemon thread, which does not keep the process alive. ``load`` gives the
    module ``pynvml``.
    """
    answer: list[tuple[list[Gpu], str]] = []
    thread = threading.Thread(target=lambda: answer.append(ask_nvml(load or import_pynvml)), name="nvml", daemon=True)
    thread.start()
    thread.join(seconds)
    if answer:
        return answer[0]
    if thread.is_alive():
        return [], f"the NVIDIA driver did not answer within {seconds:g} s"
    return [], "the question to the NVIDIA driver failed"


def import_pynvml() -> Any:
    """The module ``pynvml``, imported when it is needed: it costs time, and a broken installation must not stop the doctor."""
    import pynvml

    return pynvml


def ask_nvml(load: Callable[[], Any]) -> tuple[list[Gpu], str]:
    """The cards, and what went wrong; never raises. A card that does not answer is left out and named."""
    try:
        nvml = load()
    except Exception as error:
        return [], f"pynvml cannot be imported: {error}"
    try:
        nvml.nvmlInit()
    except Exception as error:
        return [], describe_failure(error)
    troubles: list[str] = []
    gpus: list[Gpu] = []
    try:
        driver = as_text(answered(nvml.nvmlSystemGetDriverVersion))
        for index in range(nvml.nvmlDeviceGetCount()):
            try:
                handle = nvml.nvmlDeviceGetHandleByIndex(index)
                gpus.append(describe_card(nvml, index, handle, driver))
            except Exception as error:
                troubles.append(f"card {index}: {describe_failure(error)}")
    except Exception as error:
        troubles.append(describe_failure(error))
    finally:
        with contextlib.suppress(Exception):
            nvml.nvmlShutdown()
    return gpus, "; ".join(troubles)


def describe_card(nvml: Any, index: int, handle: Any, driver: str | None) -> Gpu:
    """One card; what the driver does not tell of it is None."""
    memory = answered(nvml.nvmlDeviceGetMemoryInfo, handle)
    capability = answered(nvml.nvmlDeviceGetCudaComputeCapability, handle)
    return Gpu(
        index=index,
        name=as_text(answered(nvml.nvmlDeviceGetName, handle)) or "unnamed GPU",
        total_bytes=None if memory is None else int(memory.total),
        free_bytes=None if memory is None else int(memory.free),
        compute_capability=None if capability is None else f"{capability[0]}.{capability[1]}",
        driver=driver,
    )


def answered(question: Callable[..., T], *arguments: Any) -> T | None:
    """The answer to one question, or None where the driver refuses it."""
    try:
        return question(*arguments)
    except Exception:
        return None


def as_text(value: Any) -> str | None:
    """Text of NVML, which older versions of ``pynvml`` give as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def describe_failure(error: Exception) -> str:
    """Why NVML refused, in words that say what it means for the user."""
    kind = type(error).__name__
    if kind == "NVMLError_LibraryNotFound":
        return "no NVIDIA driver here (libnvidia-ml.so.1 is not found)"
    if kind == "NVMLError_DriverNotLoaded":
        return "the NVIDIA driver is installed but not loaded"
    if kind == "NVMLError_LibRmVersionMismatch":
        return "the NVIDIA driver was updated and its library does not match the loaded module: restart the machine"
    if kind == "NVMLError_NoPermission":
        return "no permission to ask the NVIDIA driver"
    return f"NVML: {error}"
