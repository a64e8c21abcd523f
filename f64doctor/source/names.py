"""Follows a name through imports, aliases, constants, defaults, attributes and call sites to what it stands for."""

from __future__ import annotations

import ast
import builtins
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace

from f64doctor.source.dtypes import of_type, public_name
from f64doctor.source.modules import LocalModules, Place
from f64doctor.source.scopes import Binding, Call, File, Position, Region, Scope, last_name, spelled

_DEEPEST = 40
_MOST_MEANINGS = 16
_MOST_CALL_SITES = 32
_MOST_BINDINGS = 100
_LONGEST_NAME = 200
_SAME_DTYPE = frozenset({"name", "as_numpy_dtype", "type", "value"})
_BUILTINS = frozenset(dir(builtins))
_GENERATOR_MAKERS = {
    "tensorflow.random.Generator.from_seed": "tensorflow.random.Generator",
    "tensorflow.random.Generator.from_state": "tensorflow.random.Generator",
    "tensorflow.random.Generator.from_non_deterministic_state": "tensorflow.random.Generator",
    "tensorflow.random.Generator.from_key_counter": "tensorflow.random.Generator",
    "tensorflow.random.get_global_generator": "tensorflow.random.Generator",
}
_FIRST_CALL_ARGUMENT_IS_THE_VALUE = frozenset({"typing.cast", "builtins.str", "copy.deepcopy", "copy.copy"})


@dataclass(frozen=True, slots=True)
class Meaning:
    """One thing that an expression may stand for.

    ``kind``: external (a qualified name outside the local files), module, function, class, instance (of a local class),
    value (an expression that names lead no further from), result (a part of what an external call gives), unknown.
    ``condition``: the region in which the name got this meaning, when it has it only there.
    """

    kind: str
    name: str = ""
    node: ast.expr | None = None
    scope: Scope | None = None
    region: Region | None = None
    place: Place | None = None
    condition: Region | None = None


Meanings = tuple[Meaning, ...]
UNKNOWN: Meanings = (Meaning("unknown"),)


