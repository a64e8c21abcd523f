"""One pass over a syntax tree: its scopes, what each name is bound to, the calls, and under which conditions they run."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

Position = tuple[int, int]

LONGEST_WORD = 64


def last_name(func: ast.expr) -> str:
    """The last part of the name in a call, empty when it has none."""
    if isinstance(func, ast.Name):
        return func.id
    return func.attr if isinstance(func, ast.Attribute) else ""


class Region:
    """A stretch of a function that runs under one condition: ``owner`` and ``branch`` name it, ``owner`` None means always."""

    __slots__ = ("branch", "conditional", "dead", "owner", "parent")

    def __init__(self, parent: Region | None, owner: ast.AST | None, branch: str, dead: bool) -> None:
        self.parent = parent
        self.owner = owner
        self.branch = branch
        self.dead = dead
        self.conditional: bool = owner is not None or (parent is not None and parent.conditional)

    def conditions(self) -> list[Region]:
        """This region and those around it that depend on a condition, the nearest first."""
        found = []
        region: Region | None = self
        while region is not None:
            if region.owner is not None:
                found.append(region)
            region = region.parent
        return found


class Binding:
    """One way in which a name gets its value; ``position`` is where the value is there."""

    __slots__ = ("index", "kind", "name", "node", "position", "region", "scope")

    def __init__(
        self, kind: str, node: ast.AST | None, scope: Scope, region: Region, position: Position, index: int = -1
    ) -> None:
        self.kind = kind
        self.name = ""
        self.node = node
        self.scope = scope
        self.region = region
        self.position = position
        self.index = index


class Scope:
    """A module, class, function, lambda or comprehension, with the names bound in it and what its own code mentions."""

    __slots__ = (
        "bindings",
        "calls",
        "declared",
        "file",
        "kind",
        "node",
        "parent",
        "qualified_name",
        "region",
        "returns",
        "words",
    )

    def __init__(
        self, kind: str, node: ast.AST, parent: Scope | None, file: File, qualified_name: str, region: Region
    ) -> None:
        self.kind = kind
        self.node = node
        self.parent = parent
        self.file = file
        self.qualified_name = qualified_name
        self.region = region
        self.bindings: dict[str, list[Binding]] = {}
        self.declared: dict[str, Scope] = {}
        self.returns: list[tuple[ast.expr, Region]] = []
        self.calls: list[Call] = []
        self.words: set[str] = parent.words if parent and kind in ("class", "lambda", "comprehension") else set()

    @property
    def body(self) -> Scope:
        """The function, module or class body whose code this is: lambdas and comprehensions belong to what is around them."""
        scope = self
        while scope.kind in ("lambda", "comprehension") and scope.parent is not None:
            scope = scope.parent
        return scope

    @property
    def function(self) -> Scope | None:
        """The nearest function around, None at the top of a module."""
        scope: Scope | None = self
        while scope is not None and scope.kind != "function":
            scope = scope.parent
        return scope


class Call:
    """One call expression, the last part of the name that it calls, its statement, and the outermost loop around it."""

    __slots__ = ("last", "loop", "node", "region", "scope", "statement")

    def __init__(
        self, node: ast.Call, scope: Scope, region: Region, statement: ast.stmt, loop: ast.stmt | None
    ) -> None:
        self.node = node
        self.last = last_name(node.func)
        self.scope = scope
        self.region = region
        self.statement = statement
        self.loop = loop


@dataclass(slots=True)
class Load:
    """One place where a name is read."""

    node: ast.Name
    scope: Scope
    region: Region
    statement: ast.stmt
    loop: ast.stmt | None


@dataclass(slots=True)
class Import:
    """One import statement, and whether it can ever run."""

    node: ast.Import | ast.ImportFrom
    dead: bool


@dataclass(slots=True)
class File:
    """A file of source with all that one pass over it finds."""

    path: str
    lines: list[str]
    is_script: bool = False
    module: Scope | None = None
    calls: list[Call] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    functions: list[Scope] = field(default_factory=list)
    classes: list[Scope] = field(default_factory=list)
    loads: dict[str, list[Load]] = field(default_factory=dict)
    stars: list[ast.ImportFrom] = field(default_factory=list)
    assigned_attributes: set[str] = field(default_factory=set)
    aliases: set[str] = field(default_factory=set)
    inner_scopes: dict[int, Scope] = field(default_factory=dict)


FunctionNode = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_NO_ALIASES = (ast.Constant, ast.Call, ast.BinOp, ast.ListComp, ast.Import, ast.ImportFrom, ast.ClassDef, type(None))
_PLAIN = frozenset(
    {ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Slice, ast.Starred, ast.Dict, ast.Set, ast.JoinedStr, ast.FormattedValue}
)
_ENDS_THE_PROGRAM = frozenset({"exit", "quit", "sys.exit", "os._exit", "os.abort"})
_TRY = (ast.Try, ast.TryStar) if hasattr(ast, "TryStar") else (ast.Try,)


def index(file: File, tree: ast.Module) -> None:
    """Fills ``file`` from its tree."""
    region = Region(None, None, "", False)
    file.module = Scope("module", tree, None, file, "", region)
    _Indexer(file).block(tree.body, file.module, region)


def end(node: ast.AST) -> Position:
    """Where a node ends: line from 1 and column in bytes."""
    return getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0


def start(node: ast.AST) -> Position:
    """Where a node begins: line from 1 and column in bytes."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def is_main_test(test: ast.expr) -> bool:
    """Whether a condition is ``__name__ == "__main__"``, either way round."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = (test.left, test.comparators[0])
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    values = [side.value for side in sides if isinstance(side, ast.Constant)]
    return names == ["__name__"] and values == ["__main__"]


def truth(test: ast.expr) -> bool | None:
    """What a condition always is, None when it depends on the run. TYPE_CHECKING is false in every run."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Name):
        return False if test.id == "TYPE_CHECKING" else None
    if isinstance(test, ast.Attribute):
        return False if test.attr == "TYPE_CHECKING" else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        decided = isinstance(test.op, ast.Or)
        values = [truth(value) for value in test.values]
        if decided in values:
            return decided
        return None if None in values else not decided
    return None


