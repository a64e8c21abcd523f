"""Reads traced functions after the fact: where float64 narrows, where narrower numbers join it, who wrote that, and what it reaches."""

from __future__ import annotations

import sys
import threading
import weakref
from types import ModuleType
from typing import Any, Iterator, Optional

from . import arrays, numbers, rewire, stack
from .bounds import Bounds
from .damage import DamageWatch
from .imports import ImportWatch
from .kernels import KernelsWatch
from .recorder import Recorder
from .wire import Wire

MOST_NARROWINGS = 200
MOST_OPERATIONS = 200_000
# Operations that run another graph: what is inside is looked at there.
_CALLS = (
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
_RANDOM = (
    "Random",
    "StatelessRandom",
    "TruncatedNormal",
    "ParameterizedTruncatedNormal",
    "StatelessTruncatedNormal",
    "StatelessParameterized",
)
_ASSIGNS = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceScatter")


class GraphsWatch:
    """Sends ``graph`` events for each traced function, and ``eager_cast`` events for casts outside of any."""

    def __init__(self, wire: Wire, imports: ImportWatch, recorder: Recorder, bounds: Bounds) -> None:
        self._wire = wire
        self._imports = imports
        self._recorder = recorder
        self._bounds = bounds
        self._fresh: list[Any] = []
        self._graph_serial = 0
        self._gradients: list[Any] = []
        self._depth = threading.local()
        self._updating: weakref.WeakSet[Any] = weakref.WeakSet()
        self._intervals: dict[int, tuple[Any, list[tuple[int, int, int, str]]]] = {}
        self._eager: dict[tuple[str, int, str], int] = {}
        self.damage = DamageWatch(wire)
        # Who is told what enters a function that trains, what it captured, and what is differentiated.
        self.data: Any = None
        self.layers_by_node: dict[str, tuple[int, str]] = {}
        self.kernels = KernelsWatch(wire)

    def watch(self) -> None:
        """Watch TensorFlow's modules as they are imported."""
        self._imports.after("tensorflow.python.framework.func_graph", self._func_graphs)
        self._imports.after("tensorflow.python.eager.polymorphic_function.polymorphic_function", self._functions)
        self._imports.after("tensorflow.python.eager.backprop", self._tapes)
        self._imports.after("tensorflow.python.ops.math_ops", self._casts)

    # -- which graphs there are

    def _func_graphs(self, module: ModuleType) -> None:
        fresh, damage = self._fresh, self.damage

        def initialised(original: Any, graph: Any, args: Any, kwargs: Any) -> Any:
            result = original(graph, *args, **kwargs)
            if len(fresh) < 5000 and not damage.measuring:
                fresh.append(weakref.ref(graph))
            return result

        rewire.wrap_method(module.FuncGraph, "__init__", initialised)

    def _functions(self, module: ModuleType) -> None:
        watch = self
        state = self._depth

        def called(original: Any, function: Any, args: Any, kwargs: Any) -> Any:
            running = getattr(state, "functions", None)
            if running is None:
                running = state.functions = []
            outermost = not running
            loop = ("function", id(function))
            counts = outermost and function in watch._updating
            if counts:
                watch._bounds.before_update(loop)
            running.append(function)
            fresh = len(watch._fresh)
            try:
                result = original(function, *args, **kwargs)
            finally:
                running.pop()
            if outermost and watch._wire.in_charge:
                if len(watch._fresh) != fresh and not watch._bounds.in_fit:
                    watch.examine()
                if counts or function in watch._updating:
                    watch._enters(function, args, kwargs)
                    watch._bounds.after_update(loop, _first_scalar(result))
            return result

        rewire.wrap_method(module.Function, "__call__", called)

    def _enters(self, function: Any, args: Any, kwargs: Any) -> None:
        if self.data is not None and not self._bounds.in_fit:
            self.data.function_called(function, args, kwargs)

    def tracing(self) -> bool:
        """Whether a function is being traced just now."""
        ops = sys.modules.get("tensorflow.python.framework.ops")
        try:
            return ops is not None and not sys.modules["tensorflow.python.eager.context"].executing_eagerly()
        except Exception:  # noqa: BLE001 - early or late in TensorFlow's life
            return False

    def mark_update(self) -> None:
        """The function being traced updates weights: each of its calls is a training step."""
        running = getattr(self._depth, "functions", None)
        if running:
            self._updating.add(running[0])

    def _tapes(self, module: ModuleType) -> None:
        watch = self

        def gradient(original: Any, tape: Any, args: Any, kwargs: Any) -> Any:
            sources = args[1] if len(args) > 1 else kwargs.get("sources")
            target = args[0] if args else kwargs.get("target")
            traced = watch.tracing()
            if (watch._bounds.in_fit and not traced) or not _any_variable(sources):
                return original(tape, *args, **kwargs)
            if traced:
                if not watch._bounds.in_fit:
                    watch.mark_update()
                result = original(tape, *args, **kwargs)
                watch.damage.differentiated(target, sources, result)
                return result
            frames = stack.user_frames(most=1)
            loop = ("tape", frames[-1]["file"], frames[-1]["line"]) if frames else ("tape", "", 0)
            watch._bounds.before_update(loop)
            result = original(tape, *args, **kwargs)
            watch._gradients = [weakref.ref(leaf) for leaf in arrays.leaves(result) if hasattr(leaf, "numpy")][:200]
            if watch.data is not None:
                watch.data.differentiated(target)
            watch._bounds.after_update(loop, _first_scalar(target))
            return result

        rewire.wrap_method(module.GradientTape, "gradient", gradient)

    def _casts(self, module: ModuleType) -> None:
        watch = self

        def cast(original: Any, args: Any, kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            try:
                value = args[0] if args else kwargs.get("x")
                before = getattr(getattr(value, "dtype", None), "name", None)
                after = getattr(getattr(result, "dtype", None), "name", None)
                if before == "float64" and arrays.is_narrow(after) and hasattr(result, "numpy") and not watch.tracing():
                    watch._eager_cast(value, before, str(after))
            except Exception as error:  # noqa: BLE001 - the script must not notice
                watch._wire.trouble("looking at a cast", error)
            return result

        rewire.change_in_place(module.cast, cast)

    def _eager_cast(self, value: Any, before: str, after: str) -> None:
        frame = sys._getframe(3)
        frames = stack.user_frames(frame)
        if not frames:
            return
        key = (frames[-1]["file"], frames[-1]["line"], after)
        self._eager[key] = count = self._eager.get(key, 0) + 1
        if count > 1:
            return
        described = arrays.describe(value)
        by, _, _ = stack.author(_summaries(frame))
        self._wire.send(
            "eager_cast",
            source_dtype=before,
            result_dtype=after,
            by=by,
            shape=described.shape if described else None,
            values=described.values() if described else None,
            in_tape=_recording(),
            gradient=any(reference() is value for reference in self._gradients),
            frames=frames,
        )

    # -- which layer an operation belongs to

    def layer_enters(self) -> Optional[tuple[Any, int]]:
        """The graph being built and how many operations it has, or None outside of any FuncGraph."""
        ops = sys.modules.get("tensorflow.python.framework.ops")
        if ops is None or not self.tracing():
            return None
        graph = ops.get_default_graph()
        return graph, _count_of(graph)

    def layer_leaves(self, entered: tuple[Any, int], serial: int, name: str) -> None:
        """The operations that the graph got since ``layer_enters`` belong to this layer."""
        graph, begin = entered
        end = _count_of(graph)
        known = self._intervals.get(id(graph))
        if known is None or known[0]() is not graph:
            known = self._intervals[id(graph)] = (weakref.ref(graph), [])
        known[1].append((begin, end, serial, name))

    def _layer_of(self, graph: Any, index: int) -> tuple[Optional[int], str]:
        known = self._intervals.get(id(graph))
        best: Optional[tuple[int, int, int, str]] = None
        if known is not None and known[0]() is graph:
            for interval in known[1]:
                if interval[0] <= index < interval[1] and (
                    best is None or interval[1] - interval[0] <= best[1] - best[0]
                ):
                    best = interval
        return (best[2], best[3]) if best is not None else (None, "")

    # -- what they hold

    def examine(self) -> None:
        """Look at the graphs that were traced since the last time, and tell what was found."""
        fresh, self._fresh[:] = list(self._fresh), []
        for reference in fresh:
            graph = reference()
            if graph is None:
                continue
            try:
                self._examine(graph)
            except Exception as error:  # noqa: BLE001 - the script must not notice
                self._wire.trouble("reading the graph " + str(getattr(graph, "name", "")), error)
            del graph

    def _examine(self, graph: Any) -> None:
        operations = graph.get_operations()
        if not operations or len(operations) > MOST_OPERATIONS:
            return
        dtypes: dict[str, int] = {}
        found: list[dict[str, Any]] = []
        reader = _Reader(graph, self._recorder)
        for index, op in enumerate(operations):
            outputs = [tensor.dtype.name for tensor in op.outputs]
            for name in outputs:
                if name.startswith(("float", "bfloat")):
                    dtypes[name] = dtypes.get(name, 0) + 1
            if len(found) < MOST_NARROWINGS:
                facts = reader.look(op, outputs)
                if facts is not None:
                    serial, layer_name = self._layer_of(graph, index)
                    facts["layer"] = serial
                    facts["layer_name"] = layer_name or None
                    facts["package_version"] = stack.version_of(facts.get("package", ""))
                    found.append({key: value for key, value in facts.items() if value is not None})
        found.extend(reader.captured_constants(operations)[: MOST_NARROWINGS - len(found)])
        by_name = {op.name: op for op in operations}
        self._graph_serial += 1
        serial = self._graph_serial
        self.damage.narrows(
            graph, serial, [by_name[facts["op"]] for facts in found if _may_cost(facts) and facts["op"] in by_name]
        )
        self._remember_nodes(graph, operations)
        if self.data is not None:
            self.data.captured([outer for outer, _ in _captures(graph)])
        self.kernels.collect(graph, operations, self._layer_of)
        role = "dataset" if str(graph.name).startswith("Dataset_") else "function"
        if not dtypes and not found:
            return
        self._wire.send(
            "graph",
            serial=serial,
            name=str(graph.name),
            operations=len(operations),
            dtypes=dtypes,
            role=role,
            narrowings=found,
            frames=reader.any_user_frames(operations),
        )

    def _remember_nodes(self, graph: Any, operations: list[Any]) -> None:
        """Keep the layer of each operation that lacks kernels now and then, for errors that come when the graph runs."""
        known = self._intervals.get(id(graph))
        if known is None or len(self.layers_by_node) > 100_000:
            return
        for index, op in enumerate(operations):
            serial, name = self._layer_of(graph, index)
            if serial is not None:
                self.layers_by_node[op.name] = (serial, name)


def _may_cost(facts: dict[str, Any]) -> bool:
    """Whether a narrowing is worth measuring: it is somebody's, and it is not seen to reach nothing."""
    return facts["reaches"] not in ("nothing", "metric") and (
        facts["by"] != stack.FRAMEWORK or facts["kind"] == "narrows"
    )


def _count_of(graph: Any) -> int:
    count = getattr(graph, "num_operations", None)
    if callable(count):
        try:
            return int(count())
        except Exception:  # noqa: BLE001 - then the slow way
            pass
    return len(graph.get_operations())


def _recording() -> bool:
    """Whether a gradient tape is recording."""
    record = sys.modules.get("tensorflow.python.eager.record")
    try:
        return bool(record is not None and record.could_possibly_record())
    except Exception:  # noqa: BLE001 - a private question; without an answer it is not claimed
        return False


def _summaries(frame: Any) -> Iterator[Any]:
    import traceback

    return iter(traceback.StackSummary.extract(traceback.walk_stack(frame), lookup_lines=False)[::-1])


def _any_variable(sources: Any) -> bool:
    for leaf in arrays.leaves(sources):
        described = arrays.describe(leaf) if leaf is not None else None
        if described is not None and described.kind == "variable":
            return True
    return False


def _first_scalar(result: Any) -> Optional[float]:
    for leaf in arrays.leaves(result):
        described = arrays.describe(leaf) if leaf is not None else None
        if (
            described is not None
            and described.kind == "tensor"
            and described.shape == []
            and described.dtype in arrays.FLOATS
        ):
            try:
                return float(leaf)
            except Exception:  # noqa: BLE001 - a loss that cannot be read is not known
                return None
    return None


class _Reader:
    """One graph's operations, read for where the precision changes."""

    def __init__(self, graph: Any, recorder: Recorder) -> None:
        self._graph = graph
        self._recorder = recorder
        self._captured = {id(inner): outer for outer, inner in _captures(graph)}
        self._trainable = _handles(graph, True)
        self._joined: set[Any] = set()
        self._narrowed: set[str] = set()

    def any_user_frames(self, operations: list[Any]) -> list[dict[str, Any]]:
        """The user's frames behind the last operation, as the place where the function was traced."""
        return _author(operations[-1])[2][-3:] if operations else []

    def look(self, op: Any, outputs: list[str]) -> Optional[dict[str, Any]]:
        """The facts of an ``observe.Narrowing``, or None when nothing changes at this operation."""
        if op.type in _CALLS or not outputs:
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
        by, package, frames = _author(op)
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
            "shape": _shape(op.inputs[0]),
            "frames": frames,
        }

    def _constant(self, op: Any, dtype: str) -> Optional[dict[str, Any]]:
        """A float64 constant whose values have all been through float32."""
        if dtype != "float64":
            return None
        values, first = _constant_values(op)
        if values is None or not _laundered(values):
            return None
        by, package, frames = _author(op)
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
            "shape": _shape(op.outputs[0]),
            "values": values,
            "constant": first if values["size"] == 1 else None,
            "made": made,
            "frames": frames,
        }

    def captured_constants(self, operations: list[Any]) -> list[dict[str, Any]]:
        """The float64 tensors, made outside and captured, whose values have all been through float32."""
        found = []
        for outer, inner in _captures(self._graph):
            if not hasattr(outer, "numpy") or outer.dtype.name != "float64":
                continue
            described = arrays.describe(outer)
            values = described.values() if described is not None else None
            made = self._recorder.makers.of(outer)
            if values is None or not _laundered(values) or made is None:
                continue
            users = list(inner.consumers())
            by, package, frames = _author(users[0]) if users else (stack.USER, "", [])
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
                    "shape": _shape(inner),
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
            if any(t.dtype.name == "float64" for t in maker.inputs) and maker.type not in _CALLS:
                return None
            if maker.type not in _EXACT and not maker.type.startswith(_RANDOM):
                computing = True
            if narrow_inputs:
                pending.extend(narrow_inputs)
            else:
                sources.append((_source_kind(maker, self._captured), maker))
        for source, maker in sources:
            facts = self._joining_source(op, dtype, source, maker, computing)
            if facts is not None:
                return facts
        return None

    def _joining_source(
        self, op: Any, dtype: str, source: str, maker: Any, computing: bool
    ) -> Optional[dict[str, Any]]:
        by, package, frames = _author(maker)
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
            holder = _captured_root(maker, self._captured)
            if holder is None:
                return None
            made = self._recorder.makers.of(holder)
            described = arrays.describe(holder)
            values = described.values() if described is not None else None
            if values is not None and values["nontrivial"] == 0:
                return None
            if made is None:
                by, package, frames = _author(op)
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
            "shape": _shape(op.inputs[0]),
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
    inner = {id(placeholder): outer for outer, placeholder in _captures(graph)}
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
        if op.type in _CALLS:
            for attribute in ("f", "then_branch", "else_branch", "body", "cond"):
                try:
                    if name in op.get_attr(attribute).name:
                        found.append(op)
                except Exception:  # noqa: BLE001 - most operations lack most attributes
                    continue
    return found