class Names:
    """Resolves expressions of all local files; each answer is computed once."""

    def __init__(self, modules: LocalModules) -> None:
        self.modules = modules
        self.known: dict[int, Meanings] = {}
        self.busy: set[int] = set()
        self.known_items: dict[int, list[tuple[object, ast.expr]]] = {}
        self.plain: dict[tuple[int, str], Meanings | None] = {}
        self.imports: dict[int, list[Meaning]] = {}
        self.call_sites: dict[str, list[Call]] = {}
        self.methods: dict[str, int] = {}
        for file in modules.files.values():
            for call in file.calls:
                self.call_sites.setdefault(call.last, []).append(call)
            for function in file.functions:
                name = function.qualified_name.rpartition(".")[2]
                self.methods[name] = self.methods.get(name, 0) + 1

    def follow(self, node: ast.expr, scope: Scope, region: Region) -> Meanings:
        """What an expression may stand for, the likeliest first; never empty."""
        key = id(node)
        known = self.known.get(key) or self._plain(node, scope)
        if known is not None:
            return known
        if key in self.busy or len(self.busy) > _DEEPEST:
            return UNKNOWN
        self.busy.add(key)
        try:
            found = self._follow(node, scope, region)
        finally:
            self.busy.discard(key)
        meanings = _distinct(found) or UNKNOWN
        self.known[key] = meanings
        return meanings

    def _plain(self, node: ast.expr, scope: Scope) -> Meanings | None:
        """The commonest case, answered fast: a dotted name that begins with an import of something that is not local."""
        assigned = scope.file.assigned_attributes
        dotted = ""
        while type(node) is ast.Attribute:
            if node.attr in _SAME_DTYPE or node.attr in assigned:
                return None
            dotted = f".{node.attr}{dotted}"
            node = node.value
        if type(node) is not ast.Name:
            return None
        name = node.id
        holder: Scope | None = scope.declared.get(name, scope)
        while holder is not None:
            bindings = holder.bindings.get(name)
            if bindings and (holder is scope or holder.kind != "class"):
                if len(bindings) != 1 or bindings[0].kind != "import" or bindings[0].region.conditional:
                    return None
                key = (id(bindings[0]), dotted)
                if key not in self.plain:
                    found = () if bindings[0].region.dead else tuple(self._binding(bindings[0]))
                    external = len(found) == 1 and found[0].kind == "external"
                    self.plain[key] = (Meaning("external", found[0].name + dotted),) if external else None
                return self.plain[key]
            holder = holder.parent
        return None

    def qualified(self, node: ast.expr, scope: Scope, region: Region) -> str:
        """The public qualified name of what a call calls, local or not; empty when it cannot be told."""
        for meaning in self.follow(node, scope, region):
            if meaning.kind == "external":
                return public_name(meaning.name)
            if meaning.kind in ("function", "class") and meaning.scope is not None:
                return local_name(meaning.scope)
        return ""

    def called(self, call: Call) -> Meaning:
        """What a call calls, by its likeliest meaning."""
        return self.follow(call.node.func, call.scope, call.region)[0]

    def _follow(self, node: ast.expr, scope: Scope, region: Region) -> Iterable[Meaning]:
        if isinstance(node, ast.Name):
            return self._name(node.id, scope, region, (node.lineno, node.col_offset))
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope, region)
        if isinstance(node, ast.Subscript):
            return self._item(node, scope, region)
        if isinstance(node, ast.Call):
            return self._call(node, scope, region)
        if isinstance(node, ast.NamedExpr):
            return self.follow(node.value, scope, region)
        if isinstance(node, ast.Await):
            return self.follow(node.value, scope, region)
        if isinstance(node, ast.IfExp):
            body = Region(region, node, "body", region.dead)
            otherwise = Region(region, node, "else", region.dead)
            return [
                *_under(self.follow(node.body, scope, body), body),
                *_under(self.follow(node.orelse, scope, otherwise), otherwise),
            ]
        if isinstance(node, ast.BoolOp):
            return [meaning for value in node.values for meaning in self.follow(value, scope, region)]
        return (Meaning("value", node=node, scope=scope, region=region),)

    def _name(self, name: str, scope: Scope, region: Region, at: Position) -> Iterable[Meaning]:
        holder: Scope | None = scope.declared.get(name, scope)
        while holder is not None:
            bindings = holder.bindings.get(name)
            if bindings and (holder is scope or holder.kind != "class"):
                chosen = reaching(bindings, region, at, holder.body is scope.body)
                if chosen:
                    return self._bindings(chosen, region)
            holder = holder.parent
        found = self._starred(name, scope.file)
        if found:
            return found
        return [Meaning("external", f"builtins.{name}")] if name in _BUILTINS else []

    def _starred(self, name: str, file: File, deep: int = 0) -> list[Meaning]:
        """A name that only a star import can have brought."""
        for node in reversed(file.stars):
            place = self.modules.source_of(node, file.path)
            if place is not None:
                found = self._member(place, name, deep + 1)
                if found:
                    return found
        if name in _BUILTINS:
            return []
        for node in reversed(file.stars):
            if not node.level and node.module and self.modules.source_of(node, file.path) is None:
                return [Meaning("external", f"{node.module}.{name}")]
        return []

    def _bindings(self, bindings: list[Binding], region: Region) -> Iterable[Meaning]:
        """What the bindings that reach a place give; the last of them is the one that holds when no condition does."""
        if len(bindings) == 1 and not bindings[0].region.conditional:
            return self._binding(bindings[0])
        found: list[Meaning] = []
        for binding in reversed(bindings):
            condition = binding.region if binding.region.conditional and not _within(region, binding.region) else None
            found.extend(_under(self._binding(binding), condition))
        return found

    def _binding(self, binding: Binding) -> Iterable[Meaning]:
        kind, node, scope, region = binding.kind, binding.node, binding.scope, binding.region
        if kind == "import":
            known = self.imports.get(id(binding))
            if known is None:
                known = self.imports[id(binding)] = self._imported(binding)
            return known
        if kind == "function":
            return (Meaning("function", scope=scope),)
        if kind == "class":
            return (Meaning("class", scope=scope),)
        if kind == "parameter":
            return self._parameter(binding)
        if not isinstance(node, ast.expr):
            return UNKNOWN
        if kind == "value":
            return self.follow(node, scope, region)
        if kind == "element":
            return self._elements(node, scope, region)
        if kind == "part":
            return [self._part(meaning, binding.index) for meaning in self.follow(node, scope, region)]
        return UNKNOWN

    def _imported(self, binding: Binding) -> list[Meaning]:
        node = binding.node
        file = binding.scope.file
        if isinstance(node, ast.Import):
            alias = node.names[binding.index]
            dotted = alias.name if alias.asname else alias.name.partition(".")[0]
            place = self.modules.absolute(dotted)
            return [Meaning("module", place=place) if place is not None else Meaning("external", dotted)]
        if isinstance(node, ast.ImportFrom):
            alias = node.names[binding.index]
            place = self.modules.source_of(node, file.path)
            if place is not None:
                return self._member(place, alias.name)
            return [Meaning("external", f"{node.module}.{alias.name}")] if not node.level else []
        return []

    def _member(self, place: Place, name: str, deep: int = 0) -> list[Meaning]:
        """What ``name`` is in a local module: one of its globals or one of its submodules."""
        file = self.modules.files.get(place.path or "")
        if file is not None and file.module is not None:
            bindings = file.module.bindings.get(name)
            if bindings:
                token = id(bindings)
                if token in self.busy:
                    return []
                self.busy.add(token)
                try:
                    return list(
                        self._bindings(reaching(bindings, file.module.region, (0, 0), False), file.module.region)
                    )
                finally:
                    self.busy.discard(token)
            if deep < _DEEPEST:
                found = self._starred(name, file, deep)
                if found:
                    return found
        child = self.modules.child(place, name)
        return [Meaning("module", place=child)] if child is not None else []

    def _parameter(self, binding: Binding) -> list[Meaning]:
        """What callers in the local files pass for a parameter, and its default where one of them may leave it out."""
        token = id(binding)
        if token in self.busy:
            return []
        self.busy.add(token)
        try:
            found: list[Meaning] = []
            passed_by_all = False
            name = binding.name
            method = binding.scope.parent is not None and binding.scope.parent.kind == "class"
            if binding.scope.kind == "function" and method and binding.index == 0 and not _static(binding.scope):
                return [Meaning("instance", scope=binding.scope.parent)]
            if binding.scope.kind == "function" and name:
                sites = self.sites(binding.scope)
                passed_by_all = bool(sites)
                for call, shift in sites:
                    argument = _argument(call.node, name, binding.index, shift)
                    if argument is not None:
                        found.extend(self.follow(argument, call.scope, call.region))
                    else:
                        passed_by_all = False
            if not passed_by_all and isinstance(binding.node, ast.expr):
                outside = binding.scope.parent or binding.scope
                found.extend(self.follow(binding.node, outside, outside.region))
            return found or [Meaning("unknown", name="parameter")]
        finally:
            self.busy.discard(token)

    def sites(self, function: Scope) -> list[tuple[Call, int]]:
        """The calls of a local function, each with the number of leading parameters that the call itself supplies."""
        owner = function.parent if function.parent is not None and function.parent.kind == "class" else None
        name = function.qualified_name.rpartition(".")[2]
        if owner is not None and name == "__init__":
            name = owner.qualified_name.rpartition(".")[2]
        found: list[tuple[Call, int]] = []
        for call in self.call_sites.get(name, [])[:_MOST_CALL_SITES]:
            if call.region.dead:
                continue
            meaning = self.called(call)
            if owner is None:
                if meaning.kind == "function" and meaning.scope is function:
                    found.append((call, 0))
            elif meaning.kind == "class" and meaning.scope is owner:
                found.append((call, 1))
            elif meaning.kind == "function" and meaning.scope is function:
                found.append((call, 0 if _static(function) or self._through_class(call) else 1))
            elif (
                meaning.kind == "unknown" and isinstance(call.node.func, ast.Attribute) and self.methods.get(name) == 1
            ):
                found.append((call, 0 if _static(function) else 1))
        return found

    def _through_class(self, call: Call) -> bool:
        """Whether a method is called as ``Class.method(instance, …)``."""
        func = call.node.func
        if not isinstance(func, ast.Attribute):
            return False
        return self.follow(func.value, call.scope, call.region)[0].kind == "class"

    def _elements(self, node: ast.expr, scope: Scope, region: Region) -> list[Meaning]:
        found: list[Meaning] = []
        for meaning in self.follow(node, scope, region):
            value = meaning.node
            if isinstance(value, (ast.List, ast.Tuple, ast.Set)) and meaning.scope and meaning.region:
                for element in value.elts[:_MOST_MEANINGS]:
                    found.extend(self.follow(element, meaning.scope, meaning.region))
        return found

    def _part(self, meaning: Meaning, number: int) -> Meaning:
        """One part of a value that is unpacked."""
        value = meaning.node
        parts = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
        if 0 <= number < len(parts) and meaning.scope is not None and meaning.region is not None:
            return self.follow(parts[number], meaning.scope, meaning.region)[0]
        name = self.result(meaning)
        return Meaning("result", name=name) if name else UNKNOWN[0]

    def result(self, meaning: Meaning) -> str:
        """A name for what an external call gives: the class itself, or the function with ``()``; empty for anything else."""
        if meaning.kind == "result":
            return meaning.name
        value = meaning.node
        if not isinstance(value, ast.Call) or meaning.scope is None or meaning.region is None:
            return ""
        called = self.follow(value.func, meaning.scope, meaning.region)[0]
        if called.kind != "external" or len(called.name) > _LONGEST_NAME:
            return ""
        name = public_name(called.name)
        name = _GENERATOR_MAKERS.get(name, name)
        return name if name.rpartition(".")[2][:1].isupper() else name + "()"

    def _attribute(self, node: ast.Attribute, scope: Scope, region: Region) -> list[Meaning]:
        if node.attr in scope.file.assigned_attributes:
            base = spelled(node.value)
            direct = self._key(f"{base}.{node.attr}", scope, region, node) if base else []
            if direct:
                return direct
        found: list[Meaning] = []
        for meaning in self.follow(node.value, scope, region):
            found.extend(_under(self.attribute(meaning, node.attr), meaning.condition))
        return found

    def attribute(self, meaning: Meaning, name: str) -> list[Meaning]:
        """What the attribute ``name`` of something is."""
        if meaning.kind == "external":
            if len(meaning.name) > _LONGEST_NAME:
                return []
            if name in _SAME_DTYPE and of_type(meaning.name):
                return [meaning]
            return [Meaning("external", f"{meaning.name}.{name}")]
        if meaning.kind == "module" and meaning.place is not None:
            return self._member(meaning.place, name)
        if meaning.kind in ("class", "instance") and meaning.scope is not None:
            return self._of_class(meaning.scope, name, 0)
        if meaning.kind in ("value", "result"):
            if isinstance(meaning.node, ast.Constant):
                return [meaning] if name in ("name", "value", "lower") else []
            option = self._option(meaning, name)
            if option:
                return option
            result = self.result(meaning)
            if result.startswith("builtins.super()"):
                return [Meaning("external", f"super().{name}")]
            if result:
                return [Meaning("external", f"{result}.{name}")]
            if isinstance(meaning.node, ast.Call) and name in ("name", "dtype", "type", "as_numpy_dtype"):
                return [meaning]
        return []

    def _of_class(self, klass: Scope, name: str, deep: int) -> list[Meaning]:
        bindings = klass.bindings.get(name)
        if bindings:
            token = id(bindings)
            if token in self.busy:
                return []
            self.busy.add(token)
            try:
                return [
                    meaning
                    for binding in bindings[:_MOST_MEANINGS]
                    if not binding.region.dead
                    for meaning in self._class_value(binding)
                ]
            finally:
                self.busy.discard(token)
        if deep > _DEEPEST or not isinstance(klass.node, ast.ClassDef) or klass.parent is None:
            return []
        for base in klass.node.bases:
            for meaning in self.follow(base, klass.parent, klass.region):
                if meaning.kind == "class" and meaning.scope is not None and meaning.scope is not klass:
                    found = self._of_class(meaning.scope, name, deep + 1)
                    if found:
                        return found
                elif meaning.kind == "external" and not meaning.name.startswith("builtins."):
                    return [Meaning("external", f"{meaning.name}.{name}")]
        return []

    def _class_value(self, binding: Binding) -> Iterable[Meaning]:
        """What a class attribute is; ``field(default=…)`` of a dataclass is its default."""
        condition = binding.region if binding.region.conditional else None
        value = binding.node
        if isinstance(value, ast.Call) and last_name(value.func) in ("field", "Field", "ib", "attrib"):
            for word in value.keywords:
                if word.arg == "default":
                    return self.follow(word.value, binding.scope, binding.region)
        return _under(self._binding(binding), condition)

    def _option(self, meaning: Meaning, name: str) -> list[Meaning]:
        """The default of a command-line option, when ``meaning`` is what ``parse_args()`` gives."""
        node = meaning.node
        if not (isinstance(node, ast.Call) and last_name(node.func) in ("parse_args", "parse_known_args")):
            return []
        found: list[Meaning] = []
        for call in self.call_sites.get("add_argument", []):
            if _destination(call.node) != name:
                continue
            for word in call.node.keywords:
                if word.arg == "default":
                    found.extend(self.follow(word.value, call.scope, call.region))
        return found

    def _item(self, node: ast.Subscript, scope: Scope, region: Region) -> list[Meaning]:
        if isinstance(node.slice, ast.Constant):
            base = spelled(node.value)
            direct = self._key(f"{base}[{node.slice.value!r}]", scope, region, node) if base else []
            if direct:
                return direct
        found: list[Meaning] = []
        for meaning in self.follow(node.value, scope, region):
            for chosen in self._chosen(meaning, node.slice):
                assert meaning.scope is not None and meaning.region is not None
                found.extend(_under(self.follow(chosen, meaning.scope, meaning.region), meaning.condition))
        return found

    def items(self, node: ast.expr | None) -> list[tuple[object, ast.expr]]:
        """Constant keys and values of a dictionary that is written out, empty for anything else."""
        if not isinstance(node, (ast.Dict, ast.Call)):
            return []
        known = self.known_items.get(id(node))
        if known is None:
            known = self.known_items[id(node)] = dictionary_items(node)
        return known

    def _chosen(self, meaning: Meaning, key: ast.expr) -> list[ast.expr]:
        """The parts of a dictionary or sequence display that an index may choose: all of them when the index is not constant."""
        value = meaning.node
        if meaning.scope is None or meaning.region is None or isinstance(key, ast.Slice):
            return []
        constant = key.value if isinstance(key, ast.Constant) else None
        if isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.USub) and isinstance(key.operand, ast.Constant):
            constant = -key.operand.value if isinstance(key.operand.value, int) else None
        if isinstance(value, (ast.List, ast.Tuple)):
            if isinstance(constant, int) and -len(value.elts) <= constant < len(value.elts):
                return [value.elts[constant]]
            return []
        pairs = self.items(value)
        if isinstance(key, ast.Constant):
            return [item for name, item in pairs if name == constant]
        return [item for _, item in pairs][:_MOST_MEANINGS]

    def _call(self, node: ast.Call, scope: Scope, region: Region) -> list[Meaning]:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and 0 < len(node.args) <= 2:
            looked_up = self._get(node, node.func, scope, region)
            if looked_up:
                return looked_up
        found: list[Meaning] = []
        for meaning in self.follow(node.func, scope, region):
            if meaning.kind == "function" and meaning.scope is not None:
                for value, within in meaning.scope.returns[:_MOST_MEANINGS]:
                    if not within.dead:
                        found.extend(self.follow(value, meaning.scope, within))
            elif meaning.kind == "class":
                found.append(Meaning("instance", scope=meaning.scope))
            elif meaning.kind == "external" and node.args:
                if meaning.name in _FIRST_CALL_ARGUMENT_IS_THE_VALUE:
                    found.extend(self.follow(node.args[-1 if meaning.name == "typing.cast" else 0], scope, region))
                elif meaning.name == "builtins.getattr" and len(node.args) > 1:
                    found.extend(self._getattr(node, scope, region))
                elif meaning.name in ("importlib.import_module", "builtins.__import__"):
                    found.extend(self._dynamic_import(node))
        return found or [Meaning("value", node=node, scope=scope, region=region)]

    def _get(self, node: ast.Call, func: ast.Attribute, scope: Scope, region: Region) -> list[Meaning]:
        """``mapping.get(key, default)`` of a dictionary that is written out; ``os.environ.get`` gives its default."""
        found: list[Meaning] = []
        for meaning in self.follow(func.value, scope, region):
            chosen = self._chosen(meaning, node.args[0])
            for item in chosen:
                assert meaning.scope is not None and meaning.region is not None
                found.extend(self.follow(item, meaning.scope, meaning.region))
            environment = meaning.kind == "external" and meaning.name == "os.environ"
            written_out = self.items(meaning.node) != []
            if not chosen and (environment or written_out) and len(node.args) > 1:
                found.extend(self.follow(node.args[1], scope, region))
        return found

    def _getattr(self, node: ast.Call, scope: Scope, region: Region) -> list[Meaning]:
        found: list[Meaning] = []
        for name in self.follow(node.args[1], scope, region):
            if isinstance(name.node, ast.Constant) and isinstance(name.node.value, str):
                for meaning in self.follow(node.args[0], scope, region):
                    found.extend(self.attribute(meaning, name.node.value))
        return found

    def _dynamic_import(self, node: ast.Call) -> list[Meaning]:
        first = node.args[0]
        if not (isinstance(first, ast.Constant) and isinstance(first.value, str)) or first.value.startswith("."):
            return []
        place = self.modules.absolute(first.value)
        return [Meaning("module", place=place) if place is not None else Meaning("external", first.value)]

    def _key(self, key: str, scope: Scope, region: Region, node: ast.expr) -> list[Meaning]:
        """What an assignment to ``name.attribute`` or ``name["item"]`` in a scope around gives."""
        holder: Scope | None = scope
        while holder is not None:
            bindings = holder.bindings.get(key)
            if bindings:
                token = id(bindings)
                if token in self.busy:
                    return []
                self.busy.add(token)
                try:
                    chosen = reaching(bindings, region, (node.lineno, node.col_offset), holder.body is scope.body)
                    return list(self._bindings(chosen, region))
                finally:
                    self.busy.discard(token)
            holder = holder.parent
        return []


