"""Runs first in each Python process that an observed script starts: makes it a guest too, then gives way to the interpreter's own sitecustomize."""

import os
import sys


def begin() -> None:
    """Make this process a guest."""
    import importlib.util

    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location(
        "_f64doctor_probe", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["_f64doctor_probe"] = package
    spec.loader.exec_module(package)
    importlib.import_module("_f64doctor_probe.guest").in_child()


try:
    begin()
except Exception:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
ours = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401 - the interpreter's own, if it has one
except ImportError:
    if ours is not None:
        sys.modules["sitecustomize"] = ours
