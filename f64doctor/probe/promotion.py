"""Copies the part of a traced graph that gives some tensors, once as it is and once with every narrow float made float64.

In the second copy each float edge is a double. What an operation can only do in float32 it still does, between two casts; constants are read
as the decimal numbers that were meant (float32 0.1 becomes 0.1); variables, captured tensors and random numbers stay as they are and are cast up.
Nothing that writes is copied: a copy has no effect but its results.
"""

from __future__ import annotations

from typing import Any, Optional

from .graph_reading import CALLS, RANDOM

# TensorFlow's numbers for dtypes (types.proto).
FLOAT, DOUBLE, HALF, BFLOAT16 = 1, 2, 19, 14
_NARROW = (FLOAT, HALF, BFLOAT16)
# These have an effect or run foreign code: a computation that needs them cannot be repeated.
# These run foreign code or draw from somewhere, and TensorFlow does not call them stateful.
_UNREPEATABLE = ("PyFunc", "EagerPyFunc", "PyFuncStateless")
# Drawn once for both copies, from kernels of the copies' own: the script's generators are not touched.
_SEEDED = (
    "RandomUniform",
    "RandomUniformInt",
    "RandomStandardNormal",
    "TruncatedNormal",
    "ParameterizedTruncatedNormal",
    "RandomGamma",
    "RandomPoissonV2",
    "RandomShuffle",
    "Multinomial",
)
# Reading state is no effect; neither is running another graph, whose operations are looked at themselves.
_READERS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarHandleOp", "LookupTableFindV2")
_CALLS = tuple(
    op for op in CALLS if op not in ("SymbolicGradient", "RemoteCall", "XlaLaunch")
)  # these cannot be looked into
_MOST_SHORTENED = 100_000
# Every decimal number of so many digits survives float32 and back: a constant with no more was meant as that number.
_SHORT = 6


class CannotRepeat(Exception):
    """The computation cannot be run a second time; the message says why."""


def closure(definition: Any, wanted: list[str], fed: set[str]) -> list[Any]:
    """The nodes of a GraphDef that the wanted tensors are computed from, without those that are fed. Raises ``CannotRepeat``."""
    nodes = {node.name: node for node in definition.node}
    needed: set[str] = set()
    pending = [_node_of(name) for name in wanted]
    while pending:
        name = pending.pop()
        if name in needed or name in fed:
            continue
        needed.add(name)
        node = nodes.get(name)
        if node is None:
            raise CannotRepeat("an operation is missing from the graph")
        _refuse(node)
        pending.extend(_node_of(source) for source in node.input if not source.startswith("^"))
    return [node for node in definition.node if node.name in needed]


def _refuse(node: Any) -> None:
    """What has state may change it when it runs again: only reading is let through, random kernels of their own, and calls, which are looked into."""
    from tensorflow.python.framework import op_def_registry

    definition = op_def_registry.get(node.op)
    stateful = definition is None or definition.is_stateful
    if node.op in _UNREPEATABLE or (stateful and node.op not in (*_READERS, *_CALLS, *_SEEDED)):
        raise CannotRepeat("it runs {}, which has an effect of its own or cannot be called again".format(node.op))


def _node_of(tensor: str) -> str:
    return tensor.lstrip("^").split(":", 1)[0]


def is_random(op: str) -> bool:
    """Whether an operation draws random numbers."""
    return op.startswith(RANDOM)


def plain(definition: Any, nodes: list[Any]) -> Any:
    """A GraphDef of these nodes as they are, without control edges, and with all functions."""
    copy = type(definition)()
    copy.versions.CopyFrom(definition.versions)
    copy.library.CopyFrom(definition.library)
    for node in nodes:
        _take(copy.node, node)
    return copy


