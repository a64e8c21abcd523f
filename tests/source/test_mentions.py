"""Which calls state a precision, and which only look as if they did."""

from __future__ import annotations

import pytest

from tests.source.projects import Read, Said


@pytest.mark.parametrize(
    ("lines", "dtype", "call"),
    [
        ("keras.backend.set_floatx('float64')", "float64", "keras.backend.set_floatx"),
        ("tf.keras.backend.set_floatx('float64')", "float64", "tensorflow.keras.backend.set_floatx"),
        ("keras.config.set_floatx('float32')", "float32", "keras.config.set_floatx"),
        ("K = keras.backend\nK.set_floatx('float64')", "float64", "keras.backend.set_floatx"),
        ("from keras import backend as K\nK.set_floatx('float16')", "float16", "keras.backend.set_floatx"),
        ("import tf_keras\ntf_keras.backend.set_floatx('float64')", "float64", "tf_keras.backend.set_floatx"),
        ("keras.config.set_dtype_policy('float64')", "float64", "keras.config.set_dtype_policy"),
        (
            "keras.mixed_precision.set_global_policy('mixed_bfloat16')",
            "mixed_bfloat16",
            "keras.mixed_precision.set_global_policy",
        ),
        (
            "from tensorflow.keras import mixed_precision as mp\nmp.set_global_policy('mixed_float16')",
            "mixed_float16",
            "tensorflow.keras.mixed_precision.set_global_policy",
        ),
        ("keras.config.set_floatx(unknown())", "", "keras.config.set_floatx"),
        ("import jax\njax.config.update('jax_enable_x64', True)", "float64", "jax.config.update"),
        ("import gpflow\ngpflow.config.set_default_float(np.float64)", "float64", "gpflow.config.set_default_float"),
        (
            "tf.config.optimizer.set_experimental_options({'auto_mixed_precision': True})",
            "mixed_float16",
            "tensorflow.config.optimizer.set_experimental_options",
        ),
    ],
)
def test_a_setting_is_found_under_every_name_of_keras(said: Said, lines: str, dtype: str, call: str) -> None:
    assert said(lines) == [("setting", dtype, call)]


def test_a_policy_object_is_a_setting_of_its_dtype(said: Said) -> None:
    lines = "p = keras.mixed_precision.Policy('mixed_float16')\nkeras.mixed_precision.set_global_policy(p)"
    assert [(kind, dtype) for kind, dtype, _ in said(lines)] == [("setting", "mixed_float16")] * 2


@pytest.mark.parametrize(
    ("line", "dtype", "call"),
    [
        ("x.astype(np.float32)", "float32", "numpy.ndarray.astype"),
        ("x.astype(dtype='float64', copy=False)", "float64", "numpy.ndarray.astype"),
        ("np.astype(x, np.float32)", "float32", "numpy.astype"),
        ("x.view(np.float32)", "float32", "numpy.ndarray.view"),
        ("tf.cast(x, tf.float64)", "float64", "tensorflow.cast"),
        ("tf.dtypes.cast(x, tf.float32)", "float32", "tensorflow.dtypes.cast"),
        ("tf.saturate_cast(x, tf.float16)", "float16", "tensorflow.saturate_cast"),
        ("tf.compat.v1.to_float(x)", "float32", "tensorflow.to_float"),
        ("keras.ops.cast(x, 'float32')", "float32", "keras.ops.cast"),
        ("keras.backend.cast(x, 'float32')", "float32", "keras.backend.cast"),
        ("keras.backend.cast_to_floatx(x)", "floatx", "keras.backend.cast_to_floatx"),
        ("np.float32(x)", "float32", "numpy.float32"),
        ("np.single(x)", "float32", "numpy.single"),
        ("np.half(x)", "float16", "numpy.half"),
        ("np.float64(x)", "float64", "numpy.float64"),
        ("list(map(np.float32, x))", "float32", "numpy.float32"),
        ("df.apply(np.float32)", "float32", "numpy.float32"),
        ("tf.image.convert_image_dtype(x, tf.float32)", "float32", "tensorflow.image.convert_image_dtype"),
    ],
)
def test_a_cast_is_found(said: Said, line: str, dtype: str, call: str) -> None:
    assert said(line) == [("cast", dtype, call)]


