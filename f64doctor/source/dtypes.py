"""Spellings of floating-point dtypes, and the one name that each of them has here."""

from __future__ import annotations

from functools import lru_cache

_BY_NAME = {
    "float64": "float64",
    "double": "float64",
    "float_": "float64",
    "float32": "float32",
    "single": "float32",
    "float16": "float16",
    "half": "float16",
    "bfloat16": "bfloat16",
}
TYPE_NAMES = frozenset(_BY_NAME)
_NUMPY_CODES = {"f8": "float64", "d": "float64", "f4": "float32", "f": "float32", "f2": "float16", "e": "float16"}
_POLICIES = {"mixed_float16", "mixed_bfloat16"}
_TYPE_MODULES = (
    "np.",
    "tf.",
    "tf.dtypes.",
    "tf.experimental.numpy.",
    "keras.",
    "ml_dtypes.",
    "jax.numpy.",
    "cupy.",
    "torch.",
)
# Tried in order: the longer names of one package come first.
_PUBLIC = (
    ("tensorflow.compat.v2.", "tensorflow."),
    ("tensorflow.compat.v1.", "tensorflow."),
    ("tensorflow.python.keras.", "tensorflow.keras."),
    ("tensorflow.python.framework.dtypes.", "tensorflow."),
    ("keras._tf_keras.keras.", "keras."),
    ("keras.src.", "keras."),
    ("keras.api.", "keras."),
    ("numpy.core.", "numpy."),
    ("numpy.lib.npyio.", "numpy."),
    ("pylab.", "numpy."),
)
_SHORT = (
    ("tensorflow.keras.", "keras."),
    ("tf_keras.", "keras."),
    ("keras_core.", "keras."),
    ("tensorflow.", "tf."),
    ("numpy.", "np."),
)


@lru_cache(maxsize=8192)
def public_name(dotted: str) -> str:
    """The documented name of what a dotted name leads to: ``tensorflow.compat.v2.cast`` is ``tensorflow.cast``."""
    for private, public in _PUBLIC:
        if dotted.startswith(private):
            return public_name(public + dotted[len(private) :])
    return dotted


@lru_cache(maxsize=8192)
def short_name(dotted: str) -> str:
    """The name under which the tables know it: ``tf.``, ``np.`` and ``keras.`` (for all three packages called Keras)."""
    dotted = public_name(dotted)
    for package, short in _SHORT:
        if dotted.startswith(package):
            return short + dotted[len(package) :]
    return dotted


@lru_cache(maxsize=8192)
def of_type(dotted: str) -> str:
    """The dtype that a qualified name stands for, such as ``numpy.single`` or ``tensorflow.dtypes.float32``; empty for none."""
    short = short_name(dotted)
    module, _, name = short.rpartition(".")
    return _BY_NAME.get(name, "") if module + "." in _TYPE_MODULES else ""


def of_string(text: str, python_float: str) -> str:
    """The dtype or Keras policy that a string names, empty for none. ``python_float``: what ``"float"`` means there."""
    if text in _POLICIES:
        return text
    if text == "float":
        return python_float
    return _BY_NAME.get(text) or _NUMPY_CODES.get(text.lstrip("<>=|") if len(text) <= 3 else text, "")


def python_float(function: str) -> str:
    """What the builtin ``float`` means as a dtype argument: float32 to TensorFlow and Keras (measured on 2.21 and 3.15), else float64."""
    return "float32" if short_name(function).startswith(("tf.", "keras.")) else "float64"
