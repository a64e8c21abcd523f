"""Judges what a value is made of: Python floats, which become float32 in TensorFlow, or arrays, which keep their dtype."""

from __future__ import annotations

import ast
import math
import operator
import struct
from collections.abc import Callable, Iterable

from f64doctor.source.dtypes import short_name
from f64doctor.source.names import Names
from f64doctor.source.scopes import Region, Scope

FLOAT, INTEGER, ARRAY, OTHER, UNKNOWN = "float", "integer", "array", "other", "unknown"

_DEEPEST = 25
_DEEPEST_LISTS = 4
_MOST_ELEMENTS = 64
_LARGEST_EXPONENT = 1024
_FLOAT_CONSTANTS = {
    "pi": math.pi,
    "e": math.e,
    "tau": math.tau,
    "inf": math.inf,
    "nan": math.nan,
    "euler_gamma": 0.5772156649015329,
}
_INTEGER_MATH = frozenset({"floor", "ceil", "trunc", "factorial", "gcd", "lcm", "comb", "perm", "isqrt"})
_SAME_AS_ELEMENTS = frozenset(
    {"abs", "sum", "max", "min", "sorted", "list", "tuple", "reversed", "set", "iter", "next", "pow"}
)
_INTEGER_BUILTINS = frozenset({"int", "len", "range", "bool", "ord", "hash", "id", "enumerate", "round"})
_FLOAT_MODULES = ("random.", "time.", "statistics.")
_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


