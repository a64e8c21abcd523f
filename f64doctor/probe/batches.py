"""Watches the batches that the user's generators, Sequences and PyDatasets yield, as Keras takes them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from . import rewire
from .feeding import FeedingWatch
from .imports import ImportWatch
from .keras_state import KerasLibrary
from .wire import Wire

_BATCHES_OF_A_CALL = 2
_ARGUMENTS = ("x", "y", "sample_weight")


class BatchesWatch:
    """Sends ``feed`` events of what a loader yielded to a training call. Nothing is taken from a loader that Keras does not take itself."""

    def __init__(self, wire: Wire, imports: ImportWatch, feeding: FeedingWatch) -> None:
        self._wire = wire
        self._imports = imports
        self._feeding = feeding

    def watch(self, library: KerasLibrary) -> None:
        """Watch the adapters of one Keras as they are imported."""
        base = library.name + ".src."
        if library.generation == 3:
            adapters = base + "trainers.data_adapters."
            self._imports.after(adapters + "generator_data_adapter", self._peeked)
            self._imports.after(adapters + "py_dataset_adapter", lambda m: self._standardized(m.PyDatasetAdapter))
        else:
            self._imports.after(
                base + "engine.data_adapter", lambda m: self._standardized(m.GeneratorDataAdapter, "_peek_and_restore")
            )

    def _peeked(self, module: ModuleType) -> None:
        """Keras 3 takes the first batches of a generator before it begins, to learn their shapes, and keeps them."""

        def initialised(original: Any, adapter: Any, args: Any, kwargs: Any) -> Any:
            result = original(adapter, *args, **kwargs)
            first = getattr(adapter, "_first_batches", None) or [getattr(adapter, "_first_batch", None)]
            for batch in list(first)[:_BATCHES_OF_A_CALL]:
                self._tell(batch)
            return result

        rewire.wrap_method(module.GeneratorDataAdapter, "__init__", initialised)

    def _standardized(self, adapter: type, name: str = "_standardize_batch") -> None:
        """A PyDataset's batches pass through one method; a generator's and a Sequence's first batch in Keras 2 through another."""
        watch = self
        for cls in [adapter, *adapter.__subclasses__()]:
            held = cls.__dict__.get(name)
            if isinstance(held, staticmethod):

                def peeked(original: Any, args: Any, kwargs: Any) -> Any:
                    result = original(*args, **kwargs)
                    watch._tell(result[0] if isinstance(result, tuple) and result else None)
                    return result

                rewire.change_in_place(held.__func__, peeked)
            elif held is not None:

                def taken(original: Any, adapter: Any, args: Any, kwargs: Any) -> Any:
                    watch._tell(args[0] if args else None)
                    return original(adapter, *args, **kwargs)

                rewire.wrap_method(cls, name, taken)

    def _tell(self, batch: Any) -> None:
        if batch is None or not self._wire.in_charge:
            return
        try:
            parts = batch if isinstance(batch, (tuple, list)) else (batch,)
            self._feeding.took_batch(dict(zip(_ARGUMENTS, parts)), _BATCHES_OF_A_CALL)
        except Exception as error:  # noqa: BLE001 - the script must not notice
            self._wire.trouble("looking at a batch", error)
