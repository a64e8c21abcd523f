"""Real scripts in float64 with packages built on TensorFlow run clean: pytest -m thirdparty, or make test-thirdparty."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent / "thirdparty").glob("*.py"))
TARGET = os.environ.get("F64DOCTOR_THIRDPARTY_PYTHON", "")

pytestmark = [
    pytest.mark.thirdparty,
    pytest.mark.skipif(not TARGET, reason="F64DOCTOR_THIRDPARTY_PYTHON names no interpreter that has the packages"),
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_float64_script_of_a_third_party_is_left_alone(script: Path, tmp_path: Path) -> None:
    shutil.copy(script, tmp_path / "train.py")
    done = subprocess.run(
        [sys.executable, "-m", "f64doctor", "train.py", "--format", "json", "--python", TARGET],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    report = json.loads(done.stdout)
    assert [run["outcome"] for run in report["runs"]] in (["completed"], ["stopped"])
    assert [finding["code"] for finding in report["findings"] if finding["severity"] != "info"] == []
    assert (report["verdict"]["float64_intended"], done.returncode) == (True, 0)
