"""An observed script computes bit for bit what it computes alone, prints the same and returns the same, with everything held back."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.guest.cases import SCRIPTS, Case
from tests.guest.test_whatever_a_script_does import seen

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="this interpreter has no TensorFlow"),
]


@pytest.mark.parametrize("script", sorted((SCRIPTS / "equal").glob("*.py")), ids=lambda path: path.stem)
def test_an_unbounded_observed_run_is_the_run_itself(script: Path, tmp_path: Path) -> None:
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3"}
    case = Case(script.stem, script.read_bytes(), options=("--steps", "all"), environment=quiet)
    found = seen(case, tmp_path.resolve())
    assert found.report is not None, found.stderr
    assert found.alone is not None
    run = found.report.runs[0]
    code, lines = found.alone
    log = run.log_tail.splitlines()
    assert run.exit_code == code, run.log_tail
    assert lines
    assert [line for line in lines if line.rstrip() not in log] == [], run.log_tail
    assert (found.processes, found.changed, found.temporary) == ([], [], [])
