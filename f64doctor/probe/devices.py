"""Tells what decides the devices: variables from outside, how TensorFlow was built, and what the script asked of placement."""

from __future__ import annotations

import os
import sys
from typing import Any, Optional

from . import rewire
from .imports import ImportWatch
from .wire import Wire

# Set from outside, each of these decides which devices there are, or what TensorFlow says of them.
_VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "TF_CPP_MIN_LOG_LEVEL")
# What brings TensorFlow, or a device to it.
_DISTRIBUTIONS = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-gpu",
    "tf-nightly",
    "intel-tensorflow",
    "tensorflow-macos",
    "tensorflow-metal",
    "tensorflow-directml-plugin",
    "tensorflow-rocm",
    "intel-extension-for-tensorflow",
    "nvidia-cudnn-cu11",
    "nvidia-cudnn-cu12",
    "nvidia-cuda-runtime-cu12",
    "nvidia-cublas-cu12",
    "nvidia-cuda-nvcc-cu12",
)
_CONFIG = "tensorflow.python.framework.config"


class DevicesWatch:
    """Sends ``build``, ``device_settings`` and ``devices`` events; with ``hide``, shows TensorFlow no device but the CPU."""

    def __init__(self, wire: Wire, imports: ImportWatch, hide: bool) -> None:
        self._wire = wire
        self._imports = imports
        self._hide = hide
        self._variables = {name: os.environ[name][:200] for name in _VARIABLES if name in os.environ}

    def watch(self) -> None:
        """Hide what the environment does not hide, once TensorFlow is there: plug-in devices do not read CUDA_VISIBLE_DEVICES."""
        if self._hide:
            self._imports.after(_CONFIG, self._keep_hidden)
            self._imports.after("tensorflow", self._hide_plugins)

    def _keep_hidden(self, module: Any) -> None:
        def around(original: Any, args: Any, kwargs: Any) -> Any:
            given = list(args)
            if given:
                given[0] = _only_cpus(given[0])
            elif "devices" in kwargs:
                kwargs = {**kwargs, "devices": _only_cpus(kwargs["devices"])}
            return original(*given, **kwargs)

        def placed_softly(original: Any, args: Any, kwargs: Any) -> Any:
            return original(True)

        rewire.change_in_place(module.set_visible_devices, around)
        # What the script puts on "/GPU:0" shall run on the CPU here, not fail for want of that device.
        rewire.change_in_place(module.set_soft_device_placement, placed_softly)

    def _hide_plugins(self, module: Any) -> None:
        devices = module.config.list_physical_devices()
        if any(device.device_type != "CPU" for device in devices):
            module.config.set_visible_devices([device for device in devices if device.device_type == "CPU"])

    # -- at the end

    def tell(self) -> None:
        """Send what TensorFlow says of itself now. Asks only what is known without starting anything."""
        tensorflow = sys.modules.get("tensorflow")
        config = getattr(tensorflow, "config", None)
        if config is None:
            return
        names, details = [], {}
        for device in config.list_physical_devices():
            names.append(device.name)
            if device.device_type != "CPU":
                try:
                    facts = config.experimental.get_device_details(device)
                    details[device.name] = str(facts.get("device_name", ""))
                except Exception:  # noqa: BLE001 - details are a courtesy
                    pass
        self._wire.send("devices", names=names, details=details)
        context = sys.modules.get("tensorflow.python.eager.context")
        self._wire.send(
            "device_settings",
            visible=_answer(lambda: [device.name for device in config.get_visible_devices()]),
            soft_placement=_answer(lambda: bool(config.get_soft_device_placement())),
            tf32=_answer(lambda: bool(config.experimental.tensor_float_32_execution_enabled())),
            deterministic=_answer(lambda: bool(sys.modules[_CONFIG].is_op_determinism_enabled())),
            seeded=_answer(lambda: context.global_seed() is not None if context is not None else None),
            variables=self._variables,
        )
        build = _answer(lambda: dict(tensorflow.sysconfig.get_build_info())) or {}  # type: ignore[union-attr]
        capabilities = build.get("cuda_compute_capabilities")
        self._wire.send(
            "build",
            cuda=_flag(build.get("is_cuda_build")),
            rocm=_flag(build.get("is_rocm_build")),
            cuda_version=_text(build.get("cuda_version")),
            cudnn_version=_text(build.get("cudnn_version")),
            compute_capabilities=[str(one) for one in capabilities]
            if isinstance(capabilities, (list, tuple))
            else None,
            distributions=_distributions(),
        )


def _only_cpus(devices: Any) -> Any:
    try:
        return [device for device in devices if device.device_type == "CPU"]
    except TypeError:
        return devices if getattr(devices, "device_type", "CPU") == "CPU" else []


def _answer(question: Any) -> Any:
    try:
        return question()
    except Exception:  # noqa: BLE001 - some versions lack some questions
        return None


def _flag(value: Any) -> Optional[bool]:
    return None if value is None else bool(value)


def _text(value: Any) -> Optional[str]:
    return None if value is None else str(value)


def _distributions() -> dict[str, str]:
    from importlib import metadata

    found = {}
    for name in _DISTRIBUTIONS:
        version = _answer(lambda name=name: metadata.version(name))
        if version is not None:
            found[name] = str(version)
    return found