def reaching(bindings: list[Binding], region: Region, at: Position, same_body: bool) -> list[Binding]:
    """The bindings that can hold at a place, in order: back to the last one that needs no further condition.

    From another function, all of the bindings may have happened before; in the same body, only those above do, unless
    there is none (a loop).
    """
    if len(bindings) == 1 and not bindings[0].region.conditional:
        return [] if bindings[0].region.dead else bindings
    if not same_body:
        return _latest(bindings, region, False)
    above = bisect_right(bindings, at, key=_position)
    return _latest(bindings[max(0, above - _MOST_BINDINGS) : above], region, True) or _latest(bindings, region, True)


def _latest(bindings: list[Binding], region: Region, same_body: bool) -> list[Binding]:
    """From the last binding back to one that holds under no condition, or under one that holds here as well."""
    found: list[Binding] = []
    for binding in reversed(bindings[-_MOST_BINDINGS:]):
        conditional = binding.region.conditional
        if binding.region.dead or (same_body and conditional and _exclusive(binding.region, region)):
            continue
        found.append(binding)
        if not conditional or (same_body and _within(region, binding.region)) or len(found) == _MOST_MEANINGS:
            break
    found.reverse()
    return found


def _position(binding: Binding) -> Position:
    return binding.position


def dictionary_items(node: ast.expr | None) -> list[tuple[object, ast.expr]]:
    """Constant keys and values of ``{…}`` or ``dict(…)``, empty for anything else."""
    if isinstance(node, ast.Dict):
        return [
            (key.value, value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant)
        ]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("dict", "SimpleNamespace"):
        return [(word.arg, word.value) for word in node.keywords if word.arg is not None]
    return []