def promoted(
    definition: Any, nodes: list[Any], given: set[str], rounded: set[str]
) -> tuple[Any, dict[str, str], set[str]]:
    """A GraphDef of these nodes in which every float is double, the new names of the tensors that had to be cast up, and the types of the
    operations that have no float64 form.

    ``given``: names of nodes whose tensors will be mapped in from outside, as doubles. ``rounded``: double constants that were float32 once.
    """
    copy = type(definition)()
    copy.versions.CopyFrom(definition.versions)
    called = _functions_called(definition.library, nodes)
    for function in definition.library.function:
        copy.library.function.add().CopyFrom(function)
        if function.signature.name in called:
            _promoted_function(copy.library.function.add(), function)
    promoter = _Promoter(copy.node, called, None)
    promoter.rounded = rounded
    promoter.run(nodes, given)
    return copy, promoter.widened, promoter.left


def _functions_called(library: Any, nodes: list[Any]) -> set[str]:
    functions = {function.signature.name: function for function in library.function}
    found: set[str] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        for value in node.attr.values():
            names = [value.func.name] if value.HasField("func") else [f.name for f in value.list.func]
            for name in names:
                if name in functions and name not in found and node.op in _CALLS:
                    found.add(name)
                    for inner in functions[name].node_def:
                        _refuse(inner)
                        if is_random(inner.op) and not inner.op.startswith("Stateless"):
                            raise CannotRepeat("it draws random numbers inside of a nested function")
                        if inner.op.startswith(("Assign", "ResourceApply", "ResourceScatter")):
                            raise CannotRepeat("it writes to variables inside of a nested function")
                    pending.extend(functions[name].node_def)
    return found


def _take(nodes: Any, node: Any) -> Any:
    """Add a copy of a node without its control edges."""
    copy = nodes.add()
    copy.CopyFrom(node)
    del copy.input[:]
    copy.input.extend(source for source in node.input if not source.startswith("^"))
    # The copy is compiled and placed by nobody's wish but TensorFlow's own.
    for name in ("_XlaMustCompile", "_class", "_XlaScope", "_gradient_op_type"):
        if name in copy.attr:
            del copy.attr[name]
    return copy


def _suffix(name: str) -> str:
    return name + "__float64"


def _promoted_function(copy: Any, function: Any) -> None:
    copy.CopyFrom(function)
    copy.signature.name = _suffix(function.signature.name)
    for argument in [*copy.signature.input_arg, *copy.signature.output_arg]:
        if argument.type in _NARROW:
            argument.type = DOUBLE
    for name in [
        name for name in copy.attr if name in ("_XlaMustCompile", "forward_function_name", "backward_function_name")
    ]:
        del copy.attr[name]
    del copy.node_def[:]
    promoter = _Promoter(copy.node_def, None, {argument.name for argument in function.signature.input_arg})
    promoter.run(list(function.node_def), set())
    for output, source in list(copy.ret.items()):
        copy.ret[output] = promoter.widened.get(source, source)
    copy.control_ret.clear()
    del copy.signature.control_output[:]


