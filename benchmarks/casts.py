"""What watching for narrowing costs per training step in graph mode, beside TensorFlow's own debuggers. Medians of five.

python benchmarks/casts.py

The script trains a float64 model for 400 steps and prints the median time of the steps behind the first fifty. Four ways: alone; observed by f64doctor's
probe, without a bound; with tf.debugging.enable_check_numerics(); with the Debugger V2 dump (FULL_HEALTH).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 5
SCRIPT = """
import sys, time, statistics
import numpy as np
import tensorflow as tf
{before}
import keras

keras.utils.set_random_seed(1)
keras.config.set_floatx("float64")

class Rounding(keras.layers.Layer):
    def call(self, x):
        return tf.cast(tf.cast(x, tf.float32), tf.float64)

class Clock(keras.callbacks.Callback):
    times = []
    def on_train_batch_begin(self, batch, logs=None):
        self.began = time.perf_counter()
    def on_train_batch_end(self, batch, logs=None):
        self.times.append(time.perf_counter() - self.began)

x, y = np.random.normal(size=(12800, 64)), np.random.normal(size=(12800, 1))
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(256, activation="tanh"), Rounding(),
                          keras.layers.Dense(256, activation="tanh"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, batch_size=32, epochs=1, verbose=0, callbacks=[Clock()])
print("median", statistics.median(Clock.times[50:]))
"""
WAYS = {
    "alone": "",
    "f64doctor": "",
    "enable_check_numerics": "tf.debugging.enable_check_numerics()",
    "Debugger V2 dump": 'tf.debugging.experimental.enable_dump_debug_info("dump", tensor_debug_mode="FULL_HEALTH")',
}
PROBE = Path(__file__).resolve().parent.parent / "f64doctor" / "probe"


def step_seconds(way: str, folder: str) -> float:
    """The median time of a step, in seconds, in one run."""
    (Path(folder) / "train.py").write_text(SCRIPT.format(before=WAYS[way]))
    command = [sys.executable, "train.py"]
    if way == "f64doctor":
        command = [sys.executable, str(PROBE), '{"fd": 2, "steps": null}', "train.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{way} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return next(float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("median"))


def main() -> None:
    """Measure in turn, so that a machine that slows down slows them all, and print."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(RUNS):
            for way in WAYS:
                found[way].append(step_seconds(way, folder))
    alone = statistics.median(found["alone"])
    print("| | median step | against alone |\n|---|---|---|")
    for way, times in found.items():
        print(f"| {way} | {1000 * statistics.median(times):.3f} ms | {statistics.median(times) / alone:.3f} |")


if __name__ == "__main__":
    main()
