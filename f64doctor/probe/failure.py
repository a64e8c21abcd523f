"""Explains the exception that ended the script: the user's frames, the operands that disagreed, and the lines that made them."""

from __future__ import annotations

import re
import sys
import traceback
from types import ModuleType, TracebackType
from typing import Any, Optional

from . import arrays, rewire, stack
from .calls import CallsWatch
from .graph_reading import author_of, captured_root, captures_of, shape_of, source_kind
from .graphs import GraphsWatch
from .imports import ImportWatch
from .recorder import Recorder
from .wire import Wire


class FailureWatch:
    """Notes the operands of operations that TensorFlow refuses, and sends the ``failure`` event when an exception ends the script."""

    def __init__(
        self, wire: Wire, imports: ImportWatch, recorder: Recorder, graphs: GraphsWatch, calls: CallsWatch
    ) -> None:
        self._wire = wire
        self._imports = imports
        self._recorder = recorder
        self._graphs = graphs
        self._calls = calls
        self._noted: Optional[tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = None

    def watch(self) -> None:
        """Watch the two places where TensorFlow refuses an operation: building a node, and running one eagerly."""
        self._imports.after("tensorflow.python.framework.op_def_library", self._building)
        self._imports.after("tensorflow.python.framework.ops", self._running)

    def _building(self, module: ModuleType) -> None:
        original = module._apply_op_helper
        watch = self

        def apply(op_type_name: Any, name: Any = None, **keywords: Any) -> Any:
            try:
                return original(op_type_name, name, **keywords)
            except (TypeError, ValueError) as error:
                watch._note(error, keywords)
                raise

        module._apply_op_helper = apply  # type: ignore[attr-defined]

    def _running(self, module: ModuleType) -> None:
        watch = self

        def raising(original: Any, args: Any, kwargs: Any) -> Any:
            frame: Any = sys._getframe(2)
            while frame is not None and stack.owner(frame.f_code.co_filename) == stack.PROBE:
                frame = frame.f_back
            # The stub stands in for the function itself; its caller holds the operands.
            caller = frame.f_back if frame is not None else None
            if caller is not None and args:
                watch._note(args[0], {k: v for k, v in caller.f_locals.items() if not k.startswith("_")})
            return original(*args, **kwargs)

        rewire.change_in_place(module.raise_from_not_ok_status, raising)

    def _note(self, error: BaseException, operands: dict[str, Any]) -> None:
        try:
            found = []
            for name, value in operands.items():
                for path, leaf in list(arrays.named_leaves(value))[:16]:
                    facts = self._operand(name + path, leaf)
                    if facts is not None:
                        found.append(facts)
            self._noted = (_message_of(error), found, stack.user_frames())
        except Exception as trouble:  # noqa: BLE001 - the script must not notice
            self._wire.trouble("noting operands", trouble)

    def _operand(self, name: str, value: Any) -> Optional[dict[str, Any]]:
        described = arrays.describe(value)
        if described is None:
            return None
        facts: dict[str, Any] = {"name": name, "dtype": described.dtype, "shape": described.shape}
        facts["made"] = self._recorder.makers.of(value)
        if described.kind == "symbolic" and hasattr(value, "op"):
            self._follow(value, facts)
        elif described.kind == "variable":
            facts["source"] = "variable"
        return {key: item for key, item in facts.items() if item is not None}

    def _follow(self, tensor: Any, facts: dict[str, Any]) -> None:
        """Walk back from a tensor through tensors of its own dtype to the operation that first made that dtype."""
        captured = {id(inner): outer for outer, inner in captures_of(tensor.graph)}
        wanted = tensor.dtype
        seen: set[str] = set()
        pending = [tensor]
        roots: list[Any] = []
        while pending and len(seen) < 2000:
            maker = pending.pop().op
            if maker.name in seen:
                continue
            seen.add(maker.name)
            same = [t for t in maker.inputs if t.dtype == wanted]
            if same and maker.type != "Cast":
                pending.extend(same)
            else:
                roots.append(maker)
        if not roots:
            return
        # Python numbers follow the dtype of what they meet, so a constant is the cause only where nothing else is; then the oldest.
        order = {op.name: index for index, op in enumerate(tensor.graph.get_operations())}
        root = min(roots, key=lambda op: (_SOURCE_RANK.get(source_kind(op, captured), 5), order.get(op.name, 0)))
        source = source_kind(root, captured)
        facts["source"] = source
        if source in ("captured", "variable"):
            holder = captured_root(root, captured)
            facts["made"] = self._recorder.makers.of(holder) if holder is not None else None
        _by, _, frames = author_of(root)
        facts["frames"] = frames
        facts["shape"] = shape_of(tensor)

    def tell(self, error: BaseException, trace: Optional[TracebackType]) -> None:
        """Send the ``failure`` event for the exception that ended the script."""
        frames: list[dict[str, Any]] = []
        origin = ""
        for summary in _frames_of(error, trace):
            whose = stack.owner(summary.filename)
            if whose == stack.USER:
                frames.append(stack.frame_facts(summary.filename, summary.lineno or 0, summary.name))
            if whose != stack.PROBE:
                origin = stack.package_of(summary.filename) or whose
        message = _message_of(error)
        operands: list[dict[str, Any]] = []
        if self._noted is not None and _alike(self._noted[0], message):
            operands = self._noted[1]
            if len(self._noted[2]) > len(frames):
                frames = self._noted[2]
        failing = self._calls.failing
        serial, layer_name = (failing[0], failing[1]) if failing is not None else (None, "")
        for node in re.findall(r"\{\{node ([^}]+)\}\}", message):
            for name in _name_tails(node):
                if name in self._graphs.layers_by_node:
                    serial, layer_name = self._graphs.layers_by_node[name]
                    break
        frames = _with_autograph(frames, message)
        self._wire.send(
            "failure",
            type=type(error).__name__,
            module=type(error).__module__,
            message=message[:6000],
            frames=frames,
            operands=operands,
            layer=serial,
            layer_name=layer_name or None,
            origin=origin,
            traceback="".join(shown(error, trace))[-8000:],
        )


_SOURCE_RANK = {"captured": 0, "variable": 0, "random": 1, "cast": 1, "constant": 2, "island": 3, "input": 4}


def _message_of(error: BaseException) -> str:
    try:
        message = getattr(error, "message", None)
        words = message if isinstance(message, str) and message else str(error)
        return re.sub(r"\x1b\[[0-9;]*m", "", words)  # Keras makes its messages bold
    except Exception:  # noqa: BLE001 - an exception may fail to describe itself
        return "(no message)"


def _alike(noted: str, message: str) -> bool:
    core = noted.strip().splitlines()[0][:120] if noted.strip() else ""
    return bool(core) and (core in message or message[:120] in noted)


def _name_tails(node: str) -> list[str]:
    parts = node.split("/")
    return ["/".join(parts[index:]) for index in range(len(parts))]


def _with_autograph(frames: list[dict[str, Any]], message: str) -> list[dict[str, Any]]:
    """Add the user's lines that AutoGraph tells in its message (``File "train.py", line 18, in objective``) and the traceback lacks."""
    known = {(frame["file"], frame["line"]) for frame in frames}
    for path, line, function in re.findall(r'File "([^"\n]+)", line (\d+), in (\S+)', message):
        if stack.owner(path) == stack.USER and (stack.absolute(path), int(line)) not in known:
            frames = [*frames, stack.frame_facts(path, int(line), function)]
    return frames


def _frames_of(error: BaseException, trace: Optional[TracebackType]) -> list[Any]:
    frames = list(traceback.extract_tb(trace))
    cause = error.__cause__
    if cause is not None and cause.__traceback__ is not None:
        frames += [f for f in traceback.extract_tb(cause.__traceback__) if stack.owner(f.filename) == stack.USER]
    return frames


def shown(error: BaseException, trace: Optional[TracebackType]) -> list[str]:
    """The traceback as Python would print it without the probe: its frames are left out."""
    without = traceback.TracebackException(type(error), error, trace)
    pending: list[Any] = [without]
    while pending:
        one = pending.pop()
        if one is None:
            continue
        one.stack[:] = [frame for frame in one.stack if stack.owner(frame.filename) != stack.PROBE]
        pending += [one.__cause__, one.__context__]
    return list(without.format())