@pytest.mark.parametrize(
    ("line", "dtype", "call"),
    [
        ("np.array(x, np.float32)", "float32", "numpy.array"),
        ("np.asarray(x, 'float64')", "float64", "numpy.asarray"),
        ("np.empty((2, 3), dtype='f4')", "float32", "numpy.empty"),
        ("np.full(3, 0.1, np.float32)", "float32", "numpy.full"),
        ("np.fromfile(p, np.float32)", "float32", "numpy.fromfile"),
        ("np.memmap(p, dtype='float32', mode='r')", "float32", "numpy.memmap"),
        ("np.loadtxt(p, dtype=np.float32)", "float32", "numpy.loadtxt"),
        ("x.mean(dtype=np.float64)", "float64", "mean"),
        ("tf.constant(0.1, tf.float64)", "float64", "tensorflow.constant"),
        ("tf.Variable(0.1, dtype=tf.float64)", "float64", "tensorflow.Variable"),
        ("tf.zeros(3, tf.float32)", "float32", "tensorflow.zeros"),
        ("tf.random.normal([3], 0.0, 1.0, tf.float64)", "float64", "tensorflow.random.normal"),
        ("tf.TensorSpec([None], tf.float32)", "float32", "tensorflow.TensorSpec"),
        ("tf.TensorArray(tf.float32, 3)", "float32", "tensorflow.TensorArray"),
        ("tf.io.FixedLenFeature([4], tf.float32)", "float32", "tensorflow.io.FixedLenFeature"),
        ("tf.io.decode_raw(x, tf.float32)", "float32", "tensorflow.io.decode_raw"),
        ("tf.io.parse_tensor(x, out_type=tf.float64)", "float64", "tensorflow.io.parse_tensor"),
        ("tf.strings.to_number(x, tf.float64)", "float64", "tensorflow.strings.to_number"),
        ("tf.py_function(f, [x], tf.float32)", "float32", "tensorflow.py_function"),
        (
            "tf.data.Dataset.from_generator(g, (tf.float32, tf.int64))",
            "float32",
            "tensorflow.data.Dataset.from_generator",
        ),
        (
            "tf.data.experimental.make_csv_dataset(p, 5, column_defaults=[tf.float64] * 3)",
            "float64",
            "tensorflow.data.experimental.make_csv_dataset",
        ),
        ("keras.Input((3,), dtype='float64')", "float64", "keras.Input"),
        ("tf.keras.layers.Dense(3, dtype='float32')", "float32", "tensorflow.keras.layers.Dense"),
        ("keras.layers.Dense(3, dtype='mixed_float16')", "mixed_float16", "keras.layers.Dense"),
        ("keras.layers.Dense(3, **{'dtype': 'float32'})", "float32", "keras.layers.Dense"),
        ("o = dict(dtype='float32')\nkeras.layers.Dense(3, **o)", "float32", "keras.layers.Dense"),
        ("import functools\nfunctools.partial(keras.layers.Dense, dtype='float32')", "float32", "functools.partial"),
        ("import pandas as pd\npd.read_csv(p, dtype={'a': 'float32'})", "float32", "pandas.read_csv"),
        (
            "@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])\ndef f(x): ...\nf(1)",
            "float32",
            "tensorflow.TensorSpec",
        ),
        ("import tensorflow_probability as tfp\ntfp.math.f(x, tf.float32)", "float32", "tensorflow_probability.math.f"),
    ],
)
def test_a_dtype_argument_is_found_by_word_and_by_position(said: Said, line: str, dtype: str, call: str) -> None:
    assert said(line) == [("dtype", dtype, call)]


def test_a_weight_of_a_layer_is_found_under_the_name_of_its_base_class(said: Said) -> None:
    lines = """
    class Scale(keras.layers.Layer):
        def build(self, shape):
            self.s = self.add_weight(shape=(), dtype="float32")
    Scale()
    """
    assert said(lines) == [("dtype", "float32", "keras.layers.Layer.add_weight")]


