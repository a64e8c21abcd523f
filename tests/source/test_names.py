"""Names lead to the same dtype however they are spelled."""

from __future__ import annotations

import pytest

from tests.source.projects import Read, Said

F32 = [("cast", "float32", "tensorflow.cast")]


@pytest.mark.parametrize(
    "lines",
    [
        "tf.cast(x, tf.float32)",
        "tf.cast(x, 'float32')",
        "tf.cast(x, dtype=np.float32)",
        "tf.cast(x, np.single)",
        "tf.cast(x, tf.dtypes.float32)",
        "tf.cast(x, tf.as_dtype('float32'))",
        "tf.cast(x, np.dtype('<f4'))",
        "tf.cast(x, tf.float32.as_numpy_dtype)",
        "from numpy import float32 as f4\ntf.cast(x, f4)",
        "import tensorflow.compat.v2 as t\nf = t.float32\nt.cast(x, f)",
        "from tensorflow import cast as to, float32\nto(x, float32)",
        "cast = tf.cast\ncast(x, tf.float32)",
        "DTYPE = tf.float32\ntf.cast(x, DTYPE)",
        "DTYPE: str = 'float32'\ntf.cast(x, DTYPE)",
        "a = b = 'float32'\ntf.cast(x, b)",
        "A, B = tf.float64, tf.float32\ntf.cast(x, B)",
        "cfg = {'dtype': 'float32', 'other': 'float64'}\ntf.cast(x, cfg['dtype'])",
        "cfg = dict(dtype='float32')\ntf.cast(x, cfg['dtype'])",
        "cfg = {}\ncfg['dtype'] = 'float32'\ntf.cast(x, cfg['dtype'])",
        "cfg = {'dtype': 'float32'}\ntf.cast(x, cfg.get('dtype', 'float64'))",
        "cfg = {'net': {'dtype': 'float32'}}\ntf.cast(x, cfg['net']['dtype'])",
        "kinds = ('float64', 'float32')\ntf.cast(x, kinds[-1])",
        "cfg = object()\ncfg.dtype = tf.float32\ntf.cast(x, cfg.dtype)",
        "if (d := tf.float32): tf.cast(x, d)",
        "def f(x, dtype='float32'):\n    return tf.cast(x, dtype)\nf(1)",
        "def f(x, *, dtype='float32'):\n    return tf.cast(x, dtype)\nf(1)",
        "def f(x, kind='float64'):\n    return tf.cast(x, kind)\nf(1, kind=tf.float32)",
        "def f(x, dtype):\n    return tf.cast(x, dtype)\nf(1, tf.float32)",
        "def chosen():\n    return tf.float32\ntf.cast(x, chosen())",
        "def outer(d=tf.float32):\n    def inner(x):\n        return tf.cast(x, d)\n    return inner\nouter()",
        "f = lambda x, d=tf.float32: tf.cast(x, d)",
        "tf.cast(x, getattr(tf, 'float32'))",
        "import importlib\nt = importlib.import_module('tensorflow')\nt.cast(x, t.float32)",
        "class P:\n    dt = tf.float32\n    def go(self, x):\n        return tf.cast(x, self.dt)\nP().go(1)",
        "class P:\n    def __init__(self):\n        self.dt = tf.float32\n    def go(self, x):\n        return tf.cast(x, self.dt)\nP().go(1)",
        "class P:\n    def __init__(self, d):\n        self.dt = d\n    def go(self, x):\n        return tf.cast(x, self.dt)\n"
        "P(tf.float32).go(1)",
        "class B:\n    dt = tf.float32\nclass P(B):\n    def go(self, x):\n        return tf.cast(x, self.dt)\nP().go(1)",
        "from dataclasses import dataclass, field\n@dataclass\nclass C:\n    dt: str = field(default='float32')\nc = C()\ntf.cast(x, c.dt)",
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    dt: str = 'float32'\ntf.cast(x, C.dt)",
        "from enum import Enum\nclass K(Enum):\n    LOW = 'float32'\ntf.cast(x, K.LOW.value)",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--my-dtype', default='float32')\na = p.parse_args()\n"
        "tf.cast(x, a.my_dtype)",
        "import os\ntf.cast(x, os.environ.get('DTYPE', 'float32'))",
        "d = None\ntf.cast(x, d or 'float32')",
        "def f():\n    global D\n    D = tf.float32\nf()\ntf.cast(x, D)",
        "async def f(x):\n    return tf.cast(await x, tf.float32)\nf(1)",
        "tf.cast(x, float)",
    ],
)
def test_each_way_to_write_a_float32_cast_is_one_mention(said: Said, lines: str) -> None:
    assert said(lines) == F32


def test_a_constant_of_another_local_module_is_followed(said: Said) -> None:
    lines = "from settings import DTYPE\nimport settings as s\ntf.cast(x, DTYPE)\ntf.cast(x, s.DTYPE)"
    assert said(lines, settings="import tensorflow as tf\nDTYPE = tf.float32\n") == F32 * 2


