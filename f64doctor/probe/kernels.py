"""Asks TensorFlow's own kernel registry about every float64 operation of the traced graphs: which devices could compute it."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import Any, Callable, Optional

from . import stack
from .wire import Wire

MOST_GAPS = 60
# Each kind of operation costs the registry about a millisecond.
MOST_KINDS = 300
# Operations that run another graph are placed where its operations are.
_CALLS = frozenset(
    """
    PartitionedCall StatefulPartitionedCall While StatelessWhile If StatelessIf Case StatelessCase SymbolicGradient RemoteCall
    XlaLaunch NoOp Placeholder Const
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
_FLOAT, _DOUBLE = 1, 2
_GPU, _CPU, _DEFAULT = "GPU", "CPU", "DEFAULT"
_XLA = ("XLA_GPU_JIT", "XLA_CPU_JIT")
# Every TensorFlow that has GPU kernels has these.
_SURE = "MatMul"
_TABLE = "kernels_float64.json"
# How exceptions name an operation that a device lacks.
_NAMED = re.compile(
    r"= (\w+)\[T=DT_DOUBLE|support Op '?(\w+)'?.*DT_DOUBLE|(?:DT_DOUBLE|Supported device types \[CPU\]).*\[Op:(\w+)\]",
    re.DOTALL,
)

Types = dict[str, list[int]]
Layer = Callable[[Any, int], tuple[Optional[int], str]]


