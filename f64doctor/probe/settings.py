"""Watches what the script asks of the global precision, and the event that latches it."""

from __future__ import annotations

import json
import os
import sys
from types import ModuleType
from typing import Any, Optional

from . import rewire, stack
from .imports import ImportWatch
from .keras_state import KerasLibrary, dtype_of
from .wire import Wire

# Variables that decide a precision, a device or a library, when they are set before the import that reads them.
_VARIABLES = (
    "KERAS_HOME",
    "KERAS_BACKEND",
    "TF_USE_LEGACY_KERAS",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "XLA_FLAGS",
    "TF_XLA_FLAGS",
    "NVIDIA_TF32_OVERRIDE",
    "TF_MIXED_PRECISION_GRAPH_REWRITE",
    "TF_ENABLE_AUTO_MIXED_PRECISION",
)


class SettingsWatch:
    """Sends ``setting`` and ``latch`` events."""

    def __init__(self, wire: Wire, imports: ImportWatch) -> None:
        self._wire = wire
        self._imports = imports

    def watch_environment(self, hide_devices: bool) -> None:
        """Tell which of the deciding variables the script sets, and where. ``hide_devices``: those that show devices stay as they are."""
        wire = self._wire

        def around(original: Any, mapping: Any, args: Any, kwargs: Any) -> Any:
            name = args[0] if args else None
            if name not in _VARIABLES or mapping is not os.environ:
                return original(mapping, *args, **kwargs)
            before = mapping.get(name)
            result = None if hide_devices and name.endswith("VISIBLE_DEVICES") else original(mapping, *args, **kwargs)
            wire.send(
                "setting",
                kind="environment",
                name=name,
                value=str(args[1]) if len(args) > 1 else None,
                before=before,
                floatx=_floatx_of_home(str(args[1])) if name == "KERAS_HOME" and len(args) > 1 else None,
                library="environment",
                frames=stack.user_frames(),
            )
            return result

        rewire.wrap_method(type(os.environ), "__setitem__", around)

    def watch(self, library: KerasLibrary) -> None:
        """Watch the setters of one Keras as its modules are imported."""
        base = library.name + ".src."
        if library.generation == 3:
            self._imports.after(base + "backend.config", lambda m: self._setter(library, m, "set_floatx", "floatx"))
            self._imports.after(base + "dtype_policies.dtype_policy", lambda m: self._policy(library, m))
            self._imports.after(base + "backend.common.global_state", lambda m: self._clear(library, m))
        else:
            self._imports.after(base + "backend_config", lambda m: self._setter(library, m, "set_floatx", "floatx"))
            self._imports.after(base + "mixed_precision.policy", lambda m: self._policy(library, m))
            self._imports.after(base + "backend", lambda m: self._clear(library, m))

    def _setter(self, library: KerasLibrary, module: ModuleType, name: str, kind: str) -> None:
        read = library.floatx if kind == "floatx" else library.policy
        wire = self._wire

        def around(original: Any, args: Any, kwargs: Any) -> Any:
            before = read()
            result = original(*args, **kwargs)
            frames = stack.user_frames()
            if kind == "policy" and not _called_from_outside(name):
                return result
            if kind == "floatx" and _called_by_framework():
                return result  # Keras reads keras.json when it is imported, and sets what stands there
            value = args[0] if args else next(iter(kwargs.values()), None)
            wire.send(
                "setting",
                kind=kind,
                name=name,
                value=dtype_of(value),
                before=before,
                floatx=library.floatx(),
                policy=library.policy(),
                library=library.name,
                frames=frames,
            )
            return result

        rewire.change_in_place(getattr(module, name, None), around)

    def _policy(self, library: KerasLibrary, module: ModuleType) -> None:
        for name in ("set_dtype_policy", "set_global_policy"):
            if hasattr(module, name):
                self._setter(library, module, name, "policy")
        reader = "dtype_policy" if library.generation == 3 else "global_policy"
        wire = self._wire

        def around(original: Any, args: Any, kwargs: Any) -> Any:
            was_open = library.policy() is None
            result = original(*args, **kwargs)
            now = library.policy()
            if was_open and now is not None:
                wire.send(
                    "latch",
                    policy=now,
                    floatx=library.floatx(),
                    by=_latched_by(),
                    library=library.name,
                    frames=stack.user_frames(),
                )
            return result

        rewire.change_in_place(getattr(module, reader, None), around)

    def _clear(self, library: KerasLibrary, module: ModuleType) -> None:
        wire = self._wire

        def around(original: Any, args: Any, kwargs: Any) -> Any:
            before = library.policy()
            result = original(*args, **kwargs)
            wire.send(
                "setting",
                kind="clear_session",
                name="clear_session",
                value=None,
                before=before,
                floatx=library.floatx(),
                policy=library.policy(),
                library=library.name,
                frames=stack.user_frames(),
            )
            return result

        rewire.change_in_place(getattr(module, "clear_session", None), around)


def _floatx_of_home(folder: str) -> Optional[str]:
    """The floatx in the keras.json of a KERAS_HOME, or None."""
    try:
        with open(os.path.join(os.path.expanduser(folder), "keras.json"), encoding="utf-8") as file:
            value = json.load(file).get("floatx")
    except (OSError, ValueError, AttributeError):
        return None
    return value if isinstance(value, str) else None


def _called_by_framework() -> bool:
    """Whether the setter was called by Keras itself: the first frame that is not the probe's, nor the setter's own, is the framework's."""
    frame = sys._getframe(2)
    while frame is not None:
        whose = stack.owner(frame.f_code.co_filename)
        if whose != stack.PROBE and frame.f_code.co_name not in ("set_floatx", "wrapper", "_wrapper"):
            return whose == stack.FRAMEWORK
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _called_from_outside(name: str) -> bool:
    """Whether a policy setter was called by the script, not by Keras as it latches its default."""
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_name in ("dtype_policy", "global_policy") and stack.owner(code.co_filename) == stack.FRAMEWORK:
            return False
        if stack.owner(code.co_filename) in (stack.USER, stack.PACKAGE):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return True


def _latched_by() -> str:
    """The class or function, called by the user's line, inside which the policy was latched."""
    frame = sys._getframe(2)
    outermost = "dtype_policy()"
    while frame is not None:
        code = frame.f_code
        owner = stack.owner(code.co_filename)
        if owner == stack.USER:
            break
        if owner in (stack.FRAMEWORK, stack.PACKAGE):
            instance: Optional[Any] = frame.f_locals.get("self")
            if instance is None:
                instance = frame.f_locals.get("cls")
            if code.co_name in ("__init__", "__new__", "__call__") and instance is not None:
                outermost = instance.__name__ if isinstance(instance, type) else type(instance).__name__
            elif code.co_name not in ("wrapper", "error_handler", "method"):
                outermost = code.co_name + "()"
        frame = frame.f_back  # type: ignore[assignment]
    return outermost
