"""Acts on TensorFlow and Keras the moment the script has imported them, and never imports them itself."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any, Callable, Optional, Sequence

Action = Callable[[ModuleType], None]


class _AfterImport(importlib.abc.MetaPathFinder):
    """Finds the modules on its list as the others would, and runs an action after each was executed."""

    def __init__(self, failed: Callable[[str, BaseException], None]) -> None:
        self.actions: dict[str, list[Action]] = {}
        self._failed = failed
        self._looking: set[str] = set()

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if fullname not in self.actions or fullname in self._looking:
            return None
        self._looking.add(fullname)
        try:
            for finder in sys.meta_path:
                if finder is self or not hasattr(finder, "find_spec"):
                    continue
                spec = finder.find_spec(fullname, path, target)
                if spec is not None:
                    self._act_after(spec)
                    return spec
        finally:
            self._looking.discard(fullname)
        return None

    def _act_after(self, spec: importlib.machinery.ModuleSpec) -> None:
        loader: Any = spec.loader
        if loader is None or not hasattr(loader, "exec_module"):
            return
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            # The loader is shared with nobody, but the name must be free again for reloads to find the plain method.
            execute(module)
            for action in self.actions.pop(module.__name__, []):
                try:
                    action(module)
                except Exception as error:  # noqa: BLE001 - the script goes on without this observation
                    self._failed("watching " + module.__name__, error)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            return


class ImportWatch:
    """The actions that wait for modules to be imported."""

    def __init__(self, failed: Callable[[str, BaseException], None]) -> None:
        self._finder = _AfterImport(failed)
        self._failed = failed
        sys.meta_path.insert(0, self._finder)

    def after(self, name: str, action: Action) -> None:
        """Run ``action(module)`` once, as soon as the script has imported ``name``."""
        module = sys.modules.get(name)
        if module is not None:
            try:
                action(module)
            except Exception as error:  # noqa: BLE001 - the script goes on without this observation
                self._failed("watching " + name, error)
            return
        self._finder.actions.setdefault(name, []).append(action)