class KernelsWatch:
    """Sends one ``kernels`` event at the end: what was looked up, where, and each operation that no GPU computes in float64.

    The registry is read through ``get_registered_kernels_for_op``, which answers in silence; the shorter ``TryFindKernelClass`` writes a
    warning into the script's log for each kernel that is missing.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._registry: Any = None
        self._source = ""
        self._table: dict[tuple[str, str], str] = {}
        self._kernels: dict[str, list[Any]] = {}
        self._answers: dict[Any, Optional[dict[str, Any]]] = {}
        self._gaps: dict[Any, dict[str, Any]] = {}
        self._types: dict[Any, Types] = {}
        self._nodes: dict[str, int] = {}
        self._unasked = 0
        self._seconds = 0.0

    # -- while graphs are traced

    def collect(self, graph: Any, operations: list[Any], layer_of: Layer) -> None:
        """Look up the float64 operations of one traced graph; those of data pipelines run on the CPU anyway."""
        name = str(graph.name)
        if name.startswith("Dataset_") or not self._open():
            return
        began = time.perf_counter()
        nodes = 0
        counted: dict[Any, int] = {}
        for index, op in enumerate(operations):
            kind = op.type
            if kind in _CALLS:
                continue
            dtypes = [tensor.dtype.name for tensor in op.outputs]
            dtypes += [tensor.dtype.name for tensor in op.inputs]
            if "float64" not in dtypes and "float64_ref" not in dtypes:
                continue
            nodes += 1
            key = (kind, tuple(dtypes))
            if key not in self._answers:
                self._answers[key] = self._looked_up(op)
            answers = self._answers[key]
            if answers is None:
                continue
            self._note(op, answers, layer_of(graph, index), counted)
        self._nodes[name] = max(nodes, self._nodes.get(name, 0))
        for place, count in counted.items():
            self._gaps[place]["count"] = max(count, self._gaps[place]["count"])
        self._seconds += time.perf_counter() - began

    def _note(
        self, op: Any, answers: dict[str, Any], layer: tuple[Optional[int], str], counted: dict[Any, int]
    ) -> None:
        try:
            by, package, frames = stack.author(op.traceback)
        except Exception:  # noqa: BLE001 - an operation without a stack has no author
            by, package, frames = stack.FRAMEWORK, "", []
        line = (frames[-1]["file"], frames[-1]["line"]) if frames else None
        place = (op.type, line, layer[0])
        if place not in self._gaps and len(self._gaps) >= MOST_GAPS:
            return
        counted[place] = counted.get(place, 0) + 1
        if place in self._gaps:
            return
        self._types[place] = _types_of(op)
        self._gaps[place] = {
            "op": op.type,
            "count": 0,
            **answers,
            "inputs": [_specification(tensor) for tensor in op.inputs],
            "outputs": [_specification(tensor) for tensor in op.outputs],
            "by": by,
            "package": package,
            "backward": "gradient_tape/" in op.name,
            "layer": layer[0],
            "layer_name": layer[1] or None,
            "frames": frames,
        }

    # -- at the end

    def raised(self, error: BaseException) -> None:
        """Look up the operation that the exception names, which eager code computes outside of any traced function."""
        named = _NAMED.search(str(error)[:20_000])
        if named is None or not self._open():
            return
        kind = next(group for group in named.groups() if group)
        types = {"T": [_DOUBLE]}
        answers = self._answered(kind, types)
        if answers is None or any(place[0] == kind for place in self._gaps):
            return
        place = (kind, None, None)
        self._types[place] = types
        self._gaps[place] = {"op": kind, "count": 1, **answers}
        self._nodes.setdefault("", 1)

    def tell(self) -> None:
        """Send what was found. XLA's kernels are asked for now: they are registered when TensorFlow's context comes to be."""
        if not self._nodes:
            return
        began = time.perf_counter()
        gaps = []
        for place, facts in self._gaps.items():
            facts["xla64"] = self._xla(facts["op"], self._types[place])
            gaps.append({name: value for name, value in facts.items() if value is not None})
        self._wire.send(
            "kernels",
            source=self._source,
            nodes=sum(self._nodes.values()),
            kinds=len({kind for kind, _ in self._answers}),
            unasked=self._unasked,
            gaps=gaps,
            seconds=round(self._seconds + time.perf_counter() - began, 6),
        )

    # -- the registry

    def _open(self) -> bool:
        """Whether there is anybody to ask. A registry without any GPU kernel is that of a CPU-only wheel: then the table is read."""
        if self._source:
            return True
        if self._registry is False:
            return False
        try:
            from tensorflow.python.framework import kernels  # the script has imported TensorFlow: this costs nothing

            self._registry = kernels.get_registered_kernels_for_op
            sees = any(kernel.device_type == _GPU for kernel in self._registered(_SURE))
        except Exception as error:  # noqa: BLE001 - a private question
            self._registry = False
            self._wire.trouble("asking for kernels", error)
            return False
        if sees:
            self._source = "registry"
            return True
        version = str(getattr(sys.modules.get("tensorflow"), "__version__", ""))
        try:
            self._table, nearest = read_table(version)
        except (OSError, ValueError, KeyError) as error:
            self._registry = False
            self._wire.trouble("reading the table of kernels", error)
            return False
        self._source = "table " + nearest
        return True

    def _registered(self, kind: str) -> list[Any]:
        known = self._kernels.get(kind)
        if known is None:
            if len(self._kernels) >= MOST_KINDS:
                raise LookupError(kind)
            known = self._kernels[kind] = list(self._registry(kind).kernel)
        return known

    def _looked_up(self, op: Any) -> Optional[dict[str, Any]]:
        """What the devices answer, or None when a GPU has a float64 kernel, or nobody knows."""
        return self._answered(op.type, _types_of(op))

    def _answered(self, kind: str, types: Types) -> Optional[dict[str, Any]]:
        try:
            if self._table:
                return self._from_table(kind, types)
            kernels = self._registered(kind)
        except LookupError:
            self._unasked += 1
            return None
        if not kernels or _answers(kernels, types, _GPU):
            return None
        narrow = {name: [_FLOAT if one == _DOUBLE else one for one in values] for name, values in types.items()}
        return {
            "cpu64": _answers(kernels, types, _CPU),
            "gpu32": _answers(kernels, narrow, _GPU),
            "cpu32": _answers(kernels, narrow, _CPU),
        }

    def _from_table(self, kind: str, types: Types) -> Optional[dict[str, Any]]:
        for name, values in types.items():
            found = self._table.get((kind, name)) if _DOUBLE in values else None
            if found is not None:
                return {"cpu64": found != "no_float64", "gpu32": found == "float32_only", "cpu32": True}
        return None

    def _xla(self, kind: str, types: Types) -> Optional[bool]:
        """Whether XLA compiles it in float64; None when XLA has registered nothing here."""
        try:
            sure = {kernel.device_type for kernel in self._registered(_SURE)}
            device = next((name for name in _XLA if name in sure), None)
            return None if device is None else _answers(self._registered(kind), types, device)
        except Exception:  # noqa: BLE001 - then it is not known
            return None


def read_table(version: str) -> tuple[dict[tuple[str, str], str], str]:
    """The class of each (operation, attribute) without a float64 GPU kernel, and the version of TensorFlow that it was read from."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), _TABLE), encoding="utf-8") as file:
        body = json.load(file)
    wanted = _number(version)
    nearest = min(body["versions"], key=lambda known: (abs(_number(known)[1] - wanted[1]), -_number(known)[1]))
    table = {
        (kind, attribute): name
        for name, kinds in body["always"].items()
        for kind, attributes in kinds.items()
        for attribute in attributes
    }
    table.update({(kind, attribute): name for name, kind, attribute, where in body["only"] if nearest in where})
    return table, nearest


def _number(version: str) -> tuple[int, int]:
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    return (int(major) if major.isdigit() else 2, int(minor) if minor.isdigit() else 0)


def _types_of(op: Any) -> Types:
    """The attributes of an operation that are dtypes, as numbers."""
    found: Types = {}
    for name, value in op.node_def.attr.items():
        if value.HasField("type"):
            found[name] = [value.type]
        elif value.HasField("list") and value.list.type:
            found[name] = list(value.list.type)
    return found


def _answers(kernels: list[Any], types: Types, device: str) -> bool:
    """Whether one of the kernels is for these dtypes on this device. As in TensorFlow, kernels for any device count for real ones."""
    devices = (device,) if device in _XLA else (device, _DEFAULT)
    return any(
        kernel.device_type in devices
        and not kernel.label
        and all(
            set(types.get(constraint.name, ())) <= set(constraint.allowed_values.list.type)
            for constraint in kernel.constraint
            if constraint.allowed_values.list.type
        )
        for kernel in kernels
    )


def _specification(tensor: Any) -> dict[str, Any]:
    try:
        shape = [None if size is None else int(size) for size in tensor.shape.as_list()]
    except Exception:  # noqa: BLE001 - unknown rank
        return {"dtype": tensor.dtype.name}
    return {"dtype": tensor.dtype.name, "shape": shape}
