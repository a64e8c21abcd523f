"""Follows the value of a call to where it ends: a picture, a file, the computation, or nowhere because the code never runs."""

from __future__ import annotations

import ast

from f64doctor.source import sinks
from f64doctor.source.dtypes import short_name
from f64doctor.source.names import Meaning, Names
from f64doctor.source.reachability import dead_functions
from f64doctor.source.scopes import Call, File, Position, Region, Scope, end, start

_DEEPEST = 8
_MOST_USES = 200
_WRITTEN_TO_BE_READ = "tf.train.FloatList"
_COLLECTS = frozenset({"append", "extend", "insert", "add", "appendleft"})
_APART = (ast.stmt, ast.ExceptHandler, ast.expr_context)
_PLAIN_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)

Uses = frozenset[str]
_COMPUTE: Uses = frozenset({sinks.COMPUTE})
_NOWHERE: Uses = frozenset()


class Purposes:
    """Answers for the calls of all local files."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.files = names.modules.files
        self.dead = dead_functions(self.files.values())
        self.parent_maps: dict[int, dict[int, ast.AST]] = {}
        self.pictures: dict[int, bool] = {}
        self.following: set[tuple[int, str, Position]] = set()
        self.words: dict[str, set[str]] | None = None
        self.read_paths: set[tuple[object, str]] | None = None

    def of(self, call: Call, kind: str) -> str:
        """``dead``, ``plot``, ``save`` or ``compute``, for a call that makes a mention of this kind."""
        if call.region.dead or self._is_dead(call.scope):
            return "dead"
        if short_name(self.names.qualified(call.node.func, call.scope, call.region)) == _WRITTEN_TO_BE_READ:
            return sinks.COMPUTE
        if kind == "setting":
            return sinks.COMPUTE
        uses = self._climb(call.node, call.statement, call.scope, call.region, call.loop, 0)
        if uses and sinks.COMPUTE not in uses:
            return sinks.SAVE if sinks.SAVE in uses else sinks.PLOT
        function = call.scope.function
        while function is not None:
            if self._makes_pictures(function):
                return sinks.PLOT
            function = function.parent.function if function.parent is not None else None
        return sinks.COMPUTE

    def parents(self, statement: ast.stmt) -> dict[int, ast.AST]:
        """The parent of each node in the expressions of a statement, by identity; nested statements are left out."""
        known = self.parent_maps.get(id(statement))
        if known is None:
            known = {}
            stack: list[ast.AST] = [statement]
            while stack:
                node = stack.pop()
                for value in vars(node).values():
                    for child in value if type(value) is list else (value,):
                        if isinstance(child, ast.AST) and not isinstance(child, _APART):
                            known[id(child)] = node
                            stack.append(child)
            self.parent_maps[id(statement)] = known
        return known

    def _is_dead(self, scope: Scope) -> bool:
        function = scope.function
        while function is not None:
            if function in self.dead:
                return True
            function = function.parent.function if function.parent is not None else None
        return False

    def _climb(
        self, node: ast.AST, statement: ast.stmt, scope: Scope, region: Region, loop: ast.stmt | None, deep: int
    ) -> Uses:
        """Where the value of a node goes, outward through its statement."""
        if deep > _DEEPEST:
            return _COMPUTE
        parents = self.parents(statement)
        child = node
        while True:
            parent = parents.get(id(child))
            if parent is None:
                return _COMPUTE
            if parent is statement:
                return self._ends_in(statement, child, scope, region, loop, deep)
            if isinstance(parent, (ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom)):
                return _COMPUTE
            if isinstance(parent, ast.NamedExpr):
                inner = self._uses(parent.target.id, scope, region, end(parent), loop, deep)
                return inner | self._climb(parent, statement, scope, region, loop, deep + 1)
            if isinstance(parent, ast.keyword):
                child = parent
                continue
            if isinstance(parent, ast.Call):
                use = self._use(parent, child, scope, region, loop, deep)
                if use is not None:
                    return use
            child = parent

    def _use(
        self, call: ast.Call, child: ast.AST, scope: Scope, region: Region, loop: ast.stmt | None, deep: int
    ) -> Uses | None:
        """What a call does with a value in it; None when the value goes on in what the call gives."""
        func = call.func
        meaning = self.names.follow(func, scope, region)[0]
        short = short_name(meaning.name) if meaning.kind == "external" else ""
        last = func.attr if isinstance(func, ast.Attribute) else short.rpartition(".")[2]
        if child is func:
            use = sinks.use("", last, len(call.args))
            return frozenset({use}) if use in (sinks.PLOT, sinks.SAVE) else None
        if meaning.kind == "function" and meaning.scope is not None:
            if self._makes_pictures(meaning.scope):
                return frozenset({sinks.PLOT})
            return self._parameter_uses(meaning.scope, call, child, deep)
        if meaning.kind in ("class", "instance"):
            return _COMPUTE
        use = sinks.use(short, last, len(call.args) + len(call.keywords))
        if (
            use == sinks.COMPUTE
            and last in _COLLECTS
            and isinstance(func, ast.Attribute)
            and isinstance(func.value, ast.Name)
        ):
            return self._uses(func.value.id, scope, region, end(call), loop, deep)
        if use == sinks.SAVE and self._is_read_back(call, child, scope, region):
            return _COMPUTE
        return None if use == sinks.PASS else frozenset({use})

    def _parameter_uses(self, function: Scope, call: ast.Call, child: ast.AST, deep: int) -> Uses:
        """Where a local function sends the parameter that a value is passed for."""
        arguments = getattr(function.node, "args", None)
        if not isinstance(arguments, ast.arguments):
            return _COMPUTE
        if isinstance(child, ast.keyword):
            name = child.arg or ""
        else:
            positional = [*arguments.posonlyargs, *arguments.args]
            if function.parent is not None and function.parent.kind == "class":
                positional = positional[1:]
            if child not in call.args or call.args.index(child) >= len(positional):
                return _COMPUTE
            name = positional[call.args.index(child)].arg
        if not name or name not in function.bindings:
            return _COMPUTE
        return self._uses(name, function, function.region, start(function.node), None, deep) or _COMPUTE

    def _ends_in(
        self, statement: ast.stmt, child: ast.AST, scope: Scope, region: Region, loop: ast.stmt | None, deep: int
    ) -> Uses:
        """What a statement does with the value of one of its expressions."""
        if isinstance(statement, (ast.Expr, ast.Assert, ast.Delete)):
            return _NOWHERE
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
            targets = [statement.target]
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            targets = [statement.target]
            loop = loop or statement
        if not targets:
            return _COMPUTE
        found: set[str] = set()
        at = end(statement) if isinstance(statement, _PLAIN_STATEMENTS) else end(targets[0])
        for name in _target_names(targets):
            if not name:
                return _COMPUTE
            found |= self._uses(name, scope, region, at, loop, deep)
        return frozenset(found)

    def _uses(self, name: str, scope: Scope, region: Region, at: Position, loop: ast.stmt | None, deep: int) -> Uses:
        """Where the value that a name got at a place goes."""
        owner = _owner(name, scope)
        if owner is None or deep > _DEEPEST:
            return _COMPUTE
        file = owner.file
        if owner.kind == "class" or (owner.kind == "module" and self._known_elsewhere(name, file)):
            return _COMPUTE
        loads = file.loads.get(name, [])
        if len(loads) > _MOST_USES or len(owner.bindings[name]) > _MOST_USES:
            return _COMPUTE
        key = (id(owner), name, at)
        if key in self.following:
            return _NOWHERE
        self.following.add(key)
        try:
            first = start(loop) if loop is not None else at
            last = _next_binding(name, owner, region, at) if loop is None else None
            found: set[str] = set()
            for load in loads:
                if load.region.dead or _owner(name, load.scope) is not owner:
                    continue
                if load.scope.body is owner.body and not _between(start(load.node), first, last):
                    continue
                found |= self._climb(load.node, load.statement, load.scope, load.region, load.loop, deep + 1)
                if sinks.COMPUTE in found:
                    break
            return frozenset(found)
        finally:
            self.following.discard(key)

    def _known_elsewhere(self, name: str, file: File) -> bool:
        """Whether another file may read a global of this one."""
        if self.words is None:
            self.words = {}
            for other in self.files.values():
                for scope in (*([other.module] if other.module is not None else []), *other.functions):
                    for word in scope.words:
                        self.words.setdefault(word, set()).add(other.path)
        return bool(self.words.get(name, set()) - {file.path})

    def _is_read_back(self, call: ast.Call, value: ast.AST, scope: Scope, region: Region) -> bool:
        """Whether some local code reads the file that a call writes: then the value goes on from there."""
        if self.read_paths is None:
            self.read_paths = set()
            for file in self.files.values():
                for reader in file.calls:
                    self._note_read(reader)
        places: list[ast.expr] = [argument for argument in call.args if argument is not value]
        if isinstance(call.func, ast.Attribute):
            places.append(call.func.value)
        for place in places:
            paths = self._paths(place, scope, region)
            for meaning in self.names.follow(place, scope, region):
                opened = meaning.node
                if isinstance(opened, ast.Call) and opened.args and meaning.scope and meaning.region:
                    paths |= self._paths(opened.args[0], meaning.scope, meaning.region)
            if paths & self.read_paths:
                return True
        return False

    def _note_read(self, call: Call) -> None:
        if not sinks.reads(call.last) or call.region.dead or not call.node.args:
            return
        modes = [part.value for part in call.node.args[1:2] if isinstance(part, ast.Constant)]
        modes += [
            word.value.value
            for word in call.node.keywords
            if word.arg == "mode" and isinstance(word.value, ast.Constant)
        ]
        if any(isinstance(mode, str) and mode[:1] in "wax" for mode in modes):
            return
        assert self.read_paths is not None
        self.read_paths |= self._paths(call.node.args[0], call.scope, call.region)

    def _paths(self, node: ast.expr, scope: Scope, region: Region) -> set[tuple[object, str]]:
        """Keys for the file that an expression names: its text where that is constant, else the expression in its function."""
        found: set[tuple[object, str]] = set()
        for meaning in self.names.follow(node, scope, region):
            value = meaning.node
            if isinstance(value, ast.Constant):
                if isinstance(value.value, str):
                    found.add(("", value.value.removesuffix(".npz").removesuffix(".npy")))
                continue
            found |= self._unknown_path(meaning, node, scope)
        return found

    def _unknown_path(self, meaning: Meaning, node: ast.expr, scope: Scope) -> set[tuple[object, str]]:
        if meaning.kind == "value" and meaning.node is not None and meaning.node is not node:
            return {(id(meaning.node), "")}
        if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.BinOp, ast.JoinedStr, ast.Subscript)):
            owner = _owner(node.id, scope) if isinstance(node, ast.Name) else scope.body
            return {(id(owner), ast.unparse(node))}
        return set()

    def _makes_pictures(self, function: Scope) -> bool:
        """Whether all that a function does is to make pictures, or all of its callers do only that."""
        known = self.pictures.get(id(function))
        if known is None:
            self.pictures[id(function)] = False
            known = self._only_draws(function) or self._drawn_by_callers(function)
            self.pictures[id(function)] = known
        return known

    def _only_draws(self, function: Scope) -> bool:
        if any(sinks.trains(call.last) for call in function.calls):
            return False
        draws = any(self._of_call(call) == sinks.PLOT for call in function.calls)
        return draws and all(self._is_picture(value, function, region) for value, region in function.returns)

    def _is_picture(self, value: ast.expr, scope: Scope, region: Region) -> bool:
        if isinstance(value, ast.Constant):
            return True
        if isinstance(value, ast.Tuple):
            return all(self._is_picture(part, scope, region) for part in value.elts)
        for meaning in self.names.follow(value, scope, region):
            name = meaning.name if meaning.kind in ("external", "result") else self.names.result(meaning)
            if sinks.use(short_name(name.removesuffix("()")), "", 0) != sinks.PLOT:
                return False
        return True

    def _of_call(self, call: Call) -> str:
        meaning = self.names.called(call)
        short = short_name(meaning.name) if meaning.kind == "external" else ""
        return sinks.use(short, call.last, len(call.node.args)) if meaning.kind != "function" else sinks.PASS

    def _drawn_by_callers(self, function: Scope) -> bool:
        """Whether a helper is called by functions that only draw, and is used in no other way."""
        name = function.qualified_name.rpartition(".")[2]
        sites = [call for call, _ in self.names.sites(function)]
        loads = [load for file in self.files.values() for load in file.loads.get(name, []) if not load.region.dead]
        if not sites or len(loads) > len(sites):
            return False
        return all(self._site_draws(call) for call in sites)

    def _site_draws(self, call: Call) -> bool:
        around = call.scope.function
        if around is not None and self._makes_pictures(around):
            return True
        return self._climb(call.node, call.statement, call.scope, call.region, call.loop, 1) == frozenset({sinks.PLOT})


def _owner(name: str, scope: Scope) -> Scope | None:
    """The scope in which a name that is read in ``scope`` is bound."""
    holder: Scope | None = scope.declared.get(name, scope)
    while holder is not None:
        if name in holder.bindings and (holder is scope or holder.kind != "class"):
            return holder
        holder = holder.parent
    return None


def _target_names(targets: list[ast.expr]) -> list[str]:
    """The names that hold an assigned value: ``""`` for a place that cannot be followed, such as an attribute."""
    found: list[str] = []
    for target in targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            found.extend(_target_names(target.elts))
        elif isinstance(target, ast.Starred):
            found.extend(_target_names([target.value]))
        elif isinstance(target, ast.Name):
            found.append(target.id)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            found.append(target.value.id)
        else:
            found.append("")
    return found


def _next_binding(name: str, owner: Scope, region: Region, at: Position) -> Position | None:
    """Where the name gets another value for certain, None when it never does."""
    later = [
        binding.position
        for binding in owner.bindings.get(name, [])
        if binding.position > at and not binding.region.dead and binding.region is region
    ]
    return min(later, default=None)


def _between(position: Position, first: Position, last: Position | None) -> bool:
    return position >= first and (last is None or position <= last)
