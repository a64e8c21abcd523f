"""Decides which calls of the local files state a precision, or leave it to a default that is float32."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from f64doctor.observe.facts import Mention
from f64doctor.source import contents, dtypes, signatures
from f64doctor.source.contents import Contents
from f64doctor.source.guards import guard
from f64doctor.source.names import Meaning, Names
from f64doctor.source.purpose import Purposes
from f64doctor.source.scopes import Call, Region, Scope, last_name

LONGEST_TEXT = 200

_DEEPEST = 12
_MOST_ELEMENTS = 64
_UNSPECIFIC = {"view", "set_policy", "set_default_dtype"}

Choice = tuple[str, Region | None]
"""A dtype, and the region in which a name stands for it, None when it always does."""


class Mentions:
    """Finds the mentions in one call after another."""

    def __init__(self, names: Names, purposes: Purposes) -> None:
        self.names = names
        self.contents = Contents(names)
        self.purposes = purposes
        self.seen: set[int] = set()
        self.float_lists: dict[int, bool] = {}
        aliases = {name for file in names.modules.files.values() for name in file.aliases}
        self.type_names = dtypes.TYPE_NAMES | aliases
        self.vocabulary = signatures.KNOWN_NAMES | self.type_names

    def of(self, call: Call) -> list[Mention]:
        """The mentions that a call makes, one for each dtype that it may ask for."""
        if not self._may_state_a_precision(call):
            return []
        func = call.node.func
        attribute = func.attr if isinstance(func, ast.Attribute) else ""
        called = self.names.called(call)
        name = self.names.qualified(func, call.scope, call.region)
        short = dtypes.short_name(name) if called.kind == "external" else ""
        last = short.rpartition(".")[2] if short else attribute or (func.id if isinstance(func, ast.Name) else "")
        if called.kind in ("function", "class"):
            said_here = [part for part in self._dtype_arguments(call, short) if not _is_parameter(part, call.scope)]
            return self._stated(call, "dtype", name, said_here)
        for find in (self._setting, self._cast):
            found = find(call, short, last, name)
            if found is not None:
                return found
        if short in signatures.ASKS_ONLY:
            return []
        arguments = self._dtype_arguments(call, short)
        found = self._stated(call, "dtype", name or f"?.{attribute}".lstrip("?."), arguments)
        given = short not in signatures.FLOAT_DEFAULTS and any(self._is_given(argument) for argument in arguments)
        if not found and not given and self._makes_float32(call, short):
            return [self._mention(call, "literal", "float32", name, None)]
        return found

    def _may_state_a_precision(self, call: Call) -> bool:
        """A cheap look that spares most calls the closer one."""
        if call.last in self.vocabulary:
            return True
        node = call.node
        if isinstance(node.func, ast.Call) and last_name(node.func.func) == "getattr":
            return True
        for word in node.keywords:
            if word.arg is None or word.arg in signatures.DTYPE_WORDS:
                return True
        return any(last_name(argument) in self.type_names for argument in node.args)

    def _setting(self, call: Call, short: str, last: str, name: str) -> list[Mention] | None:
        if last in signatures.SETTERS and (short or last not in _UNSPECIFIC):
            argument = _argument(call.node, 0, signatures.SETTER_WORDS)
            choices = self._dtypes(argument, call, "keras.") if argument is not None else []
            return [
                self._mention(call, "setting", dtype, name or last, where) for dtype, where in choices or [("", None)]
            ]
        if last in signatures.SETTERS_OF_ONE_DTYPE:
            return [self._mention(call, "setting", signatures.SETTERS_OF_ONE_DTYPE[last], name or last, None)]
        if short in signatures.POLICY_MAKERS:
            if self._is_argument(call):
                return []
            return self._stated(call, "setting", name, [_argument(call.node, 0, ("name",))])
        if short == "jax.config.update" and len(call.node.args) == 2:
            key, value = call.node.args
            if isinstance(key, ast.Constant) and key.value == "jax_enable_x64" and isinstance(value, ast.Constant):
                return [self._mention(call, "setting", "float64" if value.value else "float32", name, None)]
        if short == "tf.config.optimizer.set_experimental_options" and call.node.args:
            options = dict(self.names.items(call.node.args[0]))
            chosen = options.get("auto_mixed_precision")
            if isinstance(chosen, ast.Constant) and chosen.value:
                return [self._mention(call, "setting", "mixed_float16", name, None)]
        if last == "experimental_enable_numpy_behavior":
            for word in call.node.keywords:
                if word.arg == "prefer_float32" and isinstance(word.value, ast.Constant) and word.value.value:
                    return [self._mention(call, "setting", "float32", name, None)]
        return None

    def _cast(self, call: Call, short: str, last: str, name: str) -> list[Mention] | None:
        func = call.node.func
        if short in signatures.CASTS_TO_ONE_DTYPE:
            return [self._mention(call, "cast", signatures.CASTS_TO_ONE_DTYPE[short], name, None)]
        if short in signatures.CASTS:
            target = _argument(call.node, signatures.CASTS[short], signatures.CAST_WORDS)
            if short in signatures.CASTS_THROUGH_FLOAT32 and self._goes_through_float32(call, target):
                return [self._mention(call, "literal", "float32", name, None)]
            return self._stated(call, "cast", name, [target], short)
        if last in signatures.CAST_METHODS and isinstance(func, ast.Attribute):
            return self._stated(call, "cast", f"numpy.ndarray.{last}", [_argument(call.node, 0, ("dtype",))], "np.")
        if short.startswith(("np.", "ml_dtypes.")) and dtypes.of_type(name):
            return [self._mention(call, "cast", dtypes.of_type(name), name, None)]
        if short == "pandas.to_numeric":
            for word in call.node.keywords:
                if word.arg == "downcast" and isinstance(word.value, ast.Constant) and word.value.value == "float":
                    return [self._mention(call, "cast", "float32", name, None)]
        if last in signatures.APPLIERS and call.node.args:
            found = []
            for meaning in self.names.follow(call.node.args[0], call.scope, call.region):
                dtype = dtypes.of_type(meaning.name) if meaning.kind == "external" else ""
                if dtype and dtypes.short_name(meaning.name).startswith("np."):
                    found.append(
                        self._mention(call, "cast", dtype, dtypes.public_name(meaning.name), meaning.condition)
                    )
            return found or None
        return None

    def _dtype_arguments(self, call: Call, short: str) -> list[ast.expr | None]:
        """The arguments of a call that say a dtype, resolved or not."""
        found: list[ast.expr | None] = []
        for word in call.node.keywords:
            if word.arg in signatures.DTYPE_WORDS:
                found.append(word.value)
            elif word.arg is None:
                found.extend(self._spread(word.value, call))
        position = signatures.DTYPE_POSITIONS.get(short)
        if position is None and short.endswith(".add_weight"):
            position = signatures.DTYPE_POSITIONS["keras.layers.Layer.add_weight"]
        if position is not None:
            found.append(_argument(call.node, position, ()))
        elif short.startswith(("tf.", "keras.", "np.", "tensorflow_probability.", "gpflow.")):
            found.extend(argument for argument in call.node.args if self._is_type(argument, call))
        return [argument for argument in found if argument is not None]

    def _spread(self, node: ast.expr, call: Call) -> Iterable[ast.expr]:
        """What ``**options`` brings as dtype, when the dictionary is written out somewhere."""
        for meaning in self.names.follow(node, call.scope, call.region):
            for key, value in self.names.items(meaning.node):
                if key in signatures.DTYPE_WORDS:
                    yield value

    def _is_type(self, node: ast.expr, call: Call) -> bool:
        """Whether an argument is a dtype object such as ``tf.float32``."""
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return False
        return any(
            meaning.kind == "external" and dtypes.of_type(meaning.name)
            for meaning in self.names.follow(node, call.scope, call.region)
        )

    def _is_given(self, node: ast.expr | None) -> bool:
        return node is not None and not (isinstance(node, ast.Constant) and node.value is None)

    def _is_argument(self, call: Call) -> bool:
        """Whether a call is written as an argument of another one."""
        return isinstance(self.purposes.parents(call.statement).get(id(call.node)), (ast.Call, ast.keyword))

    def _stated(
        self, call: Call, kind: str, name: str, arguments: Iterable[ast.expr | None], family: str = ""
    ) -> list[Mention]:
        found: list[Mention] = []
        for argument in arguments:
            if argument is None:
                continue
            for dtype, where in self._dtypes(argument, call, family or name):
                mention = self._mention(call, kind, dtype, name, where)
                if mention not in found:
                    found.append(mention)
        return found

    def _dtypes(self, node: ast.expr, call: Call, family: str) -> list[Choice]:
        """The floating-point dtypes that an argument may ask for, with the condition for each."""
        found: list[Choice] = []
        self.seen = set()
        for choice in self._chosen(node, call.scope, call.region, dtypes.python_float(family), 0):
            if choice[0] not in [dtype for dtype, _ in found]:
                found.append(choice)
        return found

    def _chosen(self, node: ast.expr, scope: Scope, region: Region, python_float: str, deep: int) -> Iterable[Choice]:
        if deep > _DEEPEST or id(node) in self.seen:
            return
        for meaning in self.names.follow(node, scope, region):
            if meaning.kind == "external":
                dtype = python_float if meaning.name == "builtins.float" else dtypes.of_type(meaning.name)
                if dtype:
                    yield dtype, meaning.condition
            elif meaning.kind == "value" and meaning.node is not None:
                for dtype, where in self._in_value(meaning, python_float, deep + 1):
                    yield dtype, where or meaning.condition

    def _in_value(self, meaning: Meaning, python_float: str, deep: int) -> Iterable[Choice]:
        node, scope, region = meaning.node, meaning.scope, meaning.region
        if scope is None or region is None or id(node) in self.seen:
            return
        self.seen.add(id(node))
        parts: list[ast.expr] = []
        if isinstance(node, ast.Constant):
            dtype = dtypes.of_string(node.value, python_float) if isinstance(node.value, str) else ""
            if dtype:
                yield dtype, None
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            parts = node.elts[:_MOST_ELEMENTS]
        elif isinstance(node, ast.Dict):
            parts = node.values[:_MOST_ELEMENTS]
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            scope, parts = scope.file.inner_scopes.get(id(node), scope), [node.elt]
        elif isinstance(node, ast.DictComp):
            scope, parts = scope.file.inner_scopes.get(id(node), scope), [node.value]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Add)):
            parts = [side for side in (node.left, node.right) if not isinstance(side, ast.Constant)]
        elif isinstance(node, ast.Starred):
            parts = [node.value]
        elif isinstance(node, ast.Call):
            name = self.names.qualified(node.func, scope, region)
            short = dtypes.short_name(name)
            if short in signatures.FLOATX or short.rpartition(".")[2] == "floatx":
                yield "floatx", None
            elif short in signatures.DTYPE_MAKERS and (node.args or node.keywords):
                parts = [node.args[0] if node.args else node.keywords[0].value]
            elif short == "builtins.dict":
                parts = [value for _, value in self.names.items(node)]
        for part in parts:
            yield from self._chosen(part, scope, region, python_float, deep)

    def _goes_through_float32(self, call: Call, target: ast.expr | None) -> bool:
        """Whether a Python float is made a float32 tensor, and loses digits, on its way to float64."""
        value = _argument(call.node, 0, signatures.VALUE_WORDS)
        if value is None or target is None:
            return False
        if self.contents.kind(value, call.scope, call.region) != contents.FLOAT:
            return False
        if not any(dtype in ("float64", "floatx") for dtype, _ in self._dtypes(target, call, "tf.")):
            return False
        return not self.contents.fits_float32(value, call.scope, call.region)

    def _makes_float32(self, call: Call, short: str) -> bool:
        """Whether a call without a dtype gives float32, whatever floatx is."""
        node = call.node
        if any(word.arg is None for word in node.keywords) or any(isinstance(part, ast.Starred) for part in node.args):
            return False
        if short in signatures.ALWAYS_FLOAT32:
            return True
        if short in signatures.VALUE_OR_UNKNOWN:
            kind = self._kind(_argument(node, signatures.VALUE_OR_UNKNOWN[short], signatures.VALUE_WORDS), call)
            return kind in (contents.FLOAT, contents.UNKNOWN)
        if short in signatures.FLOAT_VALUE:
            value = _argument(node, signatures.FLOAT_VALUE[short], signatures.VALUE_WORDS)
            return self._kind(value, call) == contents.FLOAT
        if short in signatures.FLOAT_IN_ANY:
            kinds = [self._kind(argument, call) for argument in (*node.args, *(word.value for word in node.keywords))]
            return contents.FLOAT in kinds and contents.ARRAY not in kinds
        if short in signatures.FLOAT_PAIRS:
            first, second = signatures.FLOAT_PAIRS[short]
            pair = (_argument(node, first, ("x",)), _argument(node, second, ("y",)))
            kinds = [self._kind(argument, call) for argument in pair]
            return contents.FLOAT in kinds and set(kinds) <= {contents.FLOAT, contents.INTEGER}
        if short in signatures.FLOAT_LISTS:
            return self._has_float_list(_argument(node, 0, signatures.VALUE_WORDS), call.scope, call.region, 0)
        if short in signatures.FLOAT_DEFAULTS:
            defaults = _argument(node, signatures.FLOAT_DEFAULTS[short], (signatures.DEFAULTS_WORD,))
            return self._has_float_default(defaults, call)
        return False

    def _kind(self, node: ast.expr | None, call: Call) -> str:
        return contents.OTHER if node is None else self.contents.kind(node, call.scope, call.region)

    def _has_float_list(self, node: ast.expr | None, scope: Scope, region: Region, deep: int) -> bool:
        """Whether one of the components of a dataset is made of Python floats."""
        if node is None or deep > _DEEPEST:
            return False
        known = self.float_lists.get(id(node))
        if known is None:
            known = self.float_lists[id(node)] = self._holds_float_list(node, scope, region, deep)
        return known

    def _holds_float_list(self, node: ast.expr, scope: Scope, region: Region, deep: int) -> bool:
        for meaning in self.names.follow(node, scope, region):
            value, inside, where = meaning.node, meaning.scope, meaning.region
            if value is None or inside is None or where is None:
                continue
            parts: list[ast.expr] = []
            if isinstance(value, ast.Tuple):
                parts = value.elts[:_MOST_ELEMENTS]
            elif isinstance(value, ast.Dict):
                parts = value.values[:_MOST_ELEMENTS]
            if any(self._has_float_list(part, inside, where, deep + 1) for part in parts):
                return True
            if not parts and self.contents.kind(value, inside, where) == contents.FLOAT:
                return True
        return False

    def _has_float_default(self, node: ast.expr | None, call: Call) -> bool:
        """Whether one of the columns of a CSV file is read as float32 because its default is a Python float."""
        if node is None:
            return False
        for meaning in self.names.follow(node, call.scope, call.region):
            value = meaning.node
            if isinstance(value, ast.BinOp):
                value = value.left
            if value is None or meaning.scope is None or meaning.region is None:
                continue
            parts = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
            if any(self.contents.kind(part, meaning.scope, meaning.region) == contents.FLOAT for part in parts):
                return True
        return False

    def _mention(self, call: Call, kind: str, dtype: str, name: str, where: Region | None) -> Mention:
        first = call.node.func.end_lineno or call.node.lineno
        last = max(first, call.node.end_lineno or first)
        own = guard(call.region, call.scope.file)
        function = call.scope.function
        return Mention(
            file=call.scope.file.path,
            line=first,
            kind=kind,
            dtype=dtype,
            text=_text(call.scope.file.lines, first, last),
            call=name.removeprefix("builtins."),
            purpose=self.purposes.of(call, kind),
            scope=function.qualified_name if function is not None else "",
            guard=own or (guard(where, call.scope.file) if where is not None else ""),
        )


def _argument(call: ast.Call, position: int, words: Iterable[str]) -> ast.expr | None:
    """The argument in a position or under one of its keywords, None when it is not there or hidden in ``*args``."""
    for word in call.keywords:
        if word.arg is not None and word.arg in words:
            return word.value
    if position >= len(call.args) or any(isinstance(argument, ast.Starred) for argument in call.args[: position + 1]):
        return None
    return call.args[position]


def _is_parameter(node: ast.expr | None, scope: Scope) -> bool:
    """Whether an argument only hands on a parameter of the function around."""
    function = scope.function
    if function is None or not isinstance(node, ast.Name):
        return False
    return any(binding.kind == "parameter" for binding in function.bindings.get(node.id, []))


def _text(lines: list[str], first: int, last: int) -> str:
    """Source lines in one, stripped, no longer than a report can show."""
    text = ""
    for line in lines[first - 1 : last]:
        stripped = line.strip()
        text += stripped if not text or text.endswith(("(", "[", "{")) else f" {stripped}"
        if len(text) > LONGEST_TEXT:
            break
    return text[:LONGEST_TEXT].strip()
