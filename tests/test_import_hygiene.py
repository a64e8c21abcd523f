"""What each part imports, seen in a fresh interpreter: the laws that keep the front end light and the probe alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import f64doctor

PACKAGE = Path(f64doctor.__file__).parent

TELL = "\nimport json, sys\nprint('\\n' + json.dumps(sorted(sys.modules)))"

REPORT_MODE = """
import contextlib, io, sys, types
from f64doctor.report import decode
module = types.ModuleType("f64doctor.checkup")
class InterpreterError(Exception): pass
async def examine(target, settings):
    from f64doctor.progress import Finished
    with open("report.json", "rb") as file:
        yield Finished(decode(file.read()))
module.examine, module.InterpreterError = examine, InterpreterError
sys.modules["f64doctor.checkup"] = module
from f64doctor.cli import main
with contextlib.redirect_stdout(io.StringIO()) as stdout:
    assert main(["train.py", "--quiet", *{arguments}]) == 1
assert stdout.getvalue()
"""


def modules_after(code: str, folder: Path, *options: str) -> set[str]:
    """The modules that a fresh interpreter has after ``code``."""
    done = subprocess.run(
        [sys.executable, *options, "-c", code + TELL],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PYTHONPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def roots(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


HEAVY = {"tensorflow", "keras", "tf_keras", "numpy", "textual", "rich", "pynvml", "psutil"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A script, and the report that a made-up checkup gives for it."""
    from f64doctor.render.json import render_json
    from tests.reports import failed_report

    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / "report.json").write_text(render_json(failed_report()))
    return tmp_path


@pytest.mark.parametrize("arguments", [[], ["--format", "json"]])
def test_a_report_is_made_without_textual_and_without_tensorflow(folder: Path, arguments: list[str]) -> None:
    modules = modules_after(REPORT_MODE.format(arguments=arguments), folder)
    assert not roots(modules) & HEAVY
    assert "f64doctor.tui" not in modules


def test_a_saved_report_is_shown_without_a_checkup(folder: Path) -> None:
    modules = modules_after("from f64doctor.cli import main\nmain(['report.json', '--quiet'])", folder)
    assert not roots(modules) & HEAVY
    assert "f64doctor.checkup" not in modules
    assert "asyncio" not in modules


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_and_version_import_the_command_line_only(tmp_path: Path, arguments: list[str]) -> None:
    modules = modules_after(f"from f64doctor.cli import main\nmain({arguments})", tmp_path)
    assert {module for module in modules if module.startswith("f64doctor")} == {"f64doctor", "f64doctor.cli"}
    assert not roots(modules) & {*HEAVY, "msgspec", "asyncio"}


@pytest.mark.parametrize(
    "module", ["checks", "observe", "render.text", "render.json", "machine", "catalogue", "runs", "source"]
)
def test_a_room_is_entered_without_heavy_modules(tmp_path: Path, module: str) -> None:
    assert not roots(modules_after(f"import f64doctor.{module}", tmp_path)) & HEAVY


def test_the_checkup_is_imported_without_heavy_modules(tmp_path: Path) -> None:
    modules = modules_after("import f64doctor.checkup", tmp_path)
    assert not roots(modules) & (HEAVY - {"psutil"})


def test_the_wizard_needs_no_tensorflow(tmp_path: Path) -> None:
    modules = modules_after("import f64doctor.tui.app", tmp_path)
    assert not roots(modules) & {"tensorflow", "keras", "tf_keras", "numpy"}


PROBE_ALONE = """
import importlib, importlib.util, pathlib, sys
sys.path[:] = [entry for entry in sys.path if "site-packages" not in entry]
folder = {folder!r}
spec = importlib.util.spec_from_file_location("_probe", folder + "/__init__.py", submodule_search_locations=[folder])
package = importlib.util.module_from_spec(spec)
sys.modules["_probe"] = package
spec.loader.exec_module(package)
for path in sorted(pathlib.Path(folder).glob("*.py")):
    importlib.import_module("_probe." + path.stem)
"""


def test_the_probe_needs_the_standard_library_only(tmp_path: Path) -> None:
    modules = modules_after(PROBE_ALONE.format(folder=str(PACKAGE / "probe")), tmp_path, "-I")
    assert not {module for module in modules if module.startswith("f64doctor")}
    assert not roots(modules) & {*HEAVY, "msgspec", "click"}
    assert "_probe.__main__" in modules
