"""Watches the calls of layers: which operations belong to which layer, which layer a failure came from, what the script feeds by hand."""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any, Optional

from . import rewire, stack
from .feeding import FeedingWatch
from .graphs import GraphsWatch
from .imports import ImportWatch
from .keras_state import KerasLibrary
from .objects import ObjectsWatch
from .wire import Wire


class CallsWatch:
    """Wraps ``Layer.__call__`` of each Keras."""

    def __init__(
        self, wire: Wire, imports: ImportWatch, objects: ObjectsWatch, graphs: GraphsWatch, feeding: FeedingWatch
    ) -> None:
        self._wire = wire
        self._imports = imports
        self._objects = objects
        self._graphs = graphs
        self._feeding = feeding
        self._state = threading.local()
        self.failing: Optional[tuple[int, str, int]] = None

    def watch(self, library: KerasLibrary) -> None:
        """Watch one Keras as its layer module is imported."""
        place = "layers.layer" if library.generation == 3 else "engine.base_layer"
        self._imports.after(library.name + ".src." + place, lambda m: self._calls(library, m))

    def _calls(self, library: KerasLibrary, module: ModuleType) -> None:
        watch = self
        state = self._state

        def called(original: Any, layer: Any, args: Any, kwargs: Any) -> Any:
            depth = getattr(state, "depth", 0)
            if depth == 0:
                watch.failing = None
                if stack.caller_is_user(2):
                    watch._feeding.direct_call(library, layer, args, kwargs)
            serial = watch._objects.serial_of(layer)
            entered = watch._graphs.layer_enters() if serial is not None else None
            state.depth = depth + 1
            try:
                return original(layer, *args, **kwargs)
            except BaseException:
                if serial is not None and (watch.failing is None or watch.failing[2] < depth):
                    watch.failing = (serial, str(getattr(layer, "name", "")), depth)
                raise
            finally:
                state.depth = depth
                if entered is not None and serial is not None:
                    watch._graphs.layer_leaves(entered, serial, str(getattr(layer, "name", "")))

        rewire.wrap_method(module.Layer, "__call__", called)
