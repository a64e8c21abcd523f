"""The device check with real TensorFlow: what it predicts without a card, and what it makes of devices that fail as real ones do."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from f64doctor.observe import Run
from f64doctor.observe.events import Build, Devices, DeviceSettings, Fit, Kernels, Trouble
from f64doctor.probe.kernels import read_table
from f64doctor.runs import run_target
from tests.fakes.building import driver_libraries, gpu_plugin

SPEC = importlib.util.find_spec("tensorflow")

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(SPEC is None, reason="this interpreter has no TensorFlow"),
]

NO_CARD = {"CUDA_VISIBLE_DEVICES": ""}
CLASSIFIER = """\
import keras
import numpy as np

keras.config.set_floatx("float64")
keras.utils.set_random_seed(1)
x = np.random.default_rng(0).normal(size=(64, 3))
y = (x.sum(axis=1) > 0).astype("int64")
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy")
model.fit(x, y, verbose=0)
"""
EXPLICIT = """\
import numpy as np
import tensorflow as tf

tf.config.set_soft_device_placement(False)
logits = tf.constant(np.random.default_rng(0).normal(size=(4, 3)))
labels = tf.constant([0, 1, 2, 0])
with tf.device("/GPU:0"):
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
print(loss.dtype)
"""
POOLING = """\
import keras
import numpy as np

