"""Runs the target as ``python TARGET`` would, with the watches in place, and tells how it ended."""

from __future__ import annotations

import builtins
import importlib.machinery
import json
import os
import sys
import types
from typing import Any, Optional

from . import failure, stack
from .batches import BatchesWatch
from .bounds import BoundReached, Bounds
from .builtin_names import BuiltinNames
from .calls import CallsWatch
from .compiling import CompilingWatch
from .devices import DevicesWatch
from .failure import FailureWatch
from .feeding import FeedingWatch
from .graphs import GraphsWatch
from .guest import Guest
from .imports import ImportWatch
from .instrument import Compiler, LocalModules, Sites
from .keras_state import KerasLibrary
from .loading import LoadingWatch
from .objects import ObjectsWatch
from .recorder import Recorder
from .settings import SettingsWatch
from .wire import PROTOCOL, Wire


def main(options: str, target: str, arguments: list[str]) -> None:
    """Run ``target`` with its arguments. Leaves with the script's own exit status.

    ``options`` is JSON: fd, steps (null: no bound), hide (ignore what the script says about visible devices), jit (null: as the
    script has it), scratch (a folder for what is
    held back; without it nothing is), guarded (the kernel confines the process).
    """
    chosen = json.loads(options)
    session = Session(Wire(chosen["fd"]), chosen.get("steps"), bool(chosen.get("hide")), chosen.get("jit"))
    if chosen.get("scratch"):
        session.hold_back(chosen["scratch"], bool(chosen.get("guarded")))
    session.run(target, arguments)


