"""Reads one traced function: where its precision changes, who wrote that, where narrow numbers come from, and what they reach."""

from __future__ import annotations

import sys
from typing import Any, Optional

from . import arrays, numbers, stack
from .recorder import Recorder

# Operations that run another graph: what is inside is looked at there.
CALLS = (
    "PartitionedCall",
    "StatefulPartitionedCall",
    "While",
    "StatelessWhile",
    "If",
    "StatelessIf",
    "Case",
    "StatelessCase",
    "SymbolicGradient",
    "RemoteCall",
    "XlaLaunch",
)
# Operations of float32 that lose nothing when their operands are exact.
_EXACT = frozenset(
    """
    Identity Reshape Squeeze ExpandDims Transpose Shape Slice StridedSlice Gather GatherV2 Concat ConcatV2 Pack
    Unpack Split SplitV Tile Fill Neg Abs Maximum Minimum Select SelectV2 Cast Const Placeholder ReadVariableOp
    StopGradient BroadcastTo ZerosLike OnesLike Relu Floor Ceil Round Sign IdentityN NoOp Pad PadV2
    PreventGradient EnsureShape
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
RANDOM = (
    "Random",
    "StatelessRandom",
    "TruncatedNormal",
    "ParameterizedTruncatedNormal",
    "StatelessTruncatedNormal",
    "StatelessParameterized",
    "Multinomial",
)
_ASSIGNS = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceScatter")


class GraphReader:
    """One graph's operations, read for where the precision changes."""

    def __init__(self, graph: Any, recorder: Recorder) -> None:
        self._graph = graph
        self._recorder = recorder
        self._captured = {id(inner): outer for outer, inner in captures_of(graph)}
        self._trainable = _handles(graph, True)
        self._joined: set[Any] = set()
        self._narrowed: set[str] = set()

    def any_user_frames(self, operations: list[Any]) -> list[dict[str, Any]]:
        """The user's frames behind the last operation, as the place where the function was traced."""
        return author_of(operations[-1])[2][-3:] if operations else []

    def look(self, op: Any, outputs: list[str]) -> Optional[dict[str, Any]]:
        """The facts of an ``observe.Narrowing``, or None when nothing changes at this operation."""
        if op.type in CALLS or not outputs:
            return None
        if op.type == "Const":
            return self._constant(op, outputs[0])
        inputs = [tensor.dtype.name for tensor in op.inputs]
        if "float64" in inputs and any(arrays.is_narrow(name) for name in outputs):
            return self._narrows(op, inputs, outputs)
        if outputs[0] == "float64" and op.type == "Cast" and inputs and arrays.is_narrow(inputs[0]):
            return self._joins(op, inputs[0])
        return None

    def _narrows(self, op: Any, inputs: list[str], outputs: list[str]) -> Optional[dict[str, Any]]:
        by, package, frames = author_of(op)
        self._narrowed.add(op.name)
        backwards = op.name.startswith("gradient_tape/") or "/gradient_tape/" in op.name
        if backwards:
            return None
        narrow = next(name for name in outputs if arrays.is_narrow(name))
        return {
            "kind": "narrows",
            "op": op.name,
            "type": op.type,
            "source_dtype": "float64",
            "result_dtype": narrow,
            "by": by,
            "package": package,
            "reaches": self._reaches(op),
            "shape": shape_of(op.inputs[0]),
            "frames": frames,
        }

    def _constant(self, op: Any, dtype: str) -> Optional[dict[str, Any]]:
        """A float64 constant whose values have all been through float32."""
        if dtype != "float64":
            return None
        values, first = _constant_values(op)
        if values is None or not _laundered(values):
            return None
        by, package, frames = author_of(op)
        if by == stack.FRAMEWORK or not frames:
            return None
        made = self._recorder.makers.of_scalar(first) if values["size"] == 1 else self._same_values(op)
        return {
            "kind": "joins",
            "op": op.name,
            "type": op.type,
            "source": "constant",
            "source_dtype": "float32",
            "result_dtype": "float64",
            "by": by,
            "package": package,
            "reaches": self._reaches(op),
            "shape": shape_of(op.outputs[0]),
            "values": values,
            "constant": first if values["size"] == 1 else None,
            "made": made,
            "frames": frames,
        }

    def captured_constants(self, operations: list[Any]) -> list[dict[str, Any]]:
        """The float64 tensors, made outside and captured, whose values have all been through float32."""
        found = []
        for outer, inner in captures_of(self._graph):
            if not hasattr(outer, "numpy") or outer.dtype.name != "float64":
                continue
            described = arrays.describe(outer)
            values = described.values() if described is not None else None
            made = self._recorder.makers.of(outer)
            if values is None or not _laundered(values) or made is None:
                continue
            users = list(inner.consumers())
            by, package, frames = author_of(users[0]) if users else (stack.USER, "", [])
            found.append(
                {
                    "kind": "joins",
                    "op": inner.op.name,
                    "type": "Placeholder",
                    "source": "captured",
                    "source_dtype": "float32",
                    "result_dtype": "float64",
                    "by": by,
                    "package": package,
                    "reaches": self._reaches(inner.op),
                    "shape": shape_of(inner),
                    "values": values,
                    "constant": float(outer.numpy()) if values["size"] == 1 else None,
                    "made": made,
                    "frames": frames,
                }
            )
        return [{key: value for key, value in facts.items() if value is not None} for facts in found]

    def _same_values(self, op: Any) -> Optional[int]:
        """The array event of a float32 array with exactly the values of this constant."""
        constant = _proto_array(op)
        if constant is None:
            return None
        known = self._recorder.makers.of_content(constant)
        if known is not None:
            return known
        # An array that was filled after it was made has another content by now: those that are alive are looked at as they are.
        np = sys.modules["numpy"]
        for array, serial in self._recorder.makers.arrays():
            if (
                array.dtype == np.float32
                and array.size == constant.size
                and np.array_equal(array.ravel(), constant.ravel().astype(np.float32))
            ):
                return serial
        return None

    def _joins(self, op: Any, dtype: str) -> Optional[dict[str, Any]]:
        """Where the float32 numbers come from that this cast widens: the first of their sources that is not the framework's own."""
        if "gradient_tape/" in op.name:
            return None
        computing = False
        seen: set[str] = set()
        pending = [op.inputs[0]]
        sources: list[tuple[str, Any]] = []
        while pending and len(seen) < 3000:
            tensor = pending.pop()
            maker = tensor.op
            if maker.name in seen:
                continue
            seen.add(maker.name)
            if maker.name in self._narrowed:
                return None
            narrow_inputs = [t for t in maker.inputs if arrays.is_narrow(t.dtype.name)]
            if any(t.dtype.name == "float64" for t in maker.inputs) and maker.type not in CALLS:
                return None
            if maker.type not in _EXACT and not maker.type.startswith(RANDOM):
                computing = True
            if narrow_inputs:
                pending.extend(narrow_inputs)
            else:
                sources.append((source_kind(maker, self._captured), maker))
        for source, maker in sources:
            facts = self._joining_source(op, dtype, source, maker, computing)
            if facts is not None:
                return facts
        return None

    def _joining_source(
        self, op: Any, dtype: str, source: str, maker: Any, computing: bool
    ) -> Optional[dict[str, Any]]:
        by, package, frames = author_of(maker)
        made: Optional[int] = None
        values: Optional[dict[str, Any]] = None
        constant: Optional[float] = None
        if source == "constant":
            values, first = _constant_values(maker)
            if values is None or (values["nontrivial"] == 0 and not computing):
                return None
            constant = first if values["size"] == 1 else None
            made = self._recorder.makers.of_scalar(first) if values["size"] == 1 else self._same_values(maker)
        elif source in ("captured", "variable"):
            holder = captured_root(maker, self._captured)
            if holder is None:
                return None
            made = self._recorder.makers.of(holder)
            described = arrays.describe(holder)
            values = described.values() if described is not None else None
            if values is not None and values["nontrivial"] == 0:
                return None
            if made is None:
                by, package, frames = author_of(op)
        elif source == "cast" and not computing:
            return None
        elif source == "input":
            # Data that arrive as float32: what was handed over is looked at where it is handed over.
            return None
        if by == stack.FRAMEWORK and made is None:
            return None
        key = (source, maker.name)
        if key in self._joined:
            return None
        self._joined.add(key)
        return {
            "kind": "joins",
            "op": op.name,
            "type": maker.type,
            "source": source,
            "source_dtype": dtype,
            "result_dtype": "float64",
            "by": by,
            "package": package,
            "reaches": self._reaches(op),
            "shape": shape_of(op.inputs[0]),
            "values": values,
            "constant": constant,
            "made": made,
            "frames": frames,
        }

    def _reaches(self, op: Any) -> str:
        """How far the result of an operation goes: weights, output, metric or nothing."""
        result = "nothing"
        graph, start = self._graph, [op]
        for _ in range(8):
            outcome = _forward(graph, start, self._trainable if graph is self._graph else _handles(graph, True))
            if outcome == "weights":
                return "weights"
            if outcome == "output":
                result = "output"
                outer = getattr(graph, "outer_graph", None)
                callers = _callers(outer, graph) if outer is not None and hasattr(outer, "captures") else []
                if not callers:
                    return result
                graph, start = outer, callers
                continue
            return outcome if outcome != "nothing" else result
        return result


def _forward(graph: Any, start: list[Any], trainable: set[int]) -> str:
    outputs = {tensor.op.name for tensor in graph.outputs if tensor is not None}
    inner = {id(placeholder): outer for outer, placeholder in captures_of(graph)}
    seen: set[str] = set()
    pending = list(start)
    found = "nothing"
    while pending and len(seen) < 50_000:
        op = pending.pop()
        if op.name in seen:
            continue
        seen.add(op.name)
        if op.type.startswith(_ASSIGNS) or op.type.startswith("ResourceApply"):
            holder = inner.get(id(op.inputs[0]))
            if holder is not None and id(holder) in trainable:
                return "weights"
            if found == "nothing":
                found = "metric"
            # What was assigned may be read again in the same step, as an optimizer's momentum is.
            pending.extend(reader for reader in op.inputs[0].consumers() if reader.type == "ReadVariableOp")
            continue
        if op.name in outputs and found != "metric":
            found = "output"
        for tensor in op.outputs:
            pending.extend(tensor.consumers())
    return found


def _callers(outer: Any, inner: Any) -> list[Any]:
    """The operations of ``outer`` that run the graph ``inner``."""
    name = str(inner.name)
    found = []
    for op in outer.get_operations():
        if op.type in CALLS:
            for attribute in ("f", "then_branch", "else_branch", "body", "cond"):
                try:
                    if name in op.get_attr(attribute).name:
                        found.append(op)
                except Exception:  # noqa: BLE001 - most operations lack most attributes
                    continue
    return found


def captures_of(graph: Any) -> list[tuple[Any, Any]]:
    """The captures of a graph, each with the placeholder that stands for it inside; empty for graphs of another kind."""
    try:
        return list(graph.captures)
    except Exception:  # noqa: BLE001 - a graph of another kind captures nothing
        return []


def _handles(graph: Any, trainable: bool) -> set[int]:
    found = set()
    walker = graph
    for _ in range(6):
        for variable in getattr(walker, "variables", ()) or ():
            if bool(getattr(variable, "trainable", False)) == trainable:
                found.add(id(variable.handle))
        for outer, inner in captures_of(walker):
            if id(outer) in found:
                found.add(id(inner))
        walker = getattr(walker, "outer_graph", None)
        if walker is None or not hasattr(walker, "captures"):
            break
    # A handle captured through several graphs is a placeholder in each but the outermost.
    walker = graph
    chain = []
    while walker is not None and hasattr(walker, "captures"):
        chain.append(walker)
        walker = getattr(walker, "outer_graph", None)
    for level in reversed(chain):
        for outer, inner in captures_of(level):
            if id(outer) in found:
                found.add(id(inner))
    return found


def author_of(op: Any) -> tuple[str, str, list[dict[str, Any]]]:
    """Who wrote an operation, in which package, and the user's frames: see ``stack.author``."""
    try:
        return stack.author(op.traceback)
    except Exception:  # noqa: BLE001 - an operation without a stack has no author
        return stack.FRAMEWORK, "", []


def shape_of(tensor: Any) -> Optional[list[Optional[int]]]:
    """The shape of a tensor, None for an unknown rank."""
    try:
        return [None if d is None else int(d) for d in tensor.shape.as_list()]
    except Exception:  # noqa: BLE001 - unknown rank
        return None


def source_kind(maker: Any, captured: dict[int, Any]) -> str:
    """What kind of operation numbers come from: constant, random, variable, captured, input, cast or island."""
    if maker.type == "Const":
        return "constant"
    if maker.type.startswith(RANDOM):
        return "random"
    if maker.type in ("ReadVariableOp", "ResourceGather"):
        return "variable"
    if maker.type == "Placeholder":
        return "captured" if any(id(t) in captured for t in maker.outputs) else "input"
    if maker.type in ("IteratorGetNext", "Arg", "_Arg"):
        return "input"
    return "cast" if maker.type == "Cast" else "island"


def captured_root(maker: Any, captured: dict[int, Any]) -> Any:
    """The eager tensor or variable handle behind a captured placeholder or a read of one, through nested graphs."""
    tensor = maker.outputs[0] if maker.type == "Placeholder" else maker.inputs[0]
    for _ in range(8):
        outer = captured.get(id(tensor))
        if outer is None:
            outer = (
                next((o for o, i in captures_of(tensor.graph) if i is tensor), None)
                if hasattr(tensor, "graph")
                else None
            )
        if outer is None:
            return tensor if hasattr(tensor, "numpy") else None
        if hasattr(outer, "numpy"):
            return outer
        tensor = outer
    return None


def _proto_array(op: Any) -> Any:
    tensor_util = sys.modules.get("tensorflow.python.framework.tensor_util")
    if tensor_util is None:
        return None
    try:
        shape = op.outputs[0].shape
        if (shape.num_elements() or 0) > 5_000_000:
            return None
        return tensor_util.MakeNdarray(op.get_attr("value"))
    except Exception:  # noqa: BLE001 - a constant that cannot be read is not known
        return None


def _constant_values(op: Any) -> tuple[Optional[dict[str, Any]], float]:
    array = _proto_array(op)
    if array is None or array.size == 0:
        return None, 0.0
    return numbers.describe_array(array), float(array.ravel()[0])


def _laundered(values: dict[str, Any]) -> bool:
    return bool(values["nontrivial"] > 0 and values["exact"] == values["nontrivial"] and values["bits"] >= 18)