keras.config.set_floatx("float64")
x = np.random.default_rng(0).normal(size=(8, 4, 4, 4, 1))
model = keras.Sequential([keras.Input((4, 4, 4, 1)), keras.layers.AveragePooling3D(4), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=True)
model.fit(x, x.mean(axis=(1, 2, 3)), verbose=0)
"""


async def observed(
    tmp_path: Path, source: str, variables: dict[str, str], hide: bool = False, jit: bool | None = None
) -> Run:
    """The run of a script under the probe alone."""
    script = tmp_path / "train.py"
    script.write_text(source)
    run: Run | None = None
    async for news in run_target(
        "as-is",
        sys.executable,
        str(script),
        [],
        cwd=str(tmp_path),
        environment={**os.environ, **variables},
        steps=3,
        time_limit=120.0,
        hide_devices=hide,
        jit=jit,
    ):
        run = news.run
    assert run is not None
    assert run.undecoded == []
    return run


def report_of(tmp_path: Path, source: str, **variables: str) -> tuple[int, dict[str, Any]]:
    """The exit status and the report of the whole command."""
    (tmp_path / "train.py").write_text(source)
    done = subprocess.run(
        [sys.executable, "-m", "f64doctor", "train.py", "--format", "json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        capture_output=True,
        text=True,
        timeout=400,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def check_of(report: dict[str, Any]) -> dict[str, Any]:
    return next(check for check in report["checks"] if check["name"] == "device")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A plug-in that TensorFlow takes for a GPU."""
    assert SPEC is not None and SPEC.submodule_search_locations
    return str(gpu_plugin(tmp_path_factory.mktemp("plugin"), Path(next(iter(SPEC.submodule_search_locations)))))


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A driver that shows a card."""
    return str(driver_libraries(tmp_path_factory.mktemp("nvidia")))


# -- without a card


async def test_a_classifier_is_told_of_its_missing_kernel_at_no_cost(tmp_path: Path) -> None:
    run = await observed(tmp_path, CLASSIFIER, NO_CARD)
    kernels = run.last(Kernels)
    assert kernels is not None and kernels.seconds is not None
    assert kernels.seconds < 0.2
    assert [(gap.op, gap.cpu64, gap.gpu32, gap.xla64) for gap in kernels.gaps] == [
        ("SparseSoftmaxCrossEntropyWithLogits", True, True, True)
    ]
    assert run.all(Trouble) == []
    assert "kernel_registry" not in run.log, "the look-up writes into the script's log"


async def test_what_decides_about_devices_is_told(tmp_path: Path) -> None:
    source = "import tensorflow as tf\ntf.random.set_seed(1)\ntf.config.set_soft_device_placement(False)\nprint(tf.ones(2))\n"
    run = await observed(tmp_path, source, {**NO_CARD, "TF_CPP_MIN_LOG_LEVEL": "1"})
    settings, build, devices = run.last(DeviceSettings), run.last(Build), run.last(Devices)
    assert settings is not None and build is not None and devices is not None
    assert (settings.soft_placement, settings.seeded) == (False, True)
    assert settings.variables["TF_CPP_MIN_LOG_LEVEL"] == "1"
    assert settings.visible == devices.names == ["/physical_device:CPU:0"]
    assert isinstance(build.cuda, bool)


def test_a_kernel_that_xla_alone_has_is_a_note(tmp_path: Path) -> None:
    status, report = report_of(tmp_path, POOLING, CUDA_VISIBLE_DEVICES="")
    assert status == 0
    notes = [(one["code"], one["severity"], one["location"]["line"]) for one in report["findings"]]
    assert ("F306", "info", 6) in notes


def test_the_table_agrees_with_the_registry(tmp_path: Path) -> None:
    code = """\
import json
import tensorflow as tf
from tensorflow.python.framework import kernels
tf.constant(1.0)
found = {}
for kernel in kernels.get_all_registered_kernels().kernel:
    for constraint in kernel.constraint:
        for one in constraint.allowed_values.list.type:
            if one in (1, 2):
                found.setdefault(kernel.op + " " + constraint.name, []).append([kernel.device_type, one])
print(json.dumps([tf.__version__, found]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, found = json.loads(done.stdout.splitlines()[-1])
    if ["GPU", 2] not in found["MatMul T"]:
        pytest.skip("this TensorFlow lists no GPU kernels")
    table, nearest = read_table(version)
    if not version.startswith(nearest + "."):
        pytest.skip(f"the table is of TensorFlow {nearest}")
    for (kind, attribute), group in table.items():
        registered = found.get(f"{kind} {attribute}", [])
        assert ["GPU", 2] not in registered, f"{kind} has a float64 GPU kernel"
        if group == "float32_only":
            assert ["GPU", 1] in registered and ["CPU", 2] in registered
        if group == "no_float64":
            assert ["CPU", 2] not in registered


@pytest.mark.parametrize("jit", [True, False])
async def test_xla_is_turned_on_and_off_from_outside(tmp_path: Path, jit: bool) -> None:
    source = CLASSIFIER.replace('entropy")', f'entropy", jit_compile={not jit})')
    run = await observed(tmp_path, source, NO_CARD, jit=jit)
    assert run.outcome in ("completed", "stopped")
    assert [fit.jit_compile for fit in run.all(Fit)] == [jit]


# -- with devices that fail as real ones do


def test_what_fails_on_the_gpu_only_is_the_devices_fault(tmp_path: Path, plugin: str) -> None:
    status, report = report_of(tmp_path, CLASSIFIER, TF_PLUGGABLE_DEVICE_LIBRARY_PATH=plugin)
    assert status == 1
    assert [run["name"] for run in report["runs"]] == ["as-is", "cpu-only", "gpu-without-xla", "cpu-with-xla"]
    assert [run["outcome"] for run in report["runs"]] == ["raised", "completed", "raised", "completed"]
    first = report["findings"][0]
    assert (first["code"], report["verdict"]["root_cause"]) == ("F301", "F301")
    assert "It fails there without XLA too" in first["summary"]
    assert first["evidence"][0]["columns"] == ["as-is", "cpu-only", "gpu-without-xla", "cpu-with-xla"]


async def test_a_plugin_that_reads_no_variable_is_hidden_all_the_same(tmp_path: Path, plugin: str) -> None:
    source = (
        CLASSIFIER
        + "import tensorflow as tf\ntf.config.set_visible_devices(tf.config.list_physical_devices('GPU'), 'GPU')\n"
    )
    stubborn = {**NO_CARD, "TF_PLUGGABLE_DEVICE_LIBRARY_PATH": plugin, "FAKE_TF_STUBBORN": "1"}
    hidden = await observed(tmp_path, CLASSIFIER, stubborn, hide=True)
    assert hidden.outcome in ("completed", "stopped")
    settings = hidden.last(DeviceSettings)
    assert settings is not None and settings.visible == ["/physical_device:CPU:0"]
    shown = await observed(tmp_path, source, stubborn)
    assert shown.outcome == "raised"


def test_an_operation_without_a_kernel_is_named_with_its_line(tmp_path: Path, plugin: str) -> None:
    status, report = report_of(tmp_path, EXPLICIT, TF_PLUGGABLE_DEVICE_LIBRARY_PATH=plugin)
    first = report["findings"][0]
    if first["code"] == "F301":
        pytest.skip("this TensorFlow has no GPU kernels at all")
    assert status == 1
    assert (first["code"], first["severity"], first["location"]["line"]) == ("F304", "error", 8)
    assert [run["name"] for run in report["runs"]] == ["as-is", "cpu-only"], "what explains itself needs no other runs"


def test_an_accelerator_that_the_script_hides_is_no_fault(tmp_path: Path, plugin: str) -> None:
    source = "import tensorflow as tf\ntf.config.set_visible_devices([], 'GPU')\n" + CLASSIFIER
    status, report = report_of(tmp_path, source, TF_PLUGGABLE_DEVICE_LIBRARY_PATH=plugin)
    assert status == 0
    assert "F312" in [finding["code"] for finding in report["findings"]]


def test_a_card_that_tensorflow_cannot_use_is_told_with_the_missing_library(tmp_path: Path, libraries: str) -> None:
    status, report = report_of(tmp_path, CLASSIFIER, LD_LIBRARY_PATH=libraries)
    assert status == 1
    first = report["findings"][0]
    if first["code"] == "F307":
        assert "built without CUDA" in first["summary"]
        return
    assert (first["code"], first["severity"]) == ("F303", "warning")
    assert "libcudnn.so" in first["summary"] or "libcudart.so" in first["summary"]
    assert "F319" in [finding["code"] for finding in report["findings"]]
    assert report["environment"]["gpus"][0]["name"] == "NVIDIA GeForce RTX 4090"


def test_a_card_that_is_hidden_from_outside_is_a_note(tmp_path: Path, libraries: str) -> None:
    status, report = report_of(tmp_path, CLASSIFIER, LD_LIBRARY_PATH=libraries, CUDA_VISIBLE_DEVICES="")
    assert status == 0
    assert check_of(report)["status"] == "info"
    assert "F312" in [finding["code"] for finding in report["findings"]]
