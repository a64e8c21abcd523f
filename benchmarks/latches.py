"""Which Keras objects and calls latch the global dtype policy, in each version: the table of docs/latches.md.

python benchmarks/latches.py PYTHON [PYTHON …]     # each an interpreter that has a Keras; prints Markdown

For each row a fresh process imports Keras, does the one thing under float32, calls set_floatx("float64"), makes a Dense layer and
looks at the layer's dtype: float32 means that the policy had been latched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

ACTIONS = {
    "importing Keras": "pass",
    "reading `floatx()`": "keras.backend.floatx()",
    "reading `dtype_policy()` / `global_policy()`": "read_policy()",
    "`keras.Input(...)`": "keras.Input((3,))",
    "`keras.Sequential()`": "keras.Sequential()",
    "a layer (`Dense(1)`)": "keras.layers.Dense(1)",
    'a layer with `dtype="float64"`': "keras.layers.Dense(1, dtype='float64')",
    "a preprocessing layer (`Normalization()`)": "keras.layers.Normalization()",
    "defining a subclass of Layer": "type('Mine', (keras.layers.Layer,), {})",
    "an instance of a subclass of Model": "type('Mine', (keras.Model,), {})()",
    "a loss object": "keras.losses.MeanSquaredError()",
    "a metric object": "keras.metrics.MeanAbsoluteError()",
    "an optimizer": "keras.optimizers.Adam()",
    "a learning-rate schedule": "keras.optimizers.schedules.CosineDecay(0.1, 10)",
    "an initializer": "keras.initializers.GlorotUniform(seed=1)",
    "a regularizer": "keras.regularizers.L2(0.1)",
    "a callback": "keras.callbacks.EarlyStopping()",
    "`keras.Variable(...)`": "keras.Variable([1.0])",
    "`keras.random.SeedGenerator()`": "keras.random.SeedGenerator(1)",
    "`keras.ops.sqrt(2.0)`": "keras.ops.sqrt(2.0)",
    "`keras.utils.set_random_seed(1)`": "keras.utils.set_random_seed(1)",
    "a layer, and then `clear_session()`": "keras.layers.Dense(1); keras.backend.clear_session()",
    "a layer, and then setting the policy to float64": "keras.layers.Dense(1); set_policy('float64')",
}

# Runs in the interpreter that is measured: one import, then a forked child for each action.
MEASURE = """
import json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
new = hasattr(keras, "config")
read_policy = keras.config.dtype_policy if new else keras.mixed_precision.global_policy
set_policy = keras.config.set_dtype_policy if new else keras.mixed_precision.set_global_policy
try:
    import tensorflow
    words = f"TensorFlow {tensorflow.__version__}, Keras {keras.__version__}"
except ImportError:
    words = f"Keras {keras.__version__}"
found = {"": words}
for name, action in json.loads(sys.argv[1]).items():
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            exec(action)
            keras.backend.set_floatx("float64")
            answer = str(keras.layers.Dense(1).dtype)
        except AttributeError:
            answer = "absent"
        except BaseException as error:
            answer = type(error).__name__
        os.write(write_end, answer.encode())
        os._exit(0)
    os.close(write_end)
    os.waitpid(child, 0)
    found[name] = os.read(read_end, 1000).decode()
    os.close(read_end)
print(json.dumps(found))
"""


def main() -> None:
    """Measure each interpreter and print the table."""
    columns = []
    for python in sys.argv[1:] or [sys.executable]:
        done = subprocess.run(
            [python, "-c", MEASURE, json.dumps(ACTIONS)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        )
        if done.returncode != 0:
            raise SystemExit(f"{python} could not be measured:\n{done.stderr[-2000:]}")
        columns.append(json.loads(done.stdout.strip().splitlines()[-1]))
    words = {"float32": "**latches**", "float64": "no", "absent": "–"}
    print('| before `set_floatx("float64")` | ' + " | ".join(column[""] for column in columns) + " |")
    print("|---|" + "---|" * len(columns))
    for name in ACTIONS:
        print(f"| {name} | " + " | ".join(words.get(column[name], column[name]) for column in columns) + " |")


if __name__ == "__main__":
    main()
