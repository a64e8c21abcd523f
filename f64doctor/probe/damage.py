"""Measures what narrowing costs: the step is computed twice more on a batch that was kept, as traced and with every float made double.

It happens after a step, beside the script: nothing is written, no number is drawn from the script's generators, and the training loop is as it was.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Optional

from . import arrays, numbers, promotion
from .promotion import CannotRepeat
from .wire import Wire

MOST_OPERATIONS = 20_000
MOST_BYTES = 200_000_000
MOST_GRAPHS = 4
_MOST_GRADIENTS = 60


class Feeds:
    """The batch that a graph is computed on: arrays in the order of its inputs, and where they came from, in words."""

    def __init__(self, values: list[Any], words: str) -> None:
        self.values = values
        self.words = words


class DamageWatch:
    """Sends ``damage`` events."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._tapes: dict[int, tuple[Any, Any, list[tuple[str, Any]]]] = {}
        self._islands: dict[int, list[Any]] = {}
        self._serials: dict[int, list[int]] = {}
        self.measuring = False
        self._measured = 0

    # -- what is noted while functions are traced

    def differentiated(self, target: Any, sources: Any, gradients: Any) -> None:
        """A loss was differentiated in a graph that is being traced."""
        loss = next((leaf for leaf in arrays.leaves(target) if hasattr(leaf, "graph")), None)
        if loss is None or self.measuring or len(self._tapes) > 16:
            return
        pairs = []
        for source, gradient in zip(arrays.leaves(sources), arrays.leaves(gradients)):
            gradient = getattr(gradient, "values", gradient)  # of IndexedSlices, the rows that there are
            if getattr(gradient, "graph", None) is loss.graph and gradient.dtype.name in arrays.FLOATS:
                pairs.append((str(getattr(source, "name", "")), gradient))
        if loss.dtype.name in arrays.FLOATS and loss.shape.rank is not None:
            self._tapes[id(loss.graph)] = (loss.graph, loss, pairs[:_MOST_GRADIENTS])

    def narrows(self, graph: Any, serial: int, operations: list[Any]) -> None:
        """Reading a graph showed operations where float64 becomes narrower, or narrower numbers join it."""
        if operations:
            self._islands[id(graph)] = operations
            self._serials[id(graph)] = [serial]

    # -- what is measured after a step

    def pending(self) -> bool:
        """Whether there is a traced step with an island in it that was not measured yet."""
        return any(key in self._islands for key in self._tapes) and self._measured < MOST_GRAPHS

    def measure(self, feeds_of: Any) -> None:
        """Measure the steps that were noted. ``feeds_of(inputs)`` gives the ``Feeds`` for a graph's input tensors, or a sentence why there are none."""
        # A function that makes its variables is traced twice; the last trace is the one that runs.
        last = {str(graph.name): key for key, (graph, _, _) in self._tapes.items() if key in self._islands}
        for key, (graph, loss, gradients) in list(self._tapes.items()):
            if key in self._islands and last[str(graph.name)] != key:
                self._serials[last[str(graph.name)]] += self._serials[key]
                del self._islands[key], self._tapes[key]
                continue
            operations = self._islands.pop(key, [])
            if not operations or self._measured >= MOST_GRAPHS:
                continue
            del self._tapes[key]
            self._measured += 1
            self.measuring = True
            began = time.perf_counter()
            facts: dict[str, Any] = {}
            try:
                facts = self._measure(graph, loss, gradients, operations, feeds_of)
            except CannotRepeat as reason:
                facts = {"why_not": str(reason)}
            except Exception as error:  # noqa: BLE001 - TensorFlow may refuse the copy for reasons of its own; that is told
                facts = {
                    "why_not": "TensorFlow refuses the copy: {}: {}".format(type(error).__name__, str(error)[:300])
                }
            finally:
                self.measuring = False
            self._wire.send(
                "damage", graphs=self._serials[key], name=str(graph.name), seconds=time.perf_counter() - began, **facts
            )

    def _measure(
        self, graph: Any, loss: Any, gradients: list[tuple[str, Any]], operations: list[Any], feeds_of: Any
    ) -> dict[str, Any]:
        if len(graph.get_operations()) > MOST_OPERATIONS:
            raise CannotRepeat("the function has more than {:,} operations".format(MOST_OPERATIONS))
        captured = {id(placeholder) for _, placeholder in graph.captures}
        inputs = [tensor for tensor in graph.inputs if id(tensor) not in captured]
        definition = graph.as_graph_def()
        outputs = [loss, *[gradient for _, gradient in gradients]]
        fed = {tensor.op.name for tensor in graph.inputs}
        nodes = promotion.closure(definition, [tensor.name for tensor in outputs], fed)
        inside = {node.name for node in nodes}
        narrowed = [op for op in operations if op.name in inside and op.inputs][:50]
        needed = {source.split(":", 1)[0].lstrip("^") for node in nodes for source in node.input}
        used = [tensor for tensor in inputs if tensor.op.name in needed]
        feeds = feeds_of(inputs)
        if isinstance(feeds, str):
            raise CannotRepeat(feeds)
        values = {id(tensor): value for tensor, value in zip(inputs, feeds.values)}
        batch = _batch(used, values)
        narrowed = [op for op in narrowed if "float64" in [tensor.dtype.name for tensor in op.inputs]]
        rounded = {op.name for op in operations if op.type == "Const"}
        run, left = _twice(
            graph, definition, nodes, used, outputs, [op.inputs[_double_input(op)] for op in narrowed], rounded
        )
        plain, wide, before = run(batch)
        return {
            "basis": feeds.words,
            "left": sorted(left),
            "loss": _mean(plain[0]),
            "loss_promoted": _mean(wide[0]),
            "gradients": [
                dict(_difference(one, two), variable=name)
                for (name, _), one, two in zip(gradients, plain[1:], wide[1:])
            ],
            "narrowings": [
                dict(_rounding(value), op=op.name, shape=list(value.shape)) for op, value in zip(narrowed, before)
            ],
        }