def _captures(graph: Any) -> list[tuple[Any, Any]]:
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
        for outer, inner in _captures(walker):
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
        for outer, inner in _captures(level):
            if id(outer) in found:
                found.add(id(inner))
    return found


def _author(op: Any) -> tuple[str, str, list[dict[str, Any]]]:
    try:
        return stack.author(op.traceback)
    except Exception:  # noqa: BLE001 - an operation without a stack has no author
        return stack.FRAMEWORK, "", []


def _shape(tensor: Any) -> Optional[list[Optional[int]]]:
    try:
        return [None if d is None else int(d) for d in tensor.shape.as_list()]
    except Exception:  # noqa: BLE001 - unknown rank
        return None


def _source_kind(maker: Any, captured: dict[int, Any]) -> str:
    if maker.type == "Const":
        return "constant"
    if maker.type.startswith(_RANDOM):
        return "random"
    if maker.type in ("ReadVariableOp", "ResourceGather"):
        return "variable"
    if maker.type == "Placeholder":
        return "captured" if any(id(t) in captured for t in maker.outputs) else "input"
    if maker.type in ("IteratorGetNext", "Arg", "_Arg"):
        return "input"
    return "cast" if maker.type == "Cast" else "island"


def _captured_root(maker: Any, captured: dict[int, Any]) -> Any:
    """The eager tensor or variable handle behind a captured placeholder or a read of one, through nested graphs."""
    tensor = maker.outputs[0] if maker.type == "Placeholder" else maker.inputs[0]
    for _ in range(8):
        outer = captured.get(id(tensor))
        if outer is None:
            outer = (
                next((o for o, i in _captures(tensor.graph) if i is tensor), None) if hasattr(tensor, "graph") else None
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
