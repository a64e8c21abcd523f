"""What Keras and TensorFlow compute in float32 under floatx float64, and how much it matters: measured, not read.

python benchmarks/framework_float32.py [PYTHON …]           # prints the table of docs/framework-float32.md
python benchmarks/framework_float32.py --write [PYTHON …]   # and writes f64doctor/catalogue/framework_float32.json

Each item is traced on random float64 input and computed twice: as it is, and with every float32 in its graph made float64 (f64doctor's own
promotion). The effect is the largest difference, relative to the largest value. Where no float64 form exists, the output's bits tell.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "f64doctor" / "catalogue" / "framework_float32.json"

# name: (expression of a function of x, shape of x, way round it)
RESAMPLE = "a Conv2DTranspose or Dense layer with fixed float64 weights, or a matrix product with the interpolation matrix: both are float64"
FLIP = "draw the transform in NumPy and apply it to the data before training, in float64"
POOL = "pool in float64 with a Reshape and keras.ops.max or keras.ops.mean over the window's axes"
ITEMS: dict[str, tuple[str, str, str]] = {
    "UpSampling2D(interpolation='bilinear')": ("L.UpSampling2D(2, interpolation='bilinear')", "image", RESAMPLE),
    "UpSampling2D(interpolation='bicubic')": ("L.UpSampling2D(2, interpolation='bicubic')", "image", RESAMPLE),
    "UpSampling2D(interpolation='nearest')": ("L.UpSampling2D(2)", "image", ""),
    "Resizing(interpolation='bilinear')": ("L.Resizing(7, 7)", "image", RESAMPLE),
    "RandomZoom": ("L.RandomZoom(0.3, seed=1)", "train", FLIP),
    "RandomTranslation": ("L.RandomTranslation(0.2, 0.2, seed=1)", "train", FLIP),
    "RandomRotation": ("L.RandomRotation(0.2, seed=1)", "train", FLIP),
    "RandomShear": ("L.RandomShear(0.2, seed=1)", "train", FLIP),
    "RandomContrast": ("L.RandomContrast(0.2, seed=1)", "train", FLIP),
    "RandomBrightness": ("L.RandomBrightness(0.2, seed=1)", "train", FLIP),
    "RandomFlip": ("L.RandomFlip(seed=1)", "train", ""),
    "MaxPooling3D": ("L.MaxPooling3D(2)", "volume", POOL),
    "AveragePooling3D": ("L.AveragePooling3D(2)", "volume", POOL),
    "MaxPooling2D": ("L.MaxPooling2D(2)", "image", ""),
    "AveragePooling2D": ("L.AveragePooling2D(2)", "image", ""),
    "MelSpectrogram": (
        "L.MelSpectrogram(fft_length=64, sequence_stride=16)",
        "signal",
        "compute the spectrogram beforehand, with scipy.signal in float64",
    ),
    "Conv1D": ("L.Conv1D(4, 3)", "sequence", ""),
    "Conv2D": ("L.Conv2D(4, 3)", "image", ""),
    "Conv3D": ("L.Conv3D(4, 2)", "volume", ""),
    "SeparableConv2D": ("L.SeparableConv2D(4, 3)", "image", ""),
    "Conv2DTranspose": ("L.Conv2DTranspose(4, 3)", "image", ""),
    "Dense": ("L.Dense(4)", "rows", ""),
    "LSTM": ("L.LSTM(4)", "sequence", ""),
    "GRU": ("L.GRU(4)", "sequence", ""),
    "SimpleRNN": ("L.SimpleRNN(4)", "sequence", ""),
    "Bidirectional(LSTM)": ("L.Bidirectional(L.LSTM(4))", "sequence", ""),
    "ConvLSTM2D": ("(lambda l: lambda x: l(x[:, None]))(L.ConvLSTM2D(4, 3))", "image", ""),
    "MultiHeadAttention": ("(lambda l: lambda x: l(x, x))(L.MultiHeadAttention(2, 4))", "sequence", ""),
    "Attention": ("(lambda l: lambda x: l([x, x]))(L.Attention())", "sequence", ""),
    "BatchNormalization": ("L.BatchNormalization()", "train", ""),
    "LayerNormalization": ("L.LayerNormalization()", "sequence", ""),
    "GroupNormalization": ("L.GroupNormalization(2)", "image", ""),
    "UnitNormalization": ("L.UnitNormalization()", "rows", ""),
    "SpectralNormalization": ("L.SpectralNormalization(L.Dense(4))", "rows", ""),
    "Rescaling": ("L.Rescaling(1 / 255.0)", "image", "divide the data in NumPy: x / 255.0"),
    "Normalization": ("(lambda l: (l.adapt(sample), l)[1])(L.Normalization())", "rows", ""),
    "GaussianNoise": ("L.GaussianNoise(0.1, seed=1)", "train", ""),
    "Dropout": ("L.Dropout(0.3, seed=1)", "train", ""),
    "activation gelu": ("A.gelu", "rows", "write it out: 0.5 * x * (1 + keras.ops.erf(x / math.sqrt(2)))"),
    "activation gelu(approximate=True)": ("lambda x: A.gelu(x, approximate=True)", "rows", ""),
    "activation selu": ("A.selu", "rows", ""),
    "activation elu": ("A.elu", "rows", ""),
    "activation softplus": ("A.softplus", "rows", ""),
    "activation mish": ("A.mish", "rows", ""),
    "activation leaky_relu": ("A.leaky_relu", "rows", ""),
    "loss MeanSquaredError": ("lambda x: keras.losses.MeanSquaredError()(x, 2 * x)", "rows", ""),
    "loss MeanAbsoluteError": ("lambda x: keras.losses.MeanAbsoluteError()(x, 2 * x)", "rows", ""),
    "loss Huber": ("lambda x: keras.losses.Huber()(x, 3 * x)", "rows", ""),
    "loss LogCosh": ("lambda x: keras.losses.LogCosh()(x, 2 * x)", "rows", ""),
    "loss BinaryCrossentropy": (
        "lambda x: keras.losses.BinaryCrossentropy()(tf.round(tf.sigmoid(x)), tf.sigmoid(3 * x))",
        "rows",
        "",
    ),
    "loss CategoricalCrossentropy": (
        "lambda x: keras.losses.CategoricalCrossentropy()(tf.nn.softmax(9 * x), tf.nn.softmax(x))",
        "rows",
        "",
    ),
    "loss KLDivergence": ("lambda x: keras.losses.KLDivergence()(tf.nn.softmax(x), tf.nn.softmax(2 * x))", "rows", ""),
    "loss CosineSimilarity": ("lambda x: keras.losses.CosineSimilarity()(x, x ** 2)", "rows", ""),
    "schedule CosineDecay": (
        "(lambda s: lambda x: tf.cast(s(7), x.dtype) + 0 * tf.reduce_sum(x))(S.CosineDecay(0.1, 30))",
        "rows",
        "a LearningRateScheduler callback computes in Python's float64",
    ),
    "schedule ExponentialDecay": (
        "(lambda s: lambda x: tf.cast(s(7), x.dtype) + 0 * tf.reduce_sum(x))(S.ExponentialDecay(0.1, 30, 0.9))",
        "rows",
        "a LearningRateScheduler callback computes in Python's float64",
    ),
    "keras.ops.image.resize": ("lambda x: keras.ops.image.resize(x, (7, 7))", "image", RESAMPLE),
    "tf.image.resize": ("lambda x: tf.image.resize(x, (7, 7))", "image", RESAMPLE),
    "tf.image.per_image_standardization": (
        "tf.image.per_image_standardization",
        "image",
        "subtract the mean and divide by the standard deviation in float64",
    ),
    "tf.image.rgb_to_grayscale": (
        "lambda x: tf.image.rgb_to_grayscale(x[..., :3])",
        "image",
        "a weighted sum over the channels with float64 weights",
    ),
    "tf.image.adjust_brightness": ("lambda x: tf.image.adjust_brightness(x, 0.1)", "image", "x + 0.1"),
    "tf.nn.local_response_normalization": (
        "tf.nn.local_response_normalization",
        "image",
        "LayerNormalization, or the formula written out",
    ),
    "tf.signal.hann_window": (
        "lambda x: x[:, :8] * tf.cast(tf.signal.hann_window(8), x.dtype)",
        "rows",
        "tf.signal.hann_window(n, dtype=tf.float64)",
    ),
    "tf.signal.stft": ("lambda x: tf.abs(tf.signal.stft(x[..., 0], 8, 4, window_fn=None))", "sequence", ""),
}

MEASURE = r"""
import importlib.util, json, os, sys, warnings
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.simplefilter("ignore")
import numpy as np, tensorflow as tf, keras
folder, items = sys.argv[1], json.loads(sys.argv[2])
spec = importlib.util.spec_from_file_location("probe", folder + "/__init__.py", submodule_search_locations=[folder])
probe = importlib.util.module_from_spec(spec); sys.modules["probe"] = probe; spec.loader.exec_module(probe)
from probe import damage, numbers, promotion
promotion._SHORT = 17  # every float32 constant is read as its shortest decimal form: the effect is of the size of its rounding
keras.backend.set_floatx("float64")
keras.utils.set_random_seed(3)
L, A, S = keras.layers, keras.activations, keras.optimizers.schedules
shapes = {"image": (4, 8, 8, 4), "train": (4, 8, 8, 4), "volume": (2, 4, 4, 4, 2), "rows": (64, 16), "sequence": (4, 12, 6), "signal": (2, 512)}
found = {"": f"TensorFlow {tf.__version__}, Keras {keras.__version__}"}
for name, (expression, kind, _) in items.items():
    sample = np.random.default_rng(5).normal(size=shapes[kind]) + 0.1
    x = tf.constant(sample)
    try:
        call = eval(expression)
        if kind == "train":
            layer = call
            call = lambda x: layer(x, training=True)
        call(x)  # variables come to be here
        graph = tf.function(call).get_concrete_function(tf.TensorSpec(x.shape, x.dtype)).graph
        definition = graph.as_graph_def()
        output = graph.outputs[0]
        nodes = promotion.closure(definition, [output.name], {t.op.name for t in graph.inputs})
        captured = {id(t) for _, t in graph.captures}
        inputs = [t for t in graph.inputs if id(t) not in captured]
        constants = set()
        run, left = damage._twice(graph, definition, nodes, inputs, [output], [], constants)
        plain, wide, _ = run([sample] * len(inputs))
        facts = numbers.describe_array(np.asarray(plain[0], "float64")) or {}
        scale = float(np.abs(wide[0]).max()) or 1.0
        found[name] = {
            "dtype": output.dtype.name,
            "bits": facts.get("bits", 0),
            "effect": float(np.abs(plain[0].astype("float64") - wide[0]).max()) / scale,
            "left": sorted(left),
        }
    except AttributeError as error:
        found[name] = {"absent": str(error)[:100]} if "no attribute" in str(error) else {"raises": "AttributeError"}
    except Exception as error:
        found[name] = {"raises": type(error).__name__}; print(name, str(error)[:300], file=sys.stderr)
