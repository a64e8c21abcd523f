"""What watching costs: the bounded script alone against the whole command, and the answer of --no-run. Medians of five.

python benchmarks/overhead.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 5
SCRIPT = """
import numpy as np
import keras

keras.config.set_floatx("float64")
x = np.random.default_rng(0).normal(size=(96, 16))
y = x.sum(axis=1, keepdims=True)
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(64, activation="tanh"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, batch_size=32, epochs=1, verbose=0)  # three steps: what the doctor lets run
"""
# A million assignments of plain numbers: what the recorder in the compiled code costs where there is nothing to record.
LOOP = """
import time

def work(n):
    total = 0
    for i in range(n):
        total = total + i
        half = total // 2
    return half

began = time.perf_counter()
work(1_000_000)
print(time.perf_counter() - began)
"""


def seconds(command: list[str], folder: str) -> tuple[float, str]:
    """Wall seconds of one run, and what it printed."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 3):  # 3: no conclusion without a run. A doctor that did not start would look fast.
        raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return time.perf_counter() - began, done.stdout


def median(command: list[str], folder: str) -> float:
    """Median wall seconds over the runs."""
    return statistics.median(seconds(command, folder)[0] for _ in range(RUNS))


def main() -> None:
    """Measure and print."""
    doctor = [sys.executable, "-m", "f64doctor", "train.py", "--non-interactive", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "train.py"
        script.write_text(SCRIPT)
        seconds([sys.executable, "train.py"], folder)
        alone, watched = median([sys.executable, "train.py"], folder), median(doctor, folder)
        print(
            f"bounded script alone {alone:.2f} s, f64doctor --non-interactive {watched:.2f} s, ratio {watched / alone:.2f}"
        )
        print(f"--no-run {median([*doctor, '--no-run'], folder):.2f} s")
        script.write_text(LOOP)
        plain = statistics.median(float(seconds([sys.executable, "train.py"], folder)[1]) for _ in range(RUNS))
        probe = Path(__file__).resolve().parent.parent / "f64doctor" / "probe"
        under = [sys.executable, str(probe), '{"fd": 2, "steps": 3}', "train.py"]
        recorded = statistics.median(float(seconds(under, folder)[1]) for _ in range(RUNS))
        print(f"two million assignments: alone {plain:.3f} s, recorded {recorded:.3f} s, ratio {recorded / plain:.2f}")


if __name__ == "__main__":
    main()
