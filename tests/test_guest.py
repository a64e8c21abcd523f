"""The observed script computes, prints and returns what it does alone."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from f64doctor.observe import Run
from f64doctor.runs import run_target

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="this interpreter has no TensorFlow"),
]

FIT = """
import numpy as np, keras
keras.utils.set_random_seed(7)
keras.config.set_floatx("float64")

class Scale(keras.layers.Layer):
    def build(self, shape):
        self.factor = self.add_weight(shape=(shape[-1],), initializer="ones")
    def call(self, x):
        y = x * self.factor
        return keras.ops.cast(keras.ops.cast(y, "float32"), "float64")

x, y = np.random.normal(size=(96, 3)), np.random.normal(size=(96, 1))
model = keras.Sequential([keras.Input((3,)), Scale(), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
model.compile("adam", "mse", metrics=["mae"])
history = model.fit(x, y, epochs=2, verbose=2, validation_split=0.25)
print([value.hex() for value in history.history["loss"]], model.stop_training)
print([w.tobytes().hex()[:40] for w in model.get_weights()], np.random.random().hex())
"""

LOOP = """
import tensorflow as tf
tf.random.set_seed(3)
w = tf.Variable(tf.random.normal((4, 1), dtype=tf.float64))
x = tf.random.normal((32, 4), dtype=tf.float64)
optimizer = tf.keras.optimizers.SGD(0.1)

@tf.function
def step():
    with tf.GradientTape() as tape:
        noise = tf.random.normal((32, 1), stddev=0.1, dtype=tf.float64)
        rounded = tf.cast(tf.cast(tf.matmul(x, w), tf.float32), tf.float64)
        loss = tf.reduce_mean(tf.square(rounded + noise - 1.0))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss

for _ in range(4):
    loss = step()
    print(float(loss).hex())
print(w.numpy().tobytes().hex())
raise SystemExit(3)
"""


@pytest.mark.parametrize("source", [FIT, LOOP], ids=["fit", "loop"])
async def test_an_unbounded_observed_run_is_the_run_itself_to_the_last_bit(source: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(source)
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    alone = subprocess.run(
        [sys.executable, "-u", "train.py"], cwd=tmp_path, capture_output=True, text=True, env=quiet, check=False
    )
    run: Run | None = None
    async for news in run_target(
        "as-is", sys.executable, str(script), [], cwd=str(tmp_path), environment=quiet, steps=None, time_limit=120.0
    ):
        run = news.run
    assert run is not None
    assert run.exit_code == alone.returncode
    wanted = [line for line in alone.stdout.splitlines() if "step" not in line]  # Keras prints the time of each step
    printed = run.log.splitlines()
    assert wanted
    assert [line for line in wanted if line not in printed] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py"]