class _Promoter:
    """Writes the nodes of one graph or function anew. ``arguments`` is None for a graph, whose tensors are called ``node:index``."""

    def __init__(self, nodes: Any, called: Optional[set[str]], arguments: Optional[set[str]]) -> None:
        self._nodes = nodes
        self._called = called
        self._in_function = arguments is not None
        self.widened: dict[str, str] = {}
        self.rounded: set[str] = set()
        self.left: set[str] = set()

    def run(self, nodes: list[Any], given: set[str]) -> None:
        """Add the promoted copies."""
        from tensorflow.python.framework import op_def_registry

        copies = []
        for node in nodes:
            if node.name in given:
                continue
            definition = op_def_registry.get(node.op)
            if definition is None:
                raise CannotRepeat("the operation {} is not known".format(node.op))
            copies.append((self._promote(node, definition), definition))
        for copy, definition in copies:
            self._connect(copy, definition)

    # -- a node

    def _promote(self, node: Any, definition: Any) -> Any:
        copy = _take(self._nodes, node)
        stays = is_random(node.op) or node.op in _READERS or node.op.startswith("Placeholder")
        if node.op == "Const":
            self._constant(copy)
        elif not stays:
            allowed = {attr.name: list(attr.allowed_values.list.type) for attr in definition.attr}
            for name, value in copy.attr.items():
                if value.WhichOneof("value") == "type" and value.type in _NARROW:
                    if not allowed.get(name) or DOUBLE in allowed[name]:
                        value.type = DOUBLE
                elif value.HasField("list") and value.list.type:
                    value.list.type[:] = [DOUBLE if t in _NARROW else t for t in value.list.type]
                if node.op in _CALLS:
                    if value.HasField("func"):
                        value.func.name = _suffix(value.func.name)
                    for function in value.list.func:
                        function.name = _suffix(function.name)
        for name, index, dtype in _ends(definition.output_arg, copy):
            if dtype in _NARROW:
                if not stays:
                    self.left.add(node.op)
                old = self._reference(node.name, name, index)
                self.widened[old] = self._cast(node.name + "__up{}".format(index), old, dtype, DOUBLE)
        return copy

    def _constant(self, node: Any) -> None:
        from tensorflow.python.framework import tensor_util

        if node.attr["dtype"].type not in _NARROW and node.name not in self.rounded:
            return
        array = tensor_util.MakeNdarray(node.attr["value"].tensor)
        wide = array.astype("float64")
        if array.size <= _MOST_SHORTENED:
            flat = wide.reshape(-1)
            flat[:] = [_meant(number) for number in array.astype("float32").reshape(-1)]
        node.attr["value"].tensor.CopyFrom(tensor_util.make_tensor_proto(wide))
        node.attr["dtype"].type = DOUBLE

    def _connect(self, copy: Any, definition: Any) -> None:
        """Let each input read what was cast up, and cast down again where the operation takes nothing else."""
        for position, (_name, _index, dtype) in enumerate(_ends(definition.input_arg, copy)):
            source = copy.input[position]
            source = self.widened.get(
                source, self.widened.get(source + ":0", source) if not self._in_function else source
            )
            if dtype in _NARROW:
                source = self._cast("{}__down{}".format(copy.name, position), source, DOUBLE, dtype)
            copy.input[position] = source

    # -- names and casts

    def _reference(self, node: str, name: str, index: int) -> str:
        """How other nodes name this output: by its place in a graph, by its argument in a function."""
        if self._in_function:
            return "{}:{}".format(node, name)
        return "{}:{}".format(node, index)

    def _cast(self, name: str, source: str, before: int, after: int) -> str:
        cast = self._nodes.add()
        cast.name, cast.op = name.replace("/", "__"), "Cast"
        cast.input.append(source if self._in_function or not source.endswith(":0") else source[:-2])
        cast.attr["SrcT"].type = before
        cast.attr["DstT"].type = after
        cast.attr["Truncate"].b = False
        return str(cast.name) + (":y:0" if self._in_function else ":0")


def _meant(number: Any) -> float:
    """The short decimal number of which this float32 is the rounding (0.1), or the number itself where there is none."""
    text = str(number)
    digits = text.lower().split("e")[0].replace("-", "").replace(".", "").strip("0")
    return float(text) if len(digits) <= _SHORT else float(number)


def _ends(arguments: Any, node: Any) -> list[tuple[str, int, int]]:
    """For each input or output tensor of a node: its name within a function (``argument:index``), its place, and its dtype."""
    found: list[tuple[str, int, int]] = []
    for argument in arguments:
        if argument.type_list_attr:
            dtypes = list(node.attr[argument.type_list_attr].list.type)
        else:
            count = int(node.attr[argument.number_attr].i) if argument.number_attr else 1
            dtype = node.attr[argument.type_attr].type if argument.type_attr else argument.type
            dtypes = [dtype] * count
        for index, dtype in enumerate(dtypes):
            found.append(("{}:{}".format(argument.name, index), len(found), dtype))
    return found