def test_a_constant_is_followed_through_star_imports_and_reexports(said: Said) -> None:
    modules = {"a": "from b import *\n", "b": "from c import D as DTYPE\n", "c": "D = 'float32'\n"}
    assert said("from a import *\ntf.cast(x, DTYPE)", **modules) == F32


def test_names_of_a_star_import_of_numpy_are_numpys(read: Read) -> None:
    source = read("from numpy import *\nx = asarray([1.0], dtype=float32)\n")
    assert [(m.dtype, m.call) for m in source.mentions] == [("float32", "numpy.asarray")]


def test_two_modules_that_import_each_other_are_read(said: Said) -> None:
    modules = {"a": "import b\nD = b.D\n", "b": "import a\nD = a.D\n"}
    assert said("import a\ntf.cast(x, a.D)", **modules) == []


def test_names_that_stand_for_each_other_stand_for_nothing(said: Said) -> None:
    assert said("a = b\nb = a\ntf.cast(x, a)\ndef f(d):\n    return f(d)\ntf.cast(x, f(f))") == []


def test_an_alias_from_either_arm_of_a_try_is_known(read: Read) -> None:
    source = read(
        """
        try:
            from tensorflow import keras
        except ImportError:
            import keras
        K = keras.backend
        K.set_floatx("float64")
        """
    )
    assert [m.call for m in source.mentions] == ["tensorflow.keras.backend.set_floatx"]


def test_the_value_that_holds_at_the_line_is_taken(said: Said) -> None:
    lines = "d = tf.float32\ntf.cast(x, d)\nd = tf.float64\ntf.cast(x, d)"
    assert [dtype for _, dtype, _ in said(lines)] == ["float32", "float64"]


def test_a_local_name_hides_a_global_one(said: Said) -> None:
    lines = "d = tf.float32\ndef f(x):\n    d = tf.float64\n    return tf.cast(x, d)\nf(1)"
    assert [dtype for _, dtype, _ in said(lines)] == ["float64"]


def test_a_name_rebound_to_something_unknown_is_not_taken_for_the_import(said: Said) -> None:
    assert said("def f(tf, np):\n    return tf.cast(1, np.float32)\nf(a, b)") == []


def test_a_default_that_every_caller_overrides_is_not_mentioned(said: Said) -> None:
    lines = "def load(p, dtype='float32'):\n    return np.load(p).astype(dtype)\nload('a', 'float64')\nload('b', dtype='float64')"
    assert [dtype for kind, dtype, _ in said(lines) if kind == "cast"] == ["float64"]


def test_a_dtype_handed_to_a_local_function_is_mentioned_where_it_is_said_and_where_it_acts(said: Said) -> None:
    lines = "def f(x, dtype):\n    return tf.cast(x, dtype)\nf(1, dtype=tf.float32)"
    assert said(lines) == [("cast", "float32", "tensorflow.cast"), ("dtype", "float32", "train.f")]


def test_a_dtype_chosen_by_a_flag_gives_both_with_their_conditions(read: Read) -> None:
    source = read(
        """
        import tensorflow as tf
        D = tf.float64 if args.double else tf.float32
        y = tf.cast(x, D)
        """
    )
    assert [(m.dtype, m.guard) for m in source.mentions] == [
        ("float64", "args.double"),
        ("float32", "not (args.double)"),
    ]


def test_a_dtype_changed_under_a_condition_keeps_the_condition(read: Read) -> None:
    source = read(
        """
        import tensorflow as tf
        D = tf.float32
        if args.double:
            D = tf.float64
        y = tf.cast(x, D)
        """
    )
    assert {(m.dtype, m.guard) for m in source.mentions} == {("float32", ""), ("float64", "args.double")}


def test_a_loop_over_dtypes_mentions_each(said: Said) -> None:
    assert [dtype for _, dtype, _ in said("for d in ('float32', 'float64'):\n    tf.cast(x, d)")] == [
        "float32",
        "float64",
    ]


@pytest.mark.parametrize(
    ("lines", "dtype"),
    [
        ("x.astype(float)", "float64"),
        ("x.astype('float')", "float64"),
        ("x.astype('>f8')", "float64"),
        ("x.astype(np.double)", "float64"),
        ("x.astype('f')", "float32"),
        ("x.astype('e')", "float16"),
        ("x.astype(np.half)", "float16"),
        ("x.astype({'a': 'float32', 'b': 'int64'})", "float32"),
        ("x.astype(np.dtype([('a', '<f4')]))", "float32"),
        ("x.astype(tf.bfloat16.as_numpy_dtype)", "bfloat16"),
        ("x.astype(keras.backend.floatx())", "floatx"),
        ("x.astype(tf.keras.config.floatx())", "floatx"),
    ],
)
def test_each_spelling_of_a_dtype_has_one_name(said: Said, lines: str, dtype: str) -> None:
    assert said(lines) == [("cast", dtype, "numpy.ndarray.astype")]


def test_the_builtin_float_is_float32_to_tensorflow_and_keras_as_measured(said: Said) -> None:
    lines = "tf.zeros(3, float)\nkeras.ops.zeros(3, dtype=float)\nnp.zeros(3, float)"
    assert [dtype for _, dtype, _ in said(lines)] == ["float32", "float32", "float64"]