print(json.dumps(found))
"""


def measured(python: str) -> dict[str, dict[str, object] | str]:
    """What one interpreter's TensorFlow and Keras do, by item; their versions under the empty name."""
    done = subprocess.run(
        [python, "-c", MEASURE, str(ROOT / "f64doctor" / "probe"), json.dumps(ITEMS)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    if done.returncode != 0:
        raise SystemExit(f"{python} could not be measured:\n{done.stderr[-2000:]}")
    found: dict[str, dict[str, object] | str] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def words(facts: dict[str, object] | str) -> str:
    """One cell of the table."""
    if isinstance(facts, str):
        return facts
    if "absent" in facts:
        return "–"
    if "raises" in facts:
        return f"fails: {facts['raises']}"
    effect, bits = facts["effect"], facts["bits"]
    assert isinstance(effect, float)
    assert isinstance(bits, int)
    if facts["left"] or facts["dtype"] != "float64" or (bits <= 24 and effect > 1e-14):
        kept = ", ".join(str(op) for op in facts["left"]) if isinstance(facts["left"], list) else ""
        return f"**rounds** to {bits} bits" + (f" ({kept})" if kept else "")
    return "float64" if effect < 1e-14 else f"constants in float32: {effect:.0e}"


def main() -> None:
    """Measure, print, and write when asked to."""
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    columns = [measured(python) for python in arguments or [sys.executable]]
    print("| | " + " | ".join(str(column[""]) for column in columns) + " | way round it |")
    print("|---|" + "---|" * (len(columns) + 1))
    for name, (_, _, way) in ITEMS.items():
        print(f"| {name} | " + " | ".join(words(column[name]) for column in columns) + f" | {way} |")
    if "--write" in sys.argv:
        body = {
            "source": "measured by benchmarks/framework_float32.py",
            "items": {
                name: {"way_round": way, "versions": {str(column[""]): column[name] for column in columns}}
                for name, (_, _, way) in ITEMS.items()
            },
        }
        DATA.write_text(json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    main()
