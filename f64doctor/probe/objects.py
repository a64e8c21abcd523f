"""Watches layers, losses, metrics, optimizers and weights as they come to be, with the precision of that moment."""

from __future__ import annotations

import sys
import weakref
from types import ModuleType
from typing import Any, Optional

from . import rewire, stack
from .imports import ImportWatch
from .keras_state import KerasLibrary, dtype_of
from .wire import Wire

MOST_OBJECTS = 2500


class ObjectsWatch:
    """Sends ``created`` events, and knows the serial of each live object."""

    def __init__(self, wire: Wire, imports: ImportWatch) -> None:
        self._wire = wire
        self._imports = imports
        self._serial = 0
        self._known: dict[int, tuple[Any, int]] = {}

    def serial_of(self, thing: Any) -> Optional[int]:
        """The serial of an object that was seen to be made, or None."""
        entry = self._known.get(id(thing))
        return entry[1] if entry is not None and entry[0]() is thing else None

    def watch(self, library: KerasLibrary) -> None:
        """Watch the base classes of one Keras as they are imported."""
        base = library.name + ".src."
        if library.generation == 3:
            self._imports.after(base + "layers.layer", lambda m: self._layers(library, m))
            self._imports.after(
                base + "layers.core.input_layer", lambda m: self._simple(library, m, "InputLayer", "input")
            )
            self._imports.after(base + "losses.loss", lambda m: self._simple(library, m, "Loss", "loss"))
            self._imports.after(base + "metrics.metric", lambda m: self._simple(library, m, "Metric", "metric"))
            self._imports.after(
                base + "optimizers.base_optimizer", lambda m: self._simple(library, m, "BaseOptimizer", "optimizer")
            )
        else:
            self._imports.after(base + "engine.base_layer", lambda m: self._layers(library, m))
            self._imports.after(base + "losses", lambda m: self._simple(library, m, "Loss", "loss"))
            self._imports.after(base + "metrics.base_metric", lambda m: self._simple(library, m, "Metric", "metric"))
            self._imports.after(
                base + "optimizers.optimizer", lambda m: self._simple(library, m, "_BaseOptimizer", "optimizer")
            )

    def _layers(self, library: KerasLibrary, module: ModuleType) -> None:
        layer_class = module.Layer

        def initialised(original: Any, layer: Any, args: Any, kwargs: Any) -> Any:
            result = original(layer, *args, **kwargs)
            # Keras 3 gives an InputLayer its dtype after this: it is noted when its own __init__ is over.
            late = library.generation == 3 and type(layer).__name__ == "InputLayer"
            # In Keras 2 a metric is a layer: it is noted as a metric when its own __init__ is over.
            late = late or (library.generation == 2 and any(base.__name__ == "Metric" for base in type(layer).__mro__))
            if not late:
                self.note(library, layer, "layer", kwargs.get("dtype"))
            return result

        def weighted(original: Any, layer: Any, args: Any, kwargs: Any) -> Any:
            result = original(layer, *args, **kwargs)
            explicit = kwargs.get("dtype")
            if explicit is not None and dtype_of(explicit) != getattr(layer, "variable_dtype", None):
                frames = stack.user_frames()
                if frames and _direct_caller() == stack.USER:
                    self.note(library, result, "weight", explicit, owner=self.serial_of(layer))
            return result

        rewire.wrap_method(layer_class, "__init__", initialised)
        rewire.wrap_method(layer_class, "add_weight", weighted)

    def _simple(self, library: KerasLibrary, module: ModuleType, name: str, role: str) -> None:
        cls = getattr(module, name, None)
        if cls is None:
            return

        def initialised(original: Any, thing: Any, args: Any, kwargs: Any) -> Any:
            result = original(thing, *args, **kwargs)
            self.note(library, thing, role, kwargs.get("dtype"))
            return result

        rewire.wrap_method(cls, "__init__", initialised)

    def note(
        self, library: KerasLibrary, thing: Any, role: str, explicit: Any = None, owner: Optional[int] = None
    ) -> Optional[int]:
        """Tell that a Keras object was made; its serial, or None past the bound."""
        if not self._wire.in_charge or self._serial >= MOST_OBJECTS or self.serial_of(thing) is not None:
            return None
        self._serial += 1
        serial = self._serial
        try:
            key = id(thing)
            self._known[key] = (weakref.ref(thing, lambda _: self._known.pop(key, None)), serial)
            cls = type(thing)
            policy = getattr(thing, "dtype_policy", None) or getattr(thing, "_dtype_policy", None)
            if role == "input":
                policy = None  # an InputLayer computes nothing; its dtype is that of the tensor it stands for
            self._wire.send(
                "created",
                role="input" if cls.__name__ == "InputLayer" else role,
                cls=cls.__name__,
                name=str(getattr(thing, "name", "") or ""),
                serial=serial,
                module=cls.__module__,
                dtype=dtype_of(getattr(policy, "variable_dtype", None)) or _own_dtype(thing),
                compute_dtype=dtype_of(getattr(policy, "compute_dtype", None)),
                explicit=dtype_of(explicit),
                loaded=_made_inside(thing),
                owner=owner,
                floatx=library.floatx(),
                policy=library.policy(),
                library=library.name,
                frames=stack.user_frames(),
            )
        except Exception as error:  # noqa: BLE001 - the script must not notice
            self._wire.trouble("noting a {}".format(role), error)
        return serial


def _own_dtype(thing: Any) -> Optional[str]:
    for name in ("_dtype", "dtype"):
        try:
            value = getattr(thing, name, None)
        except Exception:  # noqa: BLE001 - a property of a half-made object may raise
            continue
        if value is not None and not callable(value):
            return dtype_of(value)
    return None


_PASSED_OVER = (
    "wrapper",
    "error_handler",
    "method",
    "initialised",
    "around",
    "weighted",
    "__call__",
    "_wrap_function",
    "_method_wrapper",
)


def _direct_caller() -> str:
    """Whose code called the watched method: the first frame that is neither the probe's nor a wrapper of the framework."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        whose = stack.owner(code.co_filename)
        if whose != stack.PROBE and code.co_name not in _PASSED_OVER:
            return whose
        frame = frame.f_back
    return stack.USER


def _made_inside(thing: Any) -> Optional[str]:
    """The library function, called by the user's line, inside which an object was made; None when the user's line made it itself."""
    frame: Any = sys._getframe(1)
    outermost: Optional[str] = None
    while frame is not None:
        code = frame.f_code
        whose = stack.owner(code.co_filename)
        if whose == stack.USER:
            break
        if whose in (stack.FRAMEWORK, stack.PACKAGE) and code.co_name not in _PASSED_OVER:
            instance = frame.f_locals.get("self")
            own = instance is thing and code.co_name in ("__init__", "__new__")
            if not own and code.co_name not in ("__new__",):
                outermost = (
                    type(instance).__name__ if code.co_name == "__init__" and instance is not None else code.co_name
                )
        frame = frame.f_back
    if frame is None:
        return outermost or "import"
    return outermost