def _batch(inputs: list[Any], values: dict[int, Any]) -> list[Any]:
    np = sys.modules["numpy"]
    found = []
    total = 0
    for tensor in inputs:
        value = np.asarray(values[id(tensor)])
        dtype = tensor.dtype.as_numpy_dtype
        if value.dtype != dtype:
            value = value.astype(dtype)
        rank = tensor.shape.rank
        if rank is not None and value.ndim == rank - 1:
            value = value[..., None]  # Keras makes columns of one-dimensional targets
        if not tensor.shape.is_compatible_with(value.shape):
            raise CannotRepeat(
                "the batch that was kept has the shape {}, the step wants {}".format(value.shape, tensor.shape)
            )
        total += value.nbytes
        found.append(value)
    if total > MOST_BYTES:
        raise CannotRepeat("the batch is larger than {:,} bytes".format(MOST_BYTES))
    return found


def _twice(
    graph: Any,
    definition: Any,
    nodes: list[Any],
    inputs: list[Any],
    outputs: list[Any],
    looked_at: list[Any],
    rounded: set[str],
) -> tuple[Any, set[str]]:
    """A function of a batch that gives the outputs as traced, promoted, and the values that the narrowing operations take; the types
    of the operations that stay float32 in the promoted copy."""
    from tensorflow.python.eager import wrap_function
    from tensorflow.python.framework import importer, ops, tensor_spec
    from tensorflow.python.ops import math_ops

    captures = [(outer, inner) for outer, inner in graph.captures]
    random = {node.name for node in nodes if promotion.is_random(node.op)}
    names = [tensor.name for tensor in outputs]
    stayed: set[str] = set()

    def computed(*batch: Any) -> Any:
        mapping = {tensor.name: value for tensor, value in zip(inputs, batch)}
        needed = {source.lstrip("^").split(":", 1)[0] for node in nodes for source in node.input}
        for outer, inner in captures:
            if inner.op.name in needed:
                mapping[inner.name] = ops.get_default_graph().capture(outer)
        drawn = sorted(random)
        first = importer.import_graph_def(
            promotion.plain(definition, nodes),
            input_map=mapping,
            return_elements=[*names, *[tensor.name for tensor in looked_at], *[name + ":0" for name in drawn]],
            name="as_traced",
        )
        plain, before, draws = (
            first[: len(names)],
            first[len(names) : len(first) - len(drawn)],
            first[len(first) - len(drawn) :],
        )

        def doubled(tensor: Any) -> Any:
            return (
                math_ops.cast(tensor, "float64") if tensor.dtype.name in ("float32", "float16", "bfloat16") else tensor
            )

        wide_definition, widened, left = promotion.promoted(definition, nodes, random, rounded)
        stayed.update(left)
        wide_mapping = {name: doubled(value) for name, value in mapping.items()}
        wide_mapping.update({name + ":0": doubled(value) for name, value in zip(drawn, draws)})
        read = {source.split(":", 1)[0] for node in wide_definition.node for source in node.input}
        wide_mapping = {name: value for name, value in wide_mapping.items() if name.split(":", 1)[0] in read}
        wide = importer.import_graph_def(
            wide_definition,
            input_map=wide_mapping,
            return_elements=[widened.get(name, name) for name in names],
            name="promoted",
        )
        return plain, wide, before

    function = wrap_function.wrap_function(computed, [tensor_spec.TensorSpec(t.shape, t.dtype) for t in inputs])

    def run(batch: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        from tensorflow.python.framework import constant_op

        plain, wide, before = function(*[constant_op.constant(value) for value in batch])
        return [t.numpy() for t in plain], [t.numpy() for t in wide], [t.numpy() for t in before]

    return run, stayed


def _double_input(op: Any) -> int:
    return next((index for index, tensor in enumerate(op.inputs) if tensor.dtype.name == "float64"), 0)


def _mean(value: Any) -> Optional[float]:
    number = float(value.astype("float64").mean()) if value.size else None
    return number if number is not None and number == number else None


def _difference(one: Any, two: Any) -> dict[str, Any]:
    """The largest difference of two gradients, relative to the largest entry of the second, and the cosine of the angle between them."""
    np = sys.modules["numpy"]
    narrow, wide = one.astype("float64"), two.astype("float64")
    scale = float(np.abs(wide).max()) if wide.size else 0.0
    difference = float(np.abs(narrow - wide).max()) if wide.size else 0.0
    return {"relative": difference / scale if scale else None, "scale": scale}


def _rounding(value: Any) -> dict[str, Any]:
    """What rounding these values to float32 costs: the largest and the median relative error, and the share that is not exact."""
    np = sys.modules["numpy"]
    flat = value.reshape(-1).astype("float64")
    flat = flat[:: max(1, flat.size // (20 * numbers.SAMPLE))]
    with np.errstate(all="ignore"):
        flat = flat[np.isfinite(flat) & (flat != 0.0)]
        error = np.abs(flat - flat.astype("float32").astype("float64")) / np.abs(flat)
        error = error[np.isfinite(error)]
    if not error.size:
        return {"values": 0}
    return {
        "values": int(error.size),
        "largest": float(error.max()),
        "median": float(np.median(error)),
        "share": float((error > 0).mean()),
    }
