"""What a Keras model consists of, wherever this Keras keeps it: layers, losses, metrics, and its variables in numbers."""

from __future__ import annotations

from typing import Any

from . import arrays
from .keras_state import dtype_of


def all_layers(model: Any) -> list[Any]:
    """The layers of a model, nested ones too."""
    flatten = getattr(model, "_flatten_layers", None)
    try:
        return list(flatten(include_self=False, recursive=True)) if flatten is not None else list(model.layers)
    except Exception:  # noqa: BLE001 - a model that cannot list its layers yet has none to show
        return []


def losses_of(model: Any) -> list[Any]:
    """The loss objects that a model was compiled with, wherever this Keras keeps them."""
    found: list[Any] = []
    compiled = getattr(model, "_compile_loss", None) or getattr(model, "compiled_loss", None)
    given = getattr(model, "loss", None)
    for nest in (given, getattr(compiled, "_user_losses", None), getattr(compiled, "losses_of", None)):
        found.extend(leaf for leaf in arrays.leaves(nest) if leaf is not None and not isinstance(leaf, str))
    return found


def metrics_of(model: Any) -> list[Any]:
    """The metric objects that a model was compiled with, wherever this Keras keeps them."""
    compiled = getattr(model, "_compile_metrics", None) or getattr(model, "compiled_metrics", None)
    found: list[Any] = []
    for nest in (getattr(compiled, "_user_metrics", None), getattr(compiled, "_user_weighted_metrics", None)):
        found.extend(leaf for leaf in arrays.leaves(nest) if leaf is not None and not isinstance(leaf, str))
    return found


def variables_of(optimizer: Any) -> Any:
    """The variables of an optimizer: a property in Keras 3, a method in Keras 2."""
    variables = getattr(optimizer, "variables", ())
    return variables() if callable(variables) else variables


def count_dtypes(variables: Any) -> dict[str, int]:
    """How many of these variables have which dtype."""
    counts: dict[str, int] = {}
    for variable in list(variables):
        name = dtype_of(getattr(variable, "dtype", None)) or "unknown"
        name = name[:-4] if name.endswith("_ref") else name
        counts[name] = counts.get(name, 0) + 1
    return counts


def bytes_of(variables: Any) -> int:
    """How many bytes these variables take."""
    widths = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}
    total = 0
    for variable in list(variables):
        count = 1
        for size in tuple(variable.shape):
            count *= int(size or 1)
        total += count * widths.get(dtype_of(variable.dtype) or "", 4)
    return total
