"""Watches which functions are traced, which of them train, and the casts outside of any; what a function holds is read once it is traced."""

from __future__ import annotations

import sys
import threading
import weakref
from types import ModuleType
from typing import Any, Iterator, Optional

from . import arrays, rewire, stack
from .bounds import Bounds
from .damage import DamageWatch
from .graph_reading import GraphReader, captures_of
from .imports import ImportWatch
from .kernels import KernelsWatch
from .recorder import Recorder
from .wire import Wire

MOST_NARROWINGS = 200
MOST_OPERATIONS = 200_000


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
        reader = GraphReader(graph, self._recorder)
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
            self.data.captured([outer for outer, _ in captures_of(graph)])
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
