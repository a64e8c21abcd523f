"""What a planted narrowing costs is reported as it is: digits as the format has them, gradients as the mended script has them."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from f64doctor.observe import Run, events
from f64doctor.runs import run_target

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="this interpreter has no TensorFlow"),
]

MODEL = """
import json, sys
import numpy as np, keras, tensorflow as tf
keras.utils.set_random_seed(11)
keras.config.set_floatx("float64")

class Features(keras.layers.Layer):
    def __init__(self, dtype_inside, **kw):
        super().__init__(**kw)
        self.inside = dtype_inside
    def call(self, x):
        z = tf.cast(x, self.inside)
        return tf.cast(tf.sin(3.0 * z) + 0.1 * z, "float64")

rng = np.random.default_rng(5)
x = rng.uniform(0.5, 1.0, size=(512, 3))  # one binade below 1: the relative rounding is largest, 2**-24, next to 0.5
y = np.sin(3.0 * x).sum(axis=1, keepdims=True) + 0.01 * rng.normal(size=(512, 1))

def build(inside):
    keras.utils.set_random_seed(11)
    model = keras.Sequential([keras.Input((3,)), Features(inside), keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    return model
"""
OBSERVED = (
    MODEL
    + """
build("float32").fit(x, y, batch_size=512, epochs=1, verbose=0)
"""
)
MENDED = (
    MODEL
    + """
found = []
for inside in ("float32", "float64"):
    model = build(inside)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    found.append((float(loss), [g.numpy() for g in tape.gradient(loss, model.trainable_variables)]))
(narrow, one), (wide, two) = found
print(json.dumps([abs(narrow - wide) / wide, [float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(one, two)]]))
"""
)


async def observed(script: Path, steps: int | None = 2) -> Run:
    run: Run | None = None
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    async for news in run_target(
        "as-is",
        sys.executable,
        str(script),
        [],
        cwd=str(script.parent),
        environment=quiet,
        steps=steps,
        time_limit=120.0,
    ):
        run = news.run
    assert run is not None
    return run


async def test_the_cost_of_a_planted_narrowing_is_that_of_the_mended_script(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(OBSERVED)
    run = await observed(script)
    (tmp_path / "mended.py").write_text(MENDED)
    done = subprocess.run([sys.executable, "mended.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    loss, gradients = json.loads(done.stdout.strip().splitlines()[-1])

    damages = run.all(events.Damage)
    assert len(damages) == 1
    damage = damages[0]
    assert damage.why_not == ""
    assert "512 rows" in damage.basis
    assert [len(damage.narrowings), damage.narrowings[0].values, damage.narrowings[0].share] == [1, 1536, 1.0]
    assert damage.narrowings[0].largest == pytest.approx(2.0**-24, rel=0.05)
    assert damage.loss is not None
    assert damage.loss_promoted is not None
    assert abs(damage.loss - damage.loss_promoted) / damage.loss_promoted == pytest.approx(loss, rel=0.1)
    measured = [change.relative for change in damage.gradients]
    assert measured == pytest.approx(gradients, rel=0.1)


async def test_a_step_without_narrowing_is_not_computed_again(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(OBSERVED.replace('build("float32")', 'build("float64")'))
    run = await observed(script)
    assert run.all(events.Damage) == []


async def test_a_step_that_calls_python_is_not_run_twice_and_says_why(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        MODEL.replace(
            "z = tf.cast(x",
            "x = tf.numpy_function(lambda v: v, [x], tf.float64); x.set_shape((None, 3)); z = tf.cast(x",
        )
        + 'build("float32").fit(x, y, batch_size=512, epochs=1, verbose=0)\n'
    )
    run = await observed(script)
    assert [("PyFunc" in damage.why_not) for damage in run.all(events.Damage)] == [True]


async def test_a_step_that_draws_from_a_generator_is_not_run_twice(tmp_path: Path) -> None:
    source = """
import tensorflow as tf
g = tf.random.Generator.from_seed(5)
w = tf.Variable(tf.ones((3, 1), tf.float64))

@tf.function
def step():
    with tf.GradientTape() as tape:
        x = g.normal((16, 3), dtype=tf.float64)
        loss = tf.reduce_mean(tf.cast(tf.cast(x @ w, tf.float32), tf.float64) ** 2)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss

for _ in range(3):
    step()
print(g.state.numpy().tolist(), w.numpy().tobytes().hex())
"""
    script = tmp_path / "train.py"
    script.write_text(source)
    alone = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    run = await observed(script, steps=None)
    assert alone.stdout.strip() in run.log
    assert [damage.why_not != "" for damage in run.all(events.Damage)] == [True]


async def test_code_that_a_script_stores_is_the_code_of_its_file(tmp_path: Path) -> None:
    source = """
import marshal, types

def scale(values):
    total = sum(values)
    scaled = [float(value) / total for value in values]
    return scaled

kept = types.FunctionType(marshal.loads(marshal.dumps(scale.__code__)), {})
print(kept([1, 3]), marshal.dumps(scale.__code__).hex())
"""
    script = tmp_path / "train.py"
    script.write_text(source)
    alone = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True)
    run = await observed(script)
    assert (run.exit_code, run.log.strip()) == (0, alone.stdout.strip())
