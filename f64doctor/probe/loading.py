"""Watches weights come from files and from other models: whether they use the bits that their variables have."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Optional

from . import numbers, rewire, stack
from .imports import ImportWatch
from .keras_state import KerasLibrary, dtype_of
from .model_facts import count_dtypes
from .wire import Wire

_MOST_VARIABLES = 500
_SAMPLE_OF_ONE = 2000


class LoadingWatch:
    """Sends ``loaded`` events."""

    def __init__(self, wire: Wire, imports: ImportWatch) -> None:
        self._wire = wire
        self._imports = imports
        self._inside = 0

    def watch(self, library: KerasLibrary) -> None:
        """Watch the loaders of one Keras as they are imported."""
        base = library.name + ".src."
        if library.generation == 3:
            self._imports.after(base + "models.model", lambda m: self._method(m.Model, "load_weights"))
            self._imports.after(base + "layers.layer", lambda m: self._method(m.Layer, "set_weights"))
        else:
            self._imports.after(base + "engine.training", lambda m: self._method(m.Model, "load_weights"))
            self._imports.after(base + "engine.base_layer", lambda m: self._method(m.Layer, "set_weights"))
        self._imports.after(base + "saving.saving_api", self._load_model)

    def _method(self, cls: type, name: str) -> None:
        def around(original: Any, model: Any, args: Any, kwargs: Any) -> Any:
            return self._around(name, lambda: original(model, *args, **kwargs), lambda _: model)

        rewire.wrap_method(cls, name, around)

    def _load_model(self, module: ModuleType) -> None:
        def around(original: Any, args: Any, kwargs: Any) -> Any:
            return self._around("load_model", lambda: original(*args, **kwargs), lambda model: model)

        rewire.change_in_place(getattr(module, "load_model", None), around)

    def _around(self, name: str, call: Any, of: Any) -> Any:
        self._inside += 1
        try:
            result = call()
        finally:
            self._inside -= 1
        if self._inside == 0 and self._wire.in_charge:
            try:
                self._tell(name, of(result))
            except Exception as error:  # noqa: BLE001 - the script must not notice
                self._wire.trouble("looking at loaded weights", error)
        return result

    def _tell(self, name: str, model: Any) -> None:
        variables = list(getattr(model, "weights", ()) or ())
        if not variables:
            return
        self._wire.send(
            "loaded",
            call=name,
            model=str(getattr(model, "name", "")),
            weights=count_dtypes(variables),
            values=_values_of(variables[:_MOST_VARIABLES]),
            frames=stack.user_frames(),
        )


def _values_of(variables: list[Any]) -> Optional[dict[str, Any]]:
    """The facts of ``observe.Values`` over the float64 variables together, or None when there are none or no values can be read now."""
    np = sys.modules.get("numpy")
    context = sys.modules.get("tensorflow.python.eager.context")
    if np is None or context is None or not context.executing_eagerly():
        return None
    samples = []
    for variable in variables:
        if dtype_of(getattr(variable, "dtype", None)) != "float64" or not hasattr(variable, "numpy"):
            continue
        flat = variable.numpy().reshape(-1)
        samples.append(flat[:: max(1, flat.size // _SAMPLE_OF_ONE)])
    return numbers.describe_array(np.concatenate(samples)) if samples else None
