"""The whole command on every script of the corpus, with real TensorFlow: the true cause is named, and healthy scripts are left alone."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from f64doctor.report import json_schema

CORPUS = Path(__file__).parent / "corpus"
CASES = sorted(folder for folder in CORPUS.iterdir() if (folder / "expect.json").exists())

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="this interpreter has no TensorFlow"),
]


def listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_true_cause_is_named(case: Path, tmp_path: Path) -> None:
    expect = json.loads((case / "expect.json").read_text())
    work = tmp_path / "job"
    shutil.copytree(case, work, ignore=shutil.ignore_patterns("expect.json"))
    done = subprocess.run(
        [sys.executable, "-m", "f64doctor", "train.py", "--non-interactive", "--format", "json"],
        cwd=work,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    report = json.loads(done.stdout)
    jsonschema.validate(report, json_schema())
    assert not [check for check in report["checks"] if check["status"] == "crashed"]
    loud = [finding for finding in report["findings"] if finding["severity"] != "info"]
    if expect["healthy"]:
        assert (done.returncode, loud) == (0, [])
        return
    assert done.returncode == 1
    first = report["findings"][0]
    assert first["code"] == report["verdict"]["root_cause"]
    assert first["check"] in listed(expect["check"])
    assert f"{first['location']['file']}:{first['location']['line']}" in listed(expect["where"])