class Contents:
    """Answers for expressions of the local files."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.kinds: dict[int, str] = {}
        self.numbers: dict[int, float | int | None] = {}

    def kind(self, node: ast.expr, scope: Scope, region: Region, deep: int = 0) -> str:
        """``float``, ``integer``, ``array``, ``other`` (text, None, a condition) or ``unknown``; of a list, what its elements are."""
        if isinstance(node, ast.Constant):
            return _of_constant(node.value)
        if deep > _DEEPEST:
            return UNKNOWN
        known = self.kinds.get(id(node))
        if known is None:
            known = self.kinds[id(node)] = self._kind(node, scope, region, deep + 1)
        return known

    def _kind(self, node: ast.expr, scope: Scope, region: Region, deep: int) -> str:
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return self._sequence(node.elts, scope, region, deep)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            return self.kind(node.elt, scope.file.inner_scopes.get(id(node), scope), region, deep)
        if isinstance(node, ast.Dict):
            return _joined(self.kind(value, scope, region, deep) for value in node.values[:_MOST_ELEMENTS])
        if isinstance(node, ast.BinOp):
            return self._operation(node, scope, region, deep)
        if isinstance(node, ast.UnaryOp):
            return OTHER if isinstance(node.op, ast.Not) else self.kind(node.operand, scope, region, deep)
        if isinstance(node, (ast.Starred, ast.NamedExpr)):
            return self.kind(node.value, scope, region, deep)
        if isinstance(node, ast.Lambda):
            return self.kind(node.body, scope.file.inner_scopes.get(id(node), scope), region, deep)
        if isinstance(node, (ast.Compare, ast.JoinedStr)):
            return OTHER
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp, ast.Call, ast.BoolOp)):
            return self._followed(node, scope, region, deep)
        return UNKNOWN

    def number(self, node: ast.expr, scope: Scope, region: Region, deep: int = 0) -> float | int | None:
        """The number that an expression always gives, None when it cannot be told."""
        if isinstance(node, ast.Constant):
            value = node.value
            return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        if deep > _DEEPEST:
            return None
        if id(node) not in self.numbers:
            self.numbers[id(node)] = self._number(node, scope, region, deep + 1)
        return self.numbers[id(node)]

    def _number(self, node: ast.expr, scope: Scope, region: Region, deep: int) -> float | int | None:
        if isinstance(node, ast.UnaryOp):
            inner = self.number(node.operand, scope, region, deep)
            if inner is None or isinstance(node.op, (ast.Not, ast.Invert)):
                return None
            return -inner if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp):
            left = self.number(node.left, scope, region, deep)
            right = self.number(node.right, scope, region, deep)
            return _calculated(node.op, left, right)
        meanings = self.names.follow(node, scope, region)
        if len(meanings) != 1:
            return None
        meaning = meanings[0]
        if meaning.kind == "external":
            return _float_constant(meaning.name)
        if meaning.kind == "value" and meaning.node is not None and meaning.scope and meaning.region:
            if meaning.node is node:
                return self._math(node, scope, region, deep)
            return self.number(meaning.node, meaning.scope, meaning.region, deep)
        return None

    def fits_float32(self, node: ast.expr, scope: Scope, region: Region, deep: int = 0) -> bool:
        """Whether each number of an expression is known, and is the same in float32."""
        if deep > _DEEPEST_LISTS:
            return False
        if isinstance(node, (ast.List, ast.Tuple)):
            return all(self.fits_float32(part, scope, region, deep + 1) for part in node.elts[:_MOST_ELEMENTS])
        value = self.number(node, scope, region)
        if value is not None:
            return is_float32(value)
        for meaning in self.names.follow(node, scope, region):
            inner = meaning.node
            if inner is None or inner is node or not meaning.scope or not meaning.region:
                return False
            if not self.fits_float32(inner, meaning.scope, meaning.region, deep + 1):
                return False
        return True

    def _sequence(self, elements: list[ast.expr], scope: Scope, region: Region, deep: int) -> str:
        """What TensorFlow makes of a list: the first element decides between array and Python number."""
        if not elements:
            return FLOAT
        if self.kind(elements[0], scope, region, deep) == ARRAY:
            return ARRAY
        return _joined(self.kind(element, scope, region, deep) for element in elements[:_MOST_ELEMENTS])

    def _operation(self, node: ast.BinOp, scope: Scope, region: Region, deep: int) -> str:
        left = self.kind(node.left, scope, region, deep)
        if isinstance(node.left, (ast.List, ast.ListComp)) and isinstance(node.op, ast.Mult):
            return left
        right = self.kind(node.right, scope, region, deep)
        if ARRAY in (left, right):
            return ARRAY
        if OTHER in (left, right):
            return OTHER
        if UNKNOWN in (left, right):
            return UNKNOWN
        if isinstance(node.op, ast.Div) or FLOAT in (left, right):
            return FLOAT
        negative = isinstance(node.op, ast.Pow) and isinstance(node.right, ast.UnaryOp)
        return FLOAT if negative else INTEGER

    def _followed(self, node: ast.expr, scope: Scope, region: Region, deep: int) -> str:
        kinds = []
        for meaning in self.names.follow(node, scope, region):
            if meaning.kind == "external":
                kinds.append(FLOAT if _float_constant(meaning.name) is not None else UNKNOWN)
            elif meaning.kind == "result":
                kinds.append(ARRAY)
            elif meaning.kind != "value" or meaning.node is None or not meaning.scope or not meaning.region:
                kinds.append(self._element(node, scope, region, deep) or _of_unknown(node))
            elif isinstance(meaning.node, ast.Call):
                kinds.append(self._called(meaning.node, meaning.scope, meaning.region, deep))
            elif meaning.node is node:
                kinds.append(ARRAY if isinstance(node, ast.Subscript) else UNKNOWN)
            else:
                kinds.append(self.kind(meaning.node, meaning.scope, meaning.region, deep))
        return _joined(kinds)

    def _element(self, node: ast.expr, scope: Scope, region: Region, deep: int) -> str:
        """What a loop variable is: an element of what the loop goes over."""
        if not isinstance(node, ast.Name):
            return ""
        holder: Scope | None = scope
        while holder is not None:
            bindings = holder.bindings.get(node.id)
            if bindings:
                binding = bindings[-1]
                if binding.kind == "element" and isinstance(binding.node, ast.expr):
                    return self.kind(binding.node, binding.scope, binding.region, deep)
                return ""
            holder = holder.parent
        return ""

    def _called(self, node: ast.Call, scope: Scope, region: Region, deep: int) -> str:
        called = self.names.follow(node.func, scope, region)[0]
        if called.kind != "external":
            return ARRAY if called.kind == "unknown" else UNKNOWN
        name = short_name(called.name)
        module, _, last = name.rpartition(".")
        if module == "builtins":
            if last == "float":
                return FLOAT
            if last in _INTEGER_BUILTINS:
                return INTEGER if last != "round" or len(node.args) == 1 else FLOAT
            if last in _SAME_AS_ELEMENTS and node.args:
                return self.kind(node.args[0], scope, region, deep)
            return UNKNOWN
        if module == "math":
            return INTEGER if last in _INTEGER_MATH else FLOAT
        if name.startswith(_FLOAT_MODULES):
            return INTEGER if last in ("randint", "randrange", "getrandbits") else FLOAT
        return UNKNOWN if last in ("tolist", "item") else ARRAY

    def _math(self, node: ast.expr, scope: Scope, region: Region, deep: int) -> float | int | None:
        """The value of a call into the math module with constant arguments, or of ``float(constant)``."""
        if not isinstance(node, ast.Call) or node.keywords or not 1 <= len(node.args) <= 2:
            return None
        called = self.names.follow(node.func, scope, region)[0]
        arguments = [self.number(argument, scope, region, deep) for argument in node.args]
        numbers = [argument for argument in arguments if argument is not None]
        if called.kind != "external" or len(numbers) != len(arguments):
            return None
        if called.name == "builtins.float":
            return float(numbers[0])
        module, _, last = called.name.rpartition(".")
        function = getattr(math, last, None) if module == "math" and last not in _INTEGER_MATH else None
        try:
            value = function(*numbers) if callable(function) else None
        except (ArithmeticError, ValueError, TypeError):
            return None
        return value if isinstance(value, float) else None


def is_float32(value: float | int) -> bool:
    """Whether a number is unchanged by rounding to float32."""
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value) or value != value
    except (OverflowError, struct.error):
        return False


def _calculated(op: ast.operator, left: float | int | None, right: float | int | None) -> float | int | None:
    if left is None or right is None:
        return None
    try:
        if isinstance(op, ast.Pow):
            value: object = float(left) ** float(right) if abs(right) < _LARGEST_EXPONENT else None
        else:
            operation = _OPERATIONS.get(type(op))
            value = operation(left, right) if operation is not None else None
    except (ArithmeticError, ValueError):
        return None
    return value if isinstance(value, (int, float)) else None


def _of_constant(value: object) -> str:
    if isinstance(value, float):
        return FLOAT
    return INTEGER if isinstance(value, int) else OTHER


def _of_unknown(node: ast.expr) -> str:
    """A part of something unknown is taken for an array, unless a word chooses it, as in a dictionary of settings."""
    if not isinstance(node, ast.Subscript):
        return UNKNOWN
    by_word = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    return UNKNOWN if by_word else ARRAY


def _float_constant(name: str) -> float | None:
    module, _, last = short_name(name).rpartition(".")
    if module not in ("math", "np", "scipy.constants") and not name.startswith("scipy.constants."):
        return None
    if module == "scipy.constants" and last not in _FLOAT_CONSTANTS:
        return math.nan if last[:1].islower() and "(" not in last else None
    return _FLOAT_CONSTANTS.get(last)


def _joined(kinds: Iterable[str]) -> str:
    """What several values make together: one float makes floats; anything not known makes the whole unknown."""
    seen = set(kinds)
    for kind in (UNKNOWN, ARRAY, FLOAT, INTEGER, OTHER):
        if kind in seen:
            return kind
    return UNKNOWN
