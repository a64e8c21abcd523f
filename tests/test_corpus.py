"""The whole command on every script of the corpus, with real TensorFlow: the true cause is named, and healthy scripts are left alone."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from f64doctor.report import json_schema

# The interpreter that runs the scripts: another one than ours when a matrix of TensorFlow versions is tested (make test-matrix).
TARGET = os.environ.get("F64DOCTOR_TEST_PYTHON", sys.executable)
CORPUS = Path(__file__).parent / "corpus"
CASES = sorted(folder for folder in CORPUS.iterdir() if (folder / "expect.json").exists())

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(
        sys.executable == TARGET and importlib.util.find_spec("tensorflow") is None,
        reason="this interpreter has no TensorFlow",
    ),
]
# What Keras 2 calls by another name. Lines stay lines, so that the expected places hold.
KERAS_2 = (
    ("keras.config.set_floatx", "keras.backend.set_floatx"),
    ("keras.config.floatx", "keras.backend.floatx"),
    ("keras.config.set_dtype_policy", "keras.mixed_precision.set_global_policy"),
    ("keras.config.dtype_policy", "keras.mixed_precision.global_policy"),
    ("keras.utils.PyDataset", "keras.utils.Sequence"),
)


@functools.cache
def versions() -> tuple[str, str]:
    """Major and minor version of TensorFlow, and the major one of Keras, in the interpreter that runs the scripts."""
    asked = (
        "import importlib.metadata as m; found = {d.metadata['Name'].lower().replace('_', '-'): d.version for d in m.distributions()};"
        "print(found['keras'], found.get('tensorflow-cpu') or found['tensorflow'])"
    )
    keras, tensorflow = subprocess.run([TARGET, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    return ".".join(tensorflow.split(".")[:2]), keras.split(".")[0]


def prepare(case: Path, work: Path) -> dict[str, Any]:
    """Copy a case to where it runs, in the words of the Keras that is there; what is expected of it there."""
    expect: dict[str, Any] = json.loads((case / "expect.json").read_text())
    shutil.copytree(case, work, ignore=shutil.ignore_patterns("expect.json"))
    if sys.executable == TARGET:
        return expect
    tensorflow, keras = versions()
    if keras == "2":
        for file in work.glob("*.py"):
            text = file.read_text()
            for new, old in KERAS_2:
                text = text.replace(new, old)
            file.write_text(text)
    return {**expect, **expect.get("differs", {}).get(tensorflow, {})}


Answers = dict[str, "Future[Examined]"]


class Nothing:
    """Stands for the parameters of a test that has none."""

    params: dict[str, Any] = {}


def listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


@dataclasses.dataclass
class Examined:
    """A case that was run: what is expected of it, and what the command answered (None: it is skipped here)."""

    expect: dict[str, Any]
    done: subprocess.CompletedProcess[str] | None


def examine(case: Path, work: Path) -> Examined:
    """Run the command on a copy of a case."""
    expect = prepare(case, work)
    if "skip" in expect:
        return Examined(expect, None)
    done = subprocess.run(
        [sys.executable, "-m", "f64doctor", "train.py", "--non-interactive", "--format", "json", "--python", TARGET],
        cwd=work,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Examined(expect, done)


@pytest.fixture(scope="session")
def examined(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """The answers to all the cases that were asked for, two at a time: importing TensorFlow keeps one core busy, and most machines have two."""
    parameters = [
        getattr(item, "callspec", Nothing).params for item in request.session.items if item.path == Path(__file__)
    ]
    chosen: list[Path] = [given["case"] for given in parameters if "case" in given]
    with ThreadPoolExecutor(2) as pool:
        yield {case.name: pool.submit(examine, case, tmp_path_factory.mktemp(case.name) / "job") for case in chosen}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_true_cause_is_named(case: Path, examined: Answers) -> None:
    answer = examined[case.name].result()
    expect, done = answer.expect, answer.done
    if done is None:
        pytest.skip(expect["skip"])
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