def spelled(node: ast.AST) -> str:
    """A dotted name as it is written, empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


class _Indexer:
    def __init__(self, file: File) -> None:
        self.file = file
        self.loop: ast.stmt | None = None

    def block(self, statements: list[ast.stmt], scope: Scope, region: Region) -> bool:
        """Reads statements in order; True when control never comes out at their end."""
        ended = False
        for statement in statements:
            if self.statement(statement, scope, region) and not ended:
                ended = True
                region = Region(region, None, "", True)
        return ended

    def statement(self, node: ast.stmt, scope: Scope, region: Region) -> bool:
        if isinstance(node, ast.Expr):
            self.expression(node.value, scope, region, node)
            return isinstance(node.value, ast.Call) and spelled(node.value.func) in _ENDS_THE_PROGRAM
        if isinstance(node, ast.Assign):
            self.expression(node.value, scope, region, node)
            for target in node.targets:
                self.bind(target, "value", node.value, scope, region, node)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.expression(node.value, scope, region, node)
                self.bind(node.target, "value", node.value, scope, region, node)
        elif isinstance(node, ast.AugAssign):
            self.expression(node.value, scope, region, node)
            if isinstance(node.target, ast.Name):
                self.load(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target), scope, region, node)
            else:
                self.bind(node.target, "unknown", None, scope, region, node)
        elif isinstance(node, FunctionNode):
            self.function(node, scope, region)
        elif isinstance(node, ast.ClassDef):
            self.klass(node, scope, region)
        elif isinstance(node, ast.Return):
            if node.value is not None:
                self.expression(node.value, scope, region, node)
                scope.returns.append((node.value, region))
            return True
        elif isinstance(node, ast.Raise):
            self.all([node.exc, node.cause], scope, region, node)
            return True
        elif isinstance(node, (ast.Break, ast.Continue)):
            return True
        elif isinstance(node, ast.If):
            return self.condition(node, scope, region)
        elif isinstance(node, ast.While):
            return self.while_loop(node, scope, region)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.expression(node.iter, scope, region, node)
            self.bind(node.target, "element", node.iter, scope, region, node, start(node.body[0]))
            self.looped(node, node.body, scope, region)
            self.block(node.orelse, scope, region)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self.expression(item.context_expr, scope, region, node)
                if item.optional_vars is not None:
                    at = end(item.optional_vars)
                    self.bind(item.optional_vars, "value", item.context_expr, scope, region, node, at)
            ended = self.block(node.body, scope, region)
            return ended and not any(_swallows(item.context_expr) for item in node.items)
        elif isinstance(node, _TRY):
            return self.attempt(node, scope, region)
        elif isinstance(node, ast.Match):
            return self.match(node, scope, region)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self.imported(node, scope, region)
        elif isinstance(node, ast.Global):
            assert self.file.module is not None
            for name in node.names:
                scope.declared[name] = self.file.module
        elif isinstance(node, ast.Nonlocal):
            for name in node.names:
                outer = scope.parent
                while outer is not None and not (outer.kind == "function" and name in outer.bindings):
                    outer = outer.parent
                if outer is not None:
                    scope.declared[name] = outer
        elif isinstance(node, ast.Assert):
            self.all([node.test, node.msg], scope, region, node)
        elif isinstance(node, ast.Delete):
            self.all(node.targets, scope, region, node)
        return False

    def condition(self, node: ast.If, scope: Scope, region: Region) -> bool:
        ends: list[bool] = []
        while True:
            self.expression(node.test, scope, region, node)
            body, otherwise = self.branches(node.test, node, region)
            ends.append(self.block(node.body, scope, body))
            if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
                node, region = node.orelse[0], otherwise
                continue
            ends.append(self.block(node.orelse, scope, otherwise))
            return all(ends) or (truth(node.test) is True and ends[0] and len(ends) == 2)

    def branches(self, test: ast.expr, owner: ast.AST, region: Region) -> tuple[Region, Region]:
        always = truth(test)
        if is_main_test(test):
            always = self.file.is_script
        if always is None:
            return Region(region, owner, "body", region.dead), Region(region, owner, "else", region.dead)
        never = Region(region, owner, "else" if always else "body", True)
        return (region, never) if always else (never, region)

    def while_loop(self, node: ast.While, scope: Scope, region: Region) -> bool:
        self.expression(node.test, scope, region, node)
        body, _ = self.branches(node.test, node, region)
        self.looped(node, node.body, scope, body)
        self.block(node.orelse, scope, region)
        return False

    def looped(self, node: ast.stmt, body: list[ast.stmt], scope: Scope, region: Region) -> None:
        outer = self.loop
        self.loop = outer or node
        self.block(body, scope, region)
        self.loop = outer

    def attempt(self, node: ast.Try, scope: Scope, region: Region) -> bool:
        ended = self.block(node.body, scope, region)
        after = Region(region, None, "", True) if ended else region
        ended = self.block(node.orelse, scope, after) or ended
        for handler in node.handlers:
            within = Region(region, handler, "except", region.dead)
            self.all([handler.type], scope, within, node)
            if handler.name:
                self.name(handler.name, Binding("unknown", None, scope, within, start(handler)))
            ended = self.block(handler.body, scope, within) and ended
        return self.block(node.finalbody, scope, region) or ended

    def match(self, node: ast.Match, scope: Scope, region: Region) -> bool:
        self.expression(node.subject, scope, region, node)
        ends = []
        catches_all = False
        for number, case in enumerate(node.cases):
            within = Region(region, node, str(number), region.dead)
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    self.name(name, Binding("unknown", None, scope, within, start(pattern)))
                if isinstance(pattern, ast.MatchValue):
                    self.expression(pattern.value, scope, region, node)
            self.all([case.guard], scope, region, node)
            ends.append(self.block(case.body, scope, within))
            if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None:
                catches_all = True
        return catches_all and all(ends)

    def imported(self, node: ast.Import | ast.ImportFrom, scope: Scope, region: Region) -> None:
        self.file.imports.append(Import(node, region.dead))
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                scope.words.add(alias.name)
                if alias.name == "*":
                    self.file.stars.append(node)
                    continue
            name = alias.asname or alias.name.partition(".")[0]
            number = node.names.index(alias)
            self.name(name, Binding("import", node, scope, region, end(node), number))
            if alias.asname:
                self.file.aliases.add(name)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, region: Region) -> None:
        arguments = node.args
        self.all(node.decorator_list, scope, region, node)
        self.all([*arguments.defaults, *arguments.kw_defaults], scope, region, node)
        body = Region(None, None, "", region.dead)
        inner = Scope("function", node, scope, self.file, _within(scope, node.name), body)
        self.name(node.name, Binding("function", node, inner, region, start(node)), scope)
        self.file.functions.append(inner)
        self.parameters(arguments, inner, node)
        outer = self.loop
        self.loop = None
        self.block(node.body, inner, inner.region)
        self.loop = outer

    def parameters(self, arguments: ast.arguments, scope: Scope, node: ast.AST) -> None:
        at = start(node)
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
        defaults.extend(arguments.defaults)
        for number, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
            self.name(argument.arg, Binding("parameter", default, scope, scope.region, at, number))
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            self.name(argument.arg, Binding("parameter", default, scope, scope.region, at))
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                self.name(extra.arg, Binding("unknown", None, scope, scope.region, at))

    def klass(self, node: ast.ClassDef, scope: Scope, region: Region) -> None:
        self.all([*node.decorator_list, *node.bases, *(word.value for word in node.keywords)], scope, region, node)
        inner = Scope("class", node, scope, self.file, _within(scope, node.name), region)
        self.file.classes.append(inner)
        self.name(node.name, Binding("class", node, inner, region, start(node)), scope)
        self.block(node.body, inner, region)

    def name(self, name: str, binding: Binding, scope: Scope | None = None) -> None:
        """Binds a name in the scope that owns it there."""
        holder = scope or binding.scope
        holder = holder.declared.get(name, holder)
        binding.name = name
        holder.bindings.setdefault(name, []).append(binding)
        if binding.kind != "function" and not isinstance(binding.node, _NO_ALIASES):
            self.file.aliases.add(name.rpartition(".")[2])

    def bind(
        self,
        target: ast.expr,
        kind: str,
        value: ast.expr | None,
        scope: Scope,
        region: Region,
        statement: ast.stmt,
        position: Position | None = None,
        index: int = -1,
    ) -> None:
        at = position or end(statement)
        if isinstance(target, ast.Name):
            self.name(target.id, Binding(kind, value, scope, region, at, index))
        elif isinstance(target, (ast.Tuple, ast.List)):
            pairs = _pairs(target, value) if kind == "value" else None
            for number, part in enumerate(target.elts):
                if pairs is not None:
                    self.bind(part, "value", pairs[number], scope, region, statement, at)
                else:
                    each = "part" if kind == "value" else "element part" if kind == "element" else "unknown"
                    self.bind(part, each, value, scope, region, statement, at, number)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, "unknown", None, scope, region, statement, at)
        elif isinstance(target, ast.Attribute):
            self.expression(target.value, scope, region, statement)
            base = spelled(target.value)
            if base:
                self.file.assigned_attributes.add(target.attr)
                self.name(f"{base}.{target.attr}", Binding(kind, value, scope, region, at, index))
                owner = _class_of_self(base, scope)
                if owner is not None:
                    self.name(target.attr, Binding(kind, value, scope, region, at, index), owner)
        elif isinstance(target, ast.Subscript):
            self.all([target.value, target.slice], scope, region, statement)
            base = spelled(target.value)
            if base and isinstance(target.slice, ast.Constant):
                self.name(f"{base}[{target.slice.value!r}]", Binding(kind, value, scope, region, at, index))

    def all(self, nodes: Iterable[ast.expr | None], scope: Scope, region: Region, statement: ast.stmt) -> None:
        for node in nodes:
            if node is not None:
                self.expression(node, scope, region, statement)

    def load(self, node: ast.Name, scope: Scope, region: Region, statement: ast.stmt) -> None:
        scope.words.add(node.id)
        self.file.loads.setdefault(node.id, []).append(Load(node, scope, region, statement, self.loop))

    def expression(self, node: ast.expr, scope: Scope, region: Region, statement: ast.stmt) -> None:
        """Reads an expression, however deep, without recursion."""
        work: list[tuple[ast.AST, Scope, Region]] = [(node, scope, region)]
        loads, loop = self.file.loads, self.loop
        while work:
            root, scope, region = work.pop()
            words = scope.words
            stack = [root]
            while stack:
                part = stack.pop()
                kind = type(part)
                if kind is ast.Name:
                    name = part.id  # type: ignore[attr-defined]
                    words.add(name)
                    load = Load(part, scope, region, statement, loop)  # type: ignore[arg-type]
                    if name in loads:
                        loads[name].append(load)
                    else:
                        loads[name] = [load]
                elif kind is ast.Attribute:
                    words.add(part.attr)  # type: ignore[attr-defined]
                    stack.append(part.value)  # type: ignore[attr-defined]
                elif kind is ast.Constant:
                    value = part.value  # type: ignore[attr-defined]
                    if type(value) is str and len(value) <= LONGEST_WORD:
                        words.add(value)
                elif kind is ast.Call:
                    call = Call(part, scope, region, statement, self.loop)  # type: ignore[arg-type]
                    self.file.calls.append(call)
                    scope.body.calls.append(call)
                    stack.append(part.func)  # type: ignore[attr-defined]
                    stack.extend(part.args)  # type: ignore[attr-defined]
                    for word in part.keywords:  # type: ignore[attr-defined]
                        stack.append(word.value)
                elif kind is ast.Subscript:
                    stack.append(part.value)  # type: ignore[attr-defined]
                    stack.append(part.slice)  # type: ignore[attr-defined]
                elif kind is ast.BinOp:
                    stack.append(part.left)  # type: ignore[attr-defined]
                    stack.append(part.right)  # type: ignore[attr-defined]
                elif kind is ast.Tuple or kind is ast.List:
                    stack.extend(part.elts)  # type: ignore[attr-defined]
                elif kind in _PLAIN:
                    for child in vars(part).values():
                        if isinstance(child, ast.AST):
                            stack.append(child)
                        elif type(child) is list:
                            stack.extend(child)
                elif isinstance(part, ast.Lambda):
                    stack.extend(part.args.defaults)
                    stack.extend(default for default in part.args.kw_defaults if default is not None)
                    inner = Scope("lambda", part, scope, self.file, scope.qualified_name, region)
                    self.file.inner_scopes[id(part)] = inner
                    self.parameters(part.args, inner, part)
                    inner.returns.append((part.body, region))
                    work.append((part.body, inner, region))
                elif isinstance(part, _COMPREHENSIONS):
                    inner = Scope("comprehension", part, scope, self.file, scope.qualified_name, region)
                    self.file.inner_scopes[id(part)] = inner
                    for number, generator in enumerate(part.generators):
                        self.bind(generator.target, "element", generator.iter, inner, region, statement, start(part))
                        if number == 0:
                            stack.append(generator.iter)
                        else:
                            work.append((generator.iter, inner, region))
                        work.extend((test, inner, region) for test in generator.ifs)
                    elements = [part.key, part.value] if isinstance(part, ast.DictComp) else [part.elt]
                    work.extend((element, inner, region) for element in elements)
                elif isinstance(part, ast.IfExp):
                    stack.append(part.test)
                    body, otherwise = self.branches(part.test, part, region)
                    work.append((part.body, scope, body))
                    work.append((part.orelse, scope, otherwise))
                elif isinstance(part, ast.NamedExpr):
                    self.name(part.target.id, Binding("value", part.value, scope, region, end(part)), scope.body)
                    stack.append(part.value)
                elif isinstance(part, ast.AST):
                    stack.extend(ast.iter_child_nodes(part))


def _swallows(manager: ast.expr) -> bool:
    """Whether a context manager lets the program go on after an exception inside it."""
    if not isinstance(manager, ast.Call):
        return False
    return spelled(manager.func).rpartition(".")[2] in ("suppress", "raises", "assertRaises", "assertRaisesRegex")


def _within(scope: Scope, name: str) -> str:
    return f"{scope.qualified_name}.{name}" if scope.qualified_name else name


def _pairs(target: ast.Tuple | ast.List, value: ast.expr | None) -> list[ast.expr] | None:
    if not isinstance(value, (ast.Tuple, ast.List)) or len(value.elts) != len(target.elts):
        return None
    if any(isinstance(part, ast.Starred) for part in (*target.elts, *value.elts)):
        return None
    return value.elts


def _class_of_self(base: str, scope: Scope) -> Scope | None:
    """The class whose attribute ``base.x`` is, when ``base`` is the first parameter of the method around."""
    method = scope.function
    if method is None or method.parent is None or method.parent.kind != "class":
        return None
    first = method.bindings.get(base)
    is_self = bool(first) and first[0].kind == "parameter" and first[0].index == 0  # type: ignore[index]
    return method.parent if is_self else None
