"""Turns XLA off, or on, for runs that are made to find out whether XLA is what makes the difference."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Optional

from . import rewire
from .imports import ImportWatch
from .wire import Wire


class CompilingWatch:
    """With ``jit`` None it does nothing. False: nothing is compiled by XLA. True: what Keras trains is."""

    def __init__(self, wire: Wire, imports: ImportWatch, jit: Optional[bool]) -> None:
        self._wire = wire
        self._imports = imports
        self._jit = jit

    def watch(self) -> None:
        """Take the decision wherever Keras or the script would take it."""
        if self._jit is None:
            return
        for library in ("keras", "tf_keras"):
            self._imports.after(library + ".src.trainers.trainer", lambda module: self._models(module.Trainer))
            self._imports.after(library + ".src.engine.training", lambda module: self._models(module.Model))
        if not self._jit:
            self._imports.after("tensorflow.python.eager.polymorphic_function.polymorphic_function", self._functions)

    def _models(self, cls: type) -> None:
        jit, wire = self._jit, self._wire

        def compiled(original: Any, model: Any, args: Any, kwargs: Any) -> Any:
            result = original(model, *args, **kwargs)
            try:
                if not (jit and getattr(model, "run_eagerly", False)):
                    model.jit_compile = jit
            except Exception as error:  # noqa: BLE001 - the run goes on as it would
                wire.trouble("deciding about XLA", error)
            return result

        rewire.wrap_method(cls, "compile", compiled)

    def _functions(self, module: ModuleType) -> None:
        def initialised(original: Any, function: Any, args: Any, kwargs: Any) -> Any:
            if kwargs.get("jit_compile"):
                kwargs = {**kwargs, "jit_compile": None}
            return original(function, *args, **kwargs)

        rewire.wrap_method(module.Function, "__init__", initialised)
