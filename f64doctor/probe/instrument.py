"""Compiles the script and its local modules so that each line that makes or names an array is seen, at almost no cost.

Line numbers, columns, tracebacks, ``inspect.getsource`` and AutoGraph are as ever: the file is not changed, only the code compiled from it.
The recorder stands in the code's constants: no name is added to any namespace, and pickling a function by value carries a stand-in that does nothing.
"""

from __future__ import annotations

import ast
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import marshal
import os
import re
import types
import warnings
from typing import Any, Optional, Sequence, Union

from . import stack

_MARK = 1.5e-300j

# Calls that make or convert numbers, by the last part of their name. What they give is looked at; what they took is, too.
_MAKERS = frozenset(
    """
    array asarray ascontiguousarray asfarray astype cast constant convert_to_tensor convert_to_numpy zeros ones
    full empty eye identity zeros_like ones_like full_like linspace logspace arange range where fill normal
    uniform standard_normal random rand randn truncated_normal stateless_normal stateless_uniform sample load
    loadtxt genfromtxt fromfile frombuffer fromstring memmap read_csv read_table read_parquet read_hdf to_numpy
    view from_tensor_slices from_tensors from_generator make_csv_dataset CsvDataset decode_csv decode_raw
    to_number parse_example parse_single_example FloatList float32 float16 half single bfloat16 double float64
    Variable map batch imread image_dataset_from_directory audio_dataset_from_directory
    timeseries_dataset_from_array array_to_img img_to_array load_img pad_sequences ragged_constant
    cast_to_floatx to_float one_hot save savez savez_compressed create_dataset tofile fit_transform transform
    hann_window hamming_window decode_wav resize rgb_to_grayscale per_image_standardization adjust_brightness stack concatenate concat meshgrid
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
_DTYPE_WORDS = ("float32", "float16", "bfloat16", "float64", "floatx", "single", "half", "f4", "f2")
# Past this many visits a line has told what it has to tell.
VISITS = 300


class Site:
    """A line that makes an array, as the source tells it."""

    __slots__ = ("call", "file", "how", "last_line", "line", "names", "scope", "text", "uses", "visits")

    def __init__(
        self,
        file: str,
        line: int,
        last_line: int,
        how: str,
        names: list[str],
        call: str,
        text: str,
        scope: str,
        uses: list[str],
    ) -> None:
        self.file = file
        self.line = line
        self.last_line = last_line
        self.how = how
        self.names = names
        self.call = call
        self.text = text
        self.scope = scope
        self.uses = uses
        self.visits = 0


class Sites(bytearray):
    """The recorder that the compiled code calls: byte ``k`` is 1 while site ``k`` still has something to tell."""

    def attach(self, recorder: Any) -> None:
        """Let ``recorder`` have what is seen; it has ``assigned``, ``before`` and ``after``."""
        self.recorder = recorder
        self.sites: list[Site] = []

    def add(self, site: Site) -> int:
        """A number for a site, alive from the start."""
        self.sites.append(site)
        self.append(1)
        return len(self.sites) - 1

    def assigned(self, number: int, values: tuple[Any, ...]) -> None:
        """The names of an assignment have new values."""
        site = self.sites[number]
        site.visits += 1
        if site.visits > VISITS:
            self[number] = 0
            return
        self.recorder.assigned(number, site, values)

    def before(self, number: int, value: Any) -> Any:
        """What a call is about to convert; returned as it is."""
        if self[number]:
            self.recorder.before(number, value)
        return value

    def after(self, number: int, value: Any) -> Any:
        """What a call gave; returned as it is."""
        if self[number]:
            site = self.sites[number]
            site.visits += 1
            if site.visits > VISITS:
                self[number] = 0
            else:
                self.recorder.after(number, site, value)
        return value

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __reduce_ex__(self, protocol: Any) -> Any:
        return eval, (_STAND_IN,)


# What a function that is pickled by value carries to another process instead of the recorder: only built-ins, and it does nothing.
_STAND_IN = (
    "type('Unwatched', (dict,), {'__missing__': lambda self, number: 0, '__hash__': lambda self: id(self),"
    " 'assigned': lambda self, number, values: None, 'before': lambda self, number, value: value,"
    " 'after': lambda self, number, value: value})()"
)


def names_read(node: ast.AST) -> list[str]:
    """The names that an expression reads, dotted where it says so (``dataset.X``), in order, without repetition."""
    found: dict[str, None] = {}
    skip: set[int] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and id(part) not in skip:
            dotted = _dotted(part)
            if dotted is not None:
                found[dotted] = None
            inner: ast.AST = part
            while isinstance(inner, ast.Attribute):
                skip.add(id(inner))
                inner = inner.value
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            found[part.id] = None
    return list(found)[:40]


def _reads_from_outside(tree: ast.AST) -> dict[str, list[str]]:
    """For each function of a module's top level: the names that it reads and does not make itself."""
    found: dict[str, list[str]] = {}
    for node in getattr(tree, "body", ()):
        if not isinstance(node, ast.FunctionDef):
            continue
        own = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
        own |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
        found[node.name] = [name for name in names_read(node) if name.split(".")[0] not in own]
    return found


def _dotted(node: ast.AST) -> Optional[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


class _Instrumenter(ast.NodeTransformer):
    def __init__(self, path: str, source: str, sites: Sites, functions: dict[str, list[str]]) -> None:
        self._path = path
        self._functions = functions
        self._lines = re.split(r"\r\n|\r|\n", source)  # as Python counts lines; splitlines knows more ends
        self._sites = sites
        self._scope: list[str] = []
        self._in_class = False

    # -- scopes

    def _function(self, node: Union[ast.FunctionDef, ast.AsyncFunctionDef]) -> ast.AST:
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        node.args.defaults = [self.visit(item) for item in node.args.defaults]
        self._scope.append(node.name)
        was, self._in_class = self._in_class, False
        node.body = [statement for old in node.body for statement in _as_list(self.visit(old))]
        self._in_class = was
        self._scope.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self._scope.append(node.name)
        was, self._in_class = self._in_class, True
        node.body = [statement for old in node.body for statement in _as_list(self.visit(old))]
        self._in_class = was
        self._scope.pop()
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        # Lambdas are often stored by value (Lambda layers, marshal): their code stays as it is.
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            value: ast.expr = self.visit(node.value)
            node.value = value
            return self._recorded(node, [node.target], value)
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        uses = names_read(node.value)
        node.value = self.visit(node.value)
        return self._recorded(node, node.targets, node.value, uses)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        uses = names_read(node.value) + names_read(node.target)
        node.value = self.visit(node.value)
        return self._recorded(node, [node.target], node.value, uses)

    def visit_With(self, node: ast.With) -> ast.AST:
        return self._with(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.AST:
        return self._with(node)

    def _with(self, node: Union[ast.With, ast.AsyncWith]) -> ast.AST:
        uses = [name for item in node.items for name in names_read(item.context_expr)]
        for item in node.items:
            item.context_expr = self.visit(item.context_expr)
        body = [statement for old in node.body for statement in _as_list(self.visit(old))]
        node.body = [*self._named_on_entry(node, [item.optional_vars for item in node.items], uses), *body]
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        uses = names_read(node.iter)
        counts = isinstance(node.iter, ast.Call) and _last_name(node.iter.func) == "range"
        node.iter = self.visit(node.iter)
        body = [statement for old in node.body for statement in _as_list(self.visit(old))]
        # A counter is no array: the hottest loops stay as they are.
        node.body = body if counts else [*self._named_on_entry(node, [node.target], uses), *body]
        node.orelse = [statement for old in node.orelse for statement in _as_list(self.visit(old))]
        return node

    def _named_on_entry(
        self, node: Union[ast.With, ast.AsyncWith, ast.For], targets: Sequence[Optional[ast.expr]], uses: list[str]
    ) -> list[ast.stmt]:
        """The recording of names that a ``with`` or ``for`` has just bound; its statement ends where the body begins."""
        given = [target for target in targets if target is not None]
        if not given or self._in_class:
            return []
        last = max(node.lineno, min(node.body[0].lineno - 1, len(self._lines)))
        width = len(self._lines[last - 1].encode())
        header = ast.Pass(lineno=node.lineno, col_offset=node.col_offset, end_lineno=last, end_col_offset=width)
        recorded = self._recorded(header, given, given[0], uses)
        return recorded[1:] if isinstance(recorded, list) else []

    def visit_match_case(self, node: Any) -> Any:
        node.body = [statement for old in node.body for statement in _as_list(self.visit(old))]
        return node

    # -- assignments

    def _recorded(
        self, node: ast.stmt, targets: Sequence[ast.expr], value: ast.expr, uses: Optional[list[str]] = None
    ) -> Any:
        if self._in_class or isinstance(value, (ast.Constant, ast.Lambda, ast.JoinedStr)):
            return node
        names: list[str] = []
        values: list[ast.expr] = []
        for target in targets:
            for part in _stored(target):
                if isinstance(part, ast.Name):
                    names.append(part.id)
                    values.append(ast.Name(part.id, ast.Load()))
                elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                    # The attribute is looked up in the object's own dictionary, so that no property runs twice.
                    names.append(part.value.id + "." + part.attr)
                    values.append(ast.Name(part.value.id, ast.Load()))
        if not names:
            return node
        site = self._site(node, node.lineno, "assigned", names, "", names_read(value) if uses is None else uses)
        mark = ast.Constant(_MARK)
        call = ast.Call(
            ast.Attribute(ast.Constant(_MARK), "assigned", ast.Load()),
            [ast.Constant(site), ast.Tuple(values, ast.Load())],
            [],
        )
        guard = ast.If(ast.Subscript(mark, ast.Constant(site), ast.Load()), [ast.Expr(call)], [])
        for piece in ast.walk(guard):
            if isinstance(piece, (ast.expr, ast.stmt)):
                piece.lineno = piece.end_lineno = node.lineno
                piece.col_offset = piece.end_col_offset = node.col_offset
        return [node, guard]

    # -- calls

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = _last_name(node.func)
        selected = name in _MAKERS or (name is not None and _mentions_dtype(node))
        uses = names_read(node) if selected else []
        original_text = _text_of(self._lines, node) if selected else ""
        self.generic_visit(node)
        if not selected or name is None:
            return node
        line = getattr(node.func, "end_lineno", None) or node.lineno
        number = self._site(node, line, "called", [], _dotted(node.func) or name, uses, original_text)
        first = node.args[0] if node.args else None
        if isinstance(node.func, ast.Attribute) and name in ("astype", "to_numpy", "view"):
            node.func.value = self._passed("before", number, node.func.value)
        elif first is not None and not isinstance(first, ast.Starred):
            if not isinstance(first, ast.Constant) or isinstance(first.value, float):
                node.args[0] = self._passed("before", number, first)
        elif first is None and node.keywords and node.keywords[0].arg in ("value", "x", "object", "a"):
            node.keywords[0].value = self._passed("before", number, node.keywords[0].value)
        return self._passed("after", number, node)

    # -- sites

    def _passed(self, method: str, number: int, value: ast.expr) -> ast.Call:
        call = ast.Call(ast.Attribute(ast.Constant(_MARK), method, ast.Load()), [ast.Constant(number), value], [])
        for part in ast.walk(call.func):
            ast.copy_location(part, value)
        ast.copy_location(call.args[0], value)
        return ast.copy_location(call, value)

    def _also_behind(self, uses: list[str]) -> list[str]:
        """With the names that a statement reads, those that the module's own functions among them read, two calls deep."""
        found = dict.fromkeys(uses)
        for _ in range(2):
            for name in [name for name in found if name in self._functions]:
                found.update(dict.fromkeys(self._functions[name]))
        return list(found)[:60]

    def _site(
        self, node: ast.AST, line: int, how: str, names: list[str], call: str, uses: list[str], text: str = ""
    ) -> int:
        return self._sites.add(
            Site(
                self._path,
                line,
                getattr(node, "end_lineno", None) or line,
                how,
                names,
                call,
                text or _text_of(self._lines, node),
                ".".join(self._scope),
                self._also_behind(uses),
            )
        )


def _as_list(result: Any) -> list[Any]:
    return result if isinstance(result, list) else [] if result is None else [result]


def _stored(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return [part for item in target.elts for part in _stored(item)]
    if isinstance(target, ast.Starred):
        return []
    return [target]


def _last_name(node: ast.expr) -> Optional[str]:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _mentions_dtype(node: ast.Call) -> bool:
    for keyword in node.keywords:
        if keyword.arg in ("dtype", "dtypes", "out_type", "column_defaults"):
            return True
    for argument in node.args:
        text = argument.value if isinstance(argument, ast.Constant) else _last_name(argument)
        if isinstance(text, str) and len(text) < 24 and any(word in text for word in _DTYPE_WORDS):
            return True
    return False


def _text_of(lines: list[str], node: ast.AST) -> str:
    first = getattr(node, "lineno", 1)
    last = getattr(node, "end_lineno", None) or first
    start = getattr(node, "col_offset", 0)
    if first > len(lines):
        return ""
    if first == last:
        return lines[first - 1].encode()[start : getattr(node, "end_col_offset", None)].decode("utf-8", "replace")[:200]
    return " ".join(line.strip() for line in lines[first - 1 : min(last, first + 4)])[:200]


def _with_recorder(code: types.CodeType, sites: Sites) -> types.CodeType:
    consts = tuple(
        sites
        if isinstance(const, complex) and const == _MARK
        else _with_recorder(const, sites)
        if isinstance(const, types.CodeType)
        else const
        for const in code.co_consts
    )
    return code.replace(co_consts=consts)


def _has_recorder(code: types.CodeType, sites: Sites) -> bool:
    return any(
        const is sites or (isinstance(const, types.CodeType) and _has_recorder(const, sites))
        for const in code.co_consts
    )


class Compiler:
    """Compiles files with the recorder in them, and keeps their trees for questions about a call's arguments."""

    def __init__(self, sites: Sites, failed: Any) -> None:
        self._sites = sites
        self._failed = failed
        self._trees: dict[str, Optional[ast.AST]] = {}
        self._plain: dict[str, types.CodeType] = {}

    def compiled(self, source: Union[str, bytes], path: str) -> types.CodeType:
        """The code of a module. Raises what ``compile`` raises; a file that resists instrumentation is compiled as it is."""
        plain = compile(source, path, "exec", dont_inherit=True)
        self._plain[path] = plain
        try:
            text = source if isinstance(source, str) else importlib.util.decode_source(source)
            if text.count("\n") > 50_000:
                return plain
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree: Any = ast.parse(source, path)
                tree = _Instrumenter(path, text, self._sites, _reads_from_outside(tree)).visit(tree)
                ast.fix_missing_locations(tree)
                return _with_recorder(compile(tree, path, "exec", dont_inherit=True), self._sites)
        except Exception as error:  # noqa: BLE001 - RecursionError and whatever odd source may bring
            self._failed("instrumenting " + os.path.basename(path), error)
            return plain

    def keep_stored_code_plain(self) -> None:
        """Let ``marshal`` store functions as the script's files have them: Lambda layers of Keras keep their code in this way."""
        original = marshal.dumps
        compiler = self

        @functools.wraps(original)
        def dumps(value: Any, *arguments: Any) -> bytes:
            return original(compiler._plain_of(value), *arguments)

        marshal.dumps = dumps

    def _plain_of(self, value: Any) -> Any:
        """The code object that an instrumented one was compiled beside, or the value itself."""
        if not isinstance(value, types.CodeType) or not _has_recorder(value, self._sites):
            return value
        pending: list[types.CodeType] = [self._plain[value.co_filename]] if value.co_filename in self._plain else []
        while pending:
            code = pending.pop()
            if (code.co_name, code.co_firstlineno) == (value.co_name, value.co_firstlineno):
                return code
            pending.extend(const for const in code.co_consts if isinstance(const, types.CodeType))
        return value

    def _tree(self, path: str) -> Optional[ast.AST]:
        if path not in self._trees:
            try:
                with open(path, "rb") as file:
                    self._trees[path] = ast.parse(file.read(), path)
            except Exception:  # noqa: BLE001 - then nothing is known about the file
                self._trees[path] = None
        return self._trees[path]

    def names_in(self, path: str, line: int, function: str) -> list[str]:
        """The names that the function of this name around this line reads."""
        tree = self._tree(path)
        for node in ast.walk(tree) if tree is not None else ():
            if (
                isinstance(node, ast.FunctionDef)
                and node.name == function
                and node.lineno <= line <= (node.end_lineno or node.lineno)
            ):
                return names_read(node)
        return []

    def arguments(self, path: str, line: int, function: str) -> dict[str, list[str]]:
        """The names read by each argument (by position as text, or by keyword) of the call of ``function`` that spans this line."""
        tree = self._tree(path)
        best: Optional[ast.Call] = None
        if tree is not None:
            for node in ast.walk(tree):
                if not isinstance(node, ast.Call) or not node.lineno <= line <= (node.end_lineno or node.lineno):
                    continue
                if function and _last_name(node.func) != function:
                    continue
                if best is None or node.lineno >= best.lineno:
                    best = node
        if best is None:
            return {}
        found = {str(index): names_read(argument) for index, argument in enumerate(best.args)}
        for keyword in best.keywords:
            if keyword.arg:
                found[keyword.arg] = names_read(keyword.value)
        return found


class _LocalLoader(importlib.machinery.SourceFileLoader):
    compiler: Compiler

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        return self.compiler.compiled(self.get_data(path), path)


class LocalModules(importlib.abc.MetaPathFinder):
    """Finds the modules that lie beside the script, and has them compiled with the recorder."""

    def __init__(self, root: str, compiler: Compiler) -> None:
        self._root = os.path.join(os.path.realpath(root), "")
        self._compiler = compiler

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]] = None, target: Optional[types.ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """The module as Python would find it, with the recorder's loader when it lies beside the script."""
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader or not spec.origin:
            return None
        if not os.path.realpath(spec.origin).startswith(self._root) or stack.owner(spec.origin) != stack.USER:
            return None
        loader = _LocalLoader(fullname, spec.origin)
        loader.compiler = self._compiler
        spec.loader = loader
        return spec
