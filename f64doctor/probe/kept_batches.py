"""What a training call was given, kept while it runs, and the batch in it that a traced step can be computed on again."""

from __future__ import annotations

import time
from typing import Any, Optional

from . import arrays
from .damage import Feeds
from .keras_state import KerasLibrary


class Loading:
    """The training call that takes its batches from a loader of the user's, and how many of them were told."""

    def __init__(
        self,
        library: KerasLibrary,
        model: Any,
        call: str,
        frames: list[dict[str, Any]],
        loader: Optional[dict[str, Any]],
        names: Optional[list[str]],
        scope: Optional[str],
    ) -> None:
        self.library = library
        self.model = model
        self.call = call
        self.frames = frames
        self.loader = loader
        self.names = names or []
        self.scope = scope or ""
        self.batches = 0
        self.first: Any = None


class Fit:
    """A fit, evaluate or predict that is going on: its steps so far, and what it was given."""

    def __init__(self, serial: int, library: KerasLibrary, model: Any, call: str, frames: list[dict[str, Any]]) -> None:
        self.serial = serial
        self.library = library
        self.model = model
        self.call = call
        self.frames = frames
        self.done = 0
        self.nested = False
        self.told = False
        self.monitored: list[str] = []
        self.data: Any = None
        self.last = time.perf_counter()


def data_of(args: Any, kwargs: Any) -> dict[str, Any]:
    """What a fit was given, for as long as it runs."""
    names = ("x", "y", "batch_size")
    return {
        **dict(zip(names, args)),
        **{n: kwargs[n] for n in (*names, "sample_weight", "class_weight") if n in kwargs},
    }


def leaves_in_order(nest: Any) -> list[Any]:
    """The leaves of a nest in the order in which TensorFlow flattens it: dictionaries by their sorted keys."""
    if isinstance(nest, dict):
        try:
            keys = sorted(nest)
        except TypeError:
            keys = list(nest)
        return [leaf for key in keys for leaf in leaves_in_order(nest[key])]
    if isinstance(nest, (list, tuple)):
        return [leaf for item in nest for leaf in leaves_in_order(item)]
    return [] if nest is None else [nest]


def batch_of_fit(fit: Fit, loading: Optional[Loading], inputs: list[Any]) -> Any:
    """The first batch of a fit for the inputs of its traced step, or a sentence why it is not known."""
    if loading is not None:
        if loading.first is None:
            return "the first batch of the loader was not seen"
        leaves, words = leaves_in_order(loading.first), "the first batch that the loader yielded"
    else:
        data = fit.data or {}
        given = [arrays.describe(leaf) for leaf in leaves_in_order(data.get("x"))]
        if any(described is None or described.kind == "dataset" for described in given):
            return "a pipeline's batches are not known without drawing from it"
        leaves = leaves_in_order([data.get("x"), data.get("y"), data.get("sample_weight")])
        rows = data.get("batch_size") or 32
        words = "the first {} rows that were given to fit".format(rows)
        leaves = [leaf.iloc[:rows].to_numpy() if hasattr(leaf, "iloc") else leaf[:rows] for leaf in leaves]
    if len(leaves) != len(inputs):
        return "the step takes {} arrays, {} were given".format(len(inputs), len(leaves))
    return Feeds(leaves, words)


def batch_of_call(kept: list[Any], inputs: list[Any]) -> Any:
    """What a traced function of the script's own was called on, for the inputs of its graph, or a sentence why that is not known."""
    leaves = []
    for leaf in kept:
        described = arrays.describe(leaf)
        if described is not None and described.kind in ("ndarray", "scalar", "tensor"):
            leaves.append(leaf)
    if len(leaves) != len(inputs):
        return "the function takes {} tensors, {} were given".format(len(inputs), len(leaves))
    return Feeds(leaves, "what the function was called on first")