@pytest.mark.parametrize(
    "line",
    [
        "tf.constant(0.1)",
        "tf.constant([0.1, 2])",
        "tf.constant(-0.5)",
        "tf.constant([])",
        "tf.constant(math.pi * 2)",
        "tf.constant(1 / 3)",
        "tf.constant(self_unknown.sigma)",
        "tf.constant(0.1, dtype=None)",
        "tf.Variable(0.1)",
        "tf.Variable(initial_value=[0.5])",
        "tf.zeros((3, 2))",
        "tf.ones(3)",
        "tf.eye(4)",
        "tf.linspace(0.0, 1.0, 9)",
        "tf.range(0.0, 1.0, 0.1)",
        "tf.range(0, 1, delta=0.1)",
        "tf.fill([2], 0.3)",
        "tf.random.normal([3])",
        "tf.random.uniform([3], 0, 1)",
        "tf.random.stateless_normal([3], seed=[1, 2])",
        "tf.random.Generator.from_seed(1).normal([3])",
        "g = tf.random.Generator.from_seed(1)\ng.uniform([3])",
        "tf.one_hot(i, 3)",
        "tf.convert_to_tensor(0.1)",
        "tf.convert_to_tensor([math.sin(a) for a in range(9)])",
        "tf.convert_to_tensor(np.pi)",
        "tf.where(c, 0.9, 0.1)",
        "tf.where(c, 1.0, 0)",
        "tf.train.FloatList(value=row)",
        "tf.data.experimental.make_csv_dataset(p, 5)",
        "tf.io.decode_csv(x, [[0.0], [0]])",
        "tf.io.decode_csv(x, record_defaults=[0.0] * 4)",
        "tf.strings.to_number(x)",
        "tf.data.Dataset.from_tensor_slices([0.1, 0.2])",
        "a = [2 * math.pi * k / 7 for k in range(7)]\ntf.data.Dataset.from_tensor_slices((a, labels))",
        "tf.data.Dataset.from_tensor_slices({'x': [0.1, 0.2]})",
        "keras.ops.convert_to_tensor(0.1)",
        "keras.ops.sqrt(2.0)",
        "keras.Variable(1.0)",
        "tf.math.log(2 * math.pi)",
        "tf.cast(8.314462618, tf.float64)",
        "tf.cast(-0.1, tf.float64)",
        "tf.cast([0.1, 0.2], tf.float64)",
        "R = 8.314462618\ntf.cast(R, tf.float64)",
        "tf.cast(math.pi, 'float64')",
        "tf.cast(0.1, keras.backend.floatx())",
        "keras.ops.cast(0.1, 'float64')",
        "tf.TensorSpec([None])",
    ],
)
def test_a_maker_whose_default_is_float32_is_a_literal(said: Said, line: str) -> None:
    assert [(kind, dtype) for kind, dtype, _ in said(line)] == [("literal", "float32")]


@pytest.mark.parametrize(
    "line",
    [
        "tf.constant(3)",
        "tf.constant('text')",
        "tf.constant([True, False])",
        "tf.constant(np.arange(3.0))",
        "tf.constant(np.sqrt(2.0))",
        "d = np.zeros((4, 4))\ntf.constant(d)",
        "a = model.predict(x)\ntf.constant(a)",
        "tf.constant(x[:3])",
        "tf.constant(0.1, y.dtype)",
        "tf.constant(0.1, dtype=y.dtype)",
        "tf.constant(*args)",
        "tf.zeros(3, **options)",
        "tf.Variable(1)",
        "tf.zeros(3, tf.int32)",
        "tf.zeros_like(x)",
        "tf.range(10)",
        "tf.random.uniform([3], 0, 9, tf.int32)",
        "tf.linspace(0, 1, 5)",
        "tf.convert_to_tensor(x)",
        "tf.convert_to_tensor(y_pred)",
        "tf.where(c, x, 0.1)",
        "tf.where(c)",
        "tf.io.decode_csv(x, [[0], ['']])",
        "tf.data.Dataset.from_tensor_slices((x, y))",
        "tf.data.Dataset.from_tensor_slices([1, 2])",
        "tf.data.Dataset.from_tensor_slices(np.array([0.1]))",
        "tf.math.log(x)",
        "tf.strings.to_number(x, tf.int64)",
        "keras.ops.zeros((2,))",
        "keras.ops.full((2,), 0.1)",
        "keras.ops.maximum(x, 0.1)",
        "np.array([0.1])",
        "np.zeros(3)",
        "x.astype(int)",
        "x.astype(y.dtype)",
        "x.view(-1, 3)",
        "tf.cast(x, tf.int64)",
        "tf.cast(x, y.dtype)",
        "float(x)",
        "x.dtype == np.float32",
        "x.dtype.name == 'float32'",
        "x.dtype in (tf.float32, 'float32')",
        "isinstance(x, np.float32)",
        "np.issubdtype(x.dtype, np.float32)",
        "np.finfo(np.float32).eps",
        "tf.debugging.assert_type(x, tf.float32)",
        "print('float32', np.float32)",
        "'results_float32.csv'",
        "# x.astype('float32')",
        "def f(x: np.float32 = None, y: 'tf.float32' = None) -> np.float32: ...\nf()",
        "v: np.float32",
        "raise TypeError('expected float64, got float32')",
        "assert x.dtype == tf.float32, 'float32'",
        "log.info('float32')",
    ],
)
def test_what_states_no_precision_is_not_mentioned(said: Said, line: str) -> None:
    assert said(line) == []


def test_an_exact_python_float_cast_to_float64_is_a_plain_cast(said: Said) -> None:
    assert said("tf.cast(0.5, tf.float64)") == [("cast", "float64", "tensorflow.cast")]