class Session:
    """One observed run."""

    def __init__(
        self, wire: Wire, steps: Optional[int], hide_devices: bool = False, jit: Optional[bool] = None
    ) -> None:
        self._wire = wire
        self._hide_devices = hide_devices
        self._sites = Sites()
        self._recorder = Recorder(wire)
        self._sites.attach(self._recorder)
        self._compiler = Compiler(self._sites, wire.trouble)
        self._imports = ImportWatch(wire.trouble)
        self._bounds = Bounds(wire, steps)
        self._objects = ObjectsWatch(wire, self._imports)
        self._graphs = GraphsWatch(wire, self._imports, self._recorder, self._bounds)
        self._feeding = FeedingWatch(
            wire, self._imports, self._recorder, self._objects, self._graphs, self._compiler, self._bounds
        )
        self._batches = BatchesWatch(wire, self._imports, self._feeding)
        self._loading = LoadingWatch(wire, self._imports)
        self._calls = CallsWatch(wire, self._imports, self._objects, self._graphs, self._feeding)
        self._failure = FailureWatch(wire, self._imports, self._recorder, self._graphs, self._calls)
        self._settings = SettingsWatch(wire, self._imports)
        self._devices = DevicesWatch(wire, self._imports, hide_devices)
        self._compiling = CompilingWatch(wire, self._imports, jit)
        self._libraries: dict[str, KerasLibrary] = {}
        self._guest: Optional[Guest] = None
        self._builtins = BuiltinNames()

    def hold_back(self, scratch: str, guarded: bool) -> None:
        """Let nothing of what the script writes, deletes and sends become real."""
        self._guest = Guest(scratch, guarded, self._wire, self._imports)
        self._guest.hold_back()
        self._builtins.keep()

    # -- the run

    def run(self, target: str, arguments: list[str]) -> None:
        """Execute the target; never returns."""
        script = os.path.abspath(target)
        root = os.path.dirname(os.path.realpath(script))  # as Python itself has it in sys.path
        self._wire.send(
            "hello",
            protocol=PROTOCOL,
            pid=os.getpid(),
            python=".".join(str(part) for part in sys.version_info[:3]),
            executable=sys.executable,
            script=script,
            cwd=os.getcwd(),
            argv=arguments,
        )
        self._watch()
        sys.argv = [target, *arguments]
        sys.path[0] = root
        sys.meta_path.insert(0, LocalModules(root, self._compiler))
        module = types.ModuleType("__main__")
        namespace = module.__dict__
        namespace.update(
            __file__=script,
            __builtins__=builtins,
            __cached__=None,
            __loader__=importlib.machinery.SourceFileLoader("__main__", script),
            __spec__=None,
            __package__=None,
        )
        sys.modules["__main__"] = module
        outcome, code = "completed", 0
        try:
            with open(script, "rb") as file:
                source = file.read()
            exec(self._compiler.compiled(source, script), namespace)
        except BoundReached:
            outcome = "stopped"
        except SystemExit as error:
            outcome, code = self._left(error)
        except BaseException as error:  # noqa: BLE001 - told, shown and answered with Python's exit status
            outcome, code = "raised", 1
            if isinstance(error, KeyboardInterrupt):
                outcome, code = "interrupted", 130
            with self._builtins.restored():
                self._told(error)
        with self._builtins.restored():
            self._close(outcome, code)
        sys.exit(code)

    def _left(self, error: SystemExit) -> tuple[str, int]:
        code = error.code
        if code is None:
            return "completed", 0
        if isinstance(code, int):
            return ("completed" if code == 0 else "exited"), code
        print(code, file=sys.stderr)
        return "exited", 1

    def _told(self, error: BaseException) -> None:
        trace = error.__traceback__
        try:
            self._failure.tell(error, trace)
        except Exception as trouble:  # noqa: BLE001 - then at least the exception itself is shown
            self._wire.trouble("explaining the exception", trouble)
            self._wire.send("failure", type=type(error).__name__, message=str(error)[:6000])
        try:
            self._graphs.kernels.raised(error)
        except Exception as trouble:  # noqa: BLE001 - then it is not known
            self._wire.trouble("asking for kernels", trouble)
        try:
            hook = sys.excepthook
            if hook is sys.__excepthook__:
                sys.stderr.write("".join(failure.shown(error, trace)))
                sys.stderr.flush()
            else:
                hook(type(error), error, trace)
        except Exception:  # noqa: BLE001 - stderr may be closed
            pass

    def _close(self, outcome: str, code: int) -> None:
        for name, ending in (
            ("graphs", self._graphs.examine),
            ("kernels", self._graphs.kernels.tell),
            ("memory", self._tell_memory),
            ("devices", self._devices.tell),
            ("held back", self._tell_held_back),
        ):
            try:
                ending()
            except BaseException as error:  # noqa: BLE001 - the next ending shall have its turn
                self._wire.trouble("telling the " + name, error)
        self._wire.send("end", outcome=outcome, exit_code=code, updates=self._bounds.updates, bounded=self._bounds.told)

    # -- what is watched

    def _watch(self) -> None:
        self._settings.watch_environment(self._hide_devices)
        self._compiler.keep_stored_code_plain()
        self._graphs.watch()
        self._failure.watch()
        self._devices.watch()
        self._compiling.watch()
        self._imports.after(
            "numpy", lambda m: self._wire.send("library", name="numpy", version=getattr(m, "__version__", None))
        )
        self._imports.after("tensorflow", self._tensorflow_imported)
        for name in ("keras", "tf_keras"):
            self._watch_keras(name)

    def _watch_keras(self, name: str) -> None:
        """Keras's generation shows in the modules that it imports first, before the script can call anything of it."""
        self._imports.after(name, lambda module: self._keras_imported(name, module))
        for place in ("backend.config", "backend_config", "backend.common.global_state"):
            self._watch_place(name, place)

    def _watch_place(self, name: str, place: str) -> None:
        self._imports.after(f"{name}.src.{place}", lambda _: self._keras_found(name, place))

    def _keras_found(self, name: str, place: str) -> None:
        if name in self._libraries:
            return
        library = self._libraries[name] = KerasLibrary(name, 2 if place == "backend_config" else 3)
        for watch in (self._settings, self._objects, self._feeding, self._batches, self._loading, self._calls):
            watch.watch(library)

    def _tensorflow_imported(self, module: Any) -> None:
        built = None
        try:
            built = bool(module.test.is_built_with_cuda())
        except Exception:  # noqa: BLE001 - then it is not known
            pass
        self._wire.send(
            "library",
            name="tensorflow",
            version=getattr(module, "__version__", None),
            path=getattr(module, "__file__", None),
            built_with_cuda=built,
        )

    def _keras_imported(self, name: str, module: Any) -> None:
        library = self._libraries.get(name)
        config = sys.modules.get(name + ".src.backend.config")
        backend = getattr(config, "_BACKEND", None) if library is not None and library.generation == 3 else "tensorflow"
        self._wire.send(
            "library",
            name=name,
            version=getattr(module, "__version__", None),
            path=getattr(module, "__file__", None),
            floatx=library.floatx() if library is not None else None,
            backend=backend,
            keras_home=getattr(config, "_KERAS_DIR", None) or os.environ.get("KERAS_HOME"),
            frames=stack.user_frames(),
        )

    # -- what is told at the end

    def _tell_held_back(self) -> None:
        if self._guest is not None:
            self._guest.tell_of_children()

    def _tell_memory(self) -> None:
        try:
            with open("/proc/self/status") as file:
                fields = dict(line.split(":", 1) for line in file if ":" in line)
            self._wire.send(
                "memory",
                device="process",
                current=int(fields["VmRSS"].split()[0]) * 1024,
                peak=int(fields["VmHWM"].split()[0]) * 1024,
            )
        except (OSError, KeyError, ValueError):
            pass
        context = sys.modules.get("tensorflow.python.eager.context")
        if context is None or not getattr(context.context(), "_initialized", False):
            return
        for device in context.context().list_logical_devices():
            name = device.name.replace("/device:", "")
            try:
                info = context.context().get_memory_info(name)
            except Exception:  # noqa: BLE001 - not every allocator counts
                continue
            if info.get("peak"):
                self._wire.send("memory", device=name, current=int(info["current"]), peak=int(info["peak"]))