def local_name(scope: Scope) -> str:
    """The qualified name of a local function or class: its module's file name, then its own name."""
    stem = scope.file.path.rpartition("/")[2].removesuffix(".py")
    return f"{stem}.{scope.qualified_name}"


def _under(meanings: Iterable[Meaning], condition: Region | None) -> Iterable[Meaning]:
    if condition is None:
        return meanings
    return [meaning if meaning.condition is not None else replace(meaning, condition=condition) for meaning in meanings]


def _distinct(meanings: Iterable[Meaning]) -> Meanings:
    """Each meaning once; those without a condition first."""
    if isinstance(meanings, (list, tuple)) and len(meanings) == 1:
        return tuple(meanings)
    found: list[Meaning] = []
    for meaning in meanings:
        if meaning not in found:
            found.append(meaning)
        if len(found) >= _MOST_MEANINGS:
            break
    if len(found) > 1:
        found.sort(key=lambda meaning: meaning.condition is not None)
    return tuple(found)


def _exclusive(one: Region, other: Region) -> bool:
    """Whether two regions are different branches of the same condition."""
    branches = {id(region.owner): region.branch for region in one.conditions()}
    return any(branches.get(id(region.owner), region.branch) != region.branch for region in other.conditions())


def _within(inner: Region, outer: Region) -> bool:
    """Whether ``inner`` runs only when ``outer`` does."""
    region: Region | None = inner
    while region is not None:
        if region is outer:
            return True
        region = region.parent
    return False


def _static(function: Scope) -> bool:
    decorators = getattr(function.node, "decorator_list", [])
    return any(isinstance(decorator, ast.Name) and decorator.id == "staticmethod" for decorator in decorators)


def _argument(call: ast.Call, name: str, number: int, shift: int) -> ast.expr | None:
    """The argument of a call for a parameter, given its name and its position (-1 for keyword only)."""
    for word in call.keywords:
        if word.arg == name:
            return word.value
    place = number - shift
    if number < 0 or not 0 <= place < len(call.args):
        return None
    if any(isinstance(argument, ast.Starred) for argument in call.args[: place + 1]):
        return None
    return call.args[place]


def _destination(call: ast.Call) -> str:
    """The attribute in which argparse keeps an option."""
    for word in call.keywords:
        if word.arg == "dest" and isinstance(word.value, ast.Constant):
            return str(word.value.value)
    names = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    long = [name for name in names if isinstance(name, str) and name.startswith("--")]
    best = long[0] if long else names[0] if names and isinstance(names[0], str) else ""
    return str(best).lstrip("-").replace("-", "_")