def test_a_parameter_is_a_python_float_when_a_caller_passes_one(read: Read) -> None:
    source = read(
        """
        from dist import Normal
        prior = Normal(loc=0.0, scale=1.0)
        """,
        dist="""
        import tensorflow as tf
        class Normal:
            def __init__(self, loc, scale):
                self.loc = tf.convert_to_tensor(loc)
                self.scale = tf.convert_to_tensor(scale)
        """,
    )
    assert [(m.line, m.kind, m.call, m.scope) for m in source.mentions] == [
        (5, "literal", "tensorflow.convert_to_tensor", "Normal.__init__"),
        (6, "literal", "tensorflow.convert_to_tensor", "Normal.__init__"),
    ]


def test_the_line_is_that_of_the_call_and_not_of_its_statement(read: Read) -> None:
    source = read(
        """
        import keras
        model = keras.Sequential([
            keras.Input((3,)),
            keras.layers.Dense(
                3,
                dtype="float32",
            ),
        ])
        """
    )
    assert [(m.line, m.text) for m in source.mentions] == [(5, 'keras.layers.Dense(3, dtype="float32", ),')]


def test_a_method_on_a_line_of_its_own_has_that_line(read: Read) -> None:
    source = read("y = (table\n     .dropna()\n     .astype('float32'))\n")
    assert [(m.line, m.text) for m in source.mentions] == [(3, ".astype('float32'))")]


def test_the_text_is_no_longer_than_200_characters(read: Read) -> None:
    source = read("x.astype('float32')  # " + "long " * 200)
    assert len(source.mentions[0].text) <= 200
    assert source.mentions[0].text.startswith("x.astype('float32')")


def test_mentions_come_in_the_order_of_files_and_lines(read: Read) -> None:
    source = read(
        "import b\nimport a\nx.astype('float32'); y.astype('float64')\nf(z.astype('f2'))\n",
        a="x.astype('float32')\n",
        b="x.astype('float32')\n",
    )
    assert [(m.file.rpartition("/")[2], m.line, m.dtype) for m in source.mentions] == [
        ("train.py", 3, "float32"),
        ("train.py", 3, "float64"),
        ("train.py", 4, "float16"),
        ("b.py", 1, "float32"),
        ("a.py", 1, "float32"),
    ]


@pytest.mark.parametrize(
    ("lines", "guard"),
    [
        ("x.astype('f4')", ""),
        ("if fast:\n    x.astype('f4')", "fast"),
        ("if fast:\n    pass\nelse:\n    x.astype('f4')", "not (fast)"),
        ("if a:\n    pass\nelif b > 1:\n    x.astype('f4')", "b > 1"),
        ("while n < 3:\n    x.astype('f4')", "n < 3"),
        ("while True:\n    x.astype('f4')\n    break", ""),
        ("for i in r:\n    x.astype('f4')", ""),
        ("try:\n    x.astype('f4')\nexcept E:\n    pass", ""),
        ("try:\n    pass\nexcept (E, F) as e:\n    x.astype('f4')", "except (E, F)"),
        ("try:\n    pass\nexcept:\n    x.astype('f4')", "except"),
        ("match mode:\n    case 'fast' if n:\n        x.astype('f4')", "match mode: case 'fast' if n"),
        ("y = x.astype('f4') if small else x", "small"),
        ("if __name__ == '__main__':\n    x.astype('f4')", ""),
        ("if a:\n    if __name__ == '__main__':\n        x.astype('f4')", "a"),
        ("if a:\n    def f():\n        x.astype('f4')\n    f()", ""),
        ("if a and \\\n   b:\n    x.astype('f4')", "a and \\ b"),
    ],
)
def test_the_guard_is_the_nearest_condition_within_the_function(read: Read, lines: str, guard: str) -> None:
    assert [m.guard for m in read(lines).mentions] == [guard]


@pytest.mark.parametrize(
    ("lines", "scope"),
    [
        ("x.astype('f4')", ""),
        ("def f():\n    x.astype('f4')\nf()", "f"),
        ("class A(B):\n    def call(self):\n        x.astype('f4')\nA()", "A.call"),
        ("class A:\n    y = x.astype('f4')", ""),
        ("def f():\n    def g():\n        return [x.astype('f4') for x in y]\n    g()\nf()", "f.g"),
        ("f = lambda x: x.astype('f4')", ""),
    ],
)
def test_the_scope_is_the_function_around(read: Read, lines: str, scope: str) -> None:
    assert [m.scope for m in read(lines).mentions] == [scope]
