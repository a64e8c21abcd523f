"""Loads the probe under a private name and hands over to it, leaving ``sys.path`` as ``python TARGET`` would have it."""

import importlib.util
import os
import sys

PRIVATE_NAME = "_f64doctor_probe"


def load() -> None:
    """Import the folder of this file as a package of its own, and run the session."""
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        PRIVATE_NAME, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[PRIVATE_NAME] = package
    spec.loader.exec_module(package)
    session = importlib.import_module(PRIVATE_NAME + ".session")
    session.main(sys.argv[1], sys.argv[2], sys.argv[3:])


if __name__ == "__main__":
    load()
