"""What is known of the functions that take or choose a dtype, by short name (``tf.``, ``np.``, ``keras.``).

Positions are those of ``inspect.signature`` in TensorFlow 2.21.0, Keras 3.15.1 and NumPy 2.4, and of the documented
signatures of TensorFlow 1 and Keras 2 where those versions alone have the function. Defaults were measured with floatx float64.
"""

from __future__ import annotations

DTYPE_WORDS = frozenset(
    {
        "dtype",
        "dtypes",
        "out_type",
        "output_type",
        "output_types",
        "Tout",
        "dtype_hint",
        "preferred_dtype",
        "param_dtype",
        "compute_dtype",
        "variable_dtype",
        "dtype_policy",
        "element_dtype",
        "column_defaults",
        "record_defaults",
        "fn_output_signature",
        "dtype_float",
    }
)

SETTERS = frozenset(
    {
        "set_floatx",
        "set_dtype_policy",
        "set_global_policy",
        "set_policy",
        "set_default_float",
        "set_default_dtype",
        "set_default_float_type",
    }
)
SETTER_WORDS = ("value", "policy", "dtype_policy", "dtype", "d")
SETTERS_OF_ONE_DTYPE = {
    "set_float64": "float64",
    "set_float32": "float32",
    "enable_mixed_precision_graph_rewrite": "mixed_float16",
}

CASTS = {
    "tf.cast": 1,
    "tf.dtypes.cast": 1,
    "tf.saturate_cast": 1,
    "tf.dtypes.saturate_cast": 1,
    "tf.bitcast": 1,
    "tf.image.convert_image_dtype": 1,
    "keras.ops.cast": 1,
    "keras.ops.saturate_cast": 1,
    "keras.backend.cast": 1,
    "np.astype": 1,
}
CAST_WORDS = ("dtype", "type", "x_type")
CASTS_TO_ONE_DTYPE = {
    "tf.to_float": "float32",
    "tf.to_double": "float64",
    "tf.to_bfloat16": "bfloat16",
    "keras.backend.cast_to_floatx": "floatx",
}
CASTS_THROUGH_FLOAT32 = frozenset(
    {"tf.cast", "tf.dtypes.cast", "tf.saturate_cast", "tf.dtypes.saturate_cast", "keras.ops.cast", "keras.backend.cast"}
)
CAST_METHODS = frozenset({"astype", "view"})

_TENSORFLOW = {
    "constant": 1, "zeros": 1, "ones": 1, "eye": 3, "linalg.eye": 3, "sparse.eye": 2, "range": 3, "convert_to_tensor": 1,
    "one_hot": 5, "TensorSpec": 1, "SparseTensorSpec": 1, "RaggedTensorSpec": 1, "TensorArray": 0, "zeros_like": 1,
    "ones_like": 1, "ragged.constant": 1, "ragged.range": 3, "random.normal": 3, "random.uniform": 3,
    "random.truncated_normal": 3, "random.gamma": 3, "random.poisson": 2, "random.stateless_normal": 4,
    "random.stateless_uniform": 4, "random.stateless_truncated_normal": 4, "random.stateless_gamma": 4,
    "random.stateless_poisson": 3, "random.Generator.normal": 4, "random.Generator.uniform": 4,
    "random.Generator.truncated_normal": 4, "random_normal": 3, "random_uniform": 3, "truncated_normal": 3,
    "io.FixedLenFeature": 1, "FixedLenFeature": 1, "io.VarLenFeature": 0, "VarLenFeature": 0,
    "io.FixedLenSequenceFeature": 1, "FixedLenSequenceFeature": 1, "io.SparseFeature": 2, "io.RaggedFeature": 0,
    "io.decode_raw": 1, "decode_raw": 1, "io.parse_tensor": 1, "parse_tensor": 1, "io.decode_image": 2,
    "image.decode_image": 2, "io.decode_csv": 1, "decode_csv": 1, "strings.to_number": 1, "string_to_number": 1,
    "py_function": 2, "py_func": 2, "numpy_function": 2, "data.Dataset.from_generator": 1,
    "data.experimental.make_csv_dataset": 3, "data.experimental.CsvDataset": 1, "map_fn": 2, "placeholder": 0,
    "get_variable": 2, "feature_column.numeric_column": 3, "signal.hann_window": 2, "signal.hamming_window": 2,
    "signal.kaiser_window": 2, "signal.vorbis_window": 1, "signal.kaiser_bessel_derived_window": 2,
}  # fmt: skip
_KERAS = {
    "Input": 2, "layers.Input": 2, "KerasTensor": 1, "InputSpec": 0, "layers.InputSpec": 0, "Variable": 2,
    "ops.convert_to_tensor": 1, "ops.array": 1, "ops.zeros": 1, "ops.ones": 1, "ops.eye": 3, "ops.full": 2,
    "ops.linspace": 5, "ops.logspace": 5, "ops.arange": 3, "ops.identity": 1, "ops.tri": 3, "ops.empty": 1,
    "ops.one_hot": 3, "ops.full_like": 2, "ops.zeros_like": 1, "ops.ones_like": 1, "ops.cumsum": 2, "random.normal": 3,
    "random.uniform": 3, "random.truncated_normal": 3, "utils.img_to_array": 2, "backend.constant": 1,
    "backend.variable": 1, "backend.zeros": 1, "backend.ones": 1, "backend.eye": 1, "backend.placeholder": 2,
    "backend.random_normal": 3, "backend.random_uniform": 3, "backend.truncated_normal": 3, "backend.ones_like": 1,
    "backend.zeros_like": 1, "backend.arange": 3, "DTypePolicy": 0, "dtype_policies.DTypePolicy": 0,
    "layers.Layer.add_weight": 4,
}  # fmt: skip
_NUMPY = {
    "array": 1, "asarray": 1, "asanyarray": 1, "ascontiguousarray": 1, "asfortranarray": 1, "asfarray": 1, "empty": 1,
    "zeros": 1, "ones": 1, "full": 2, "full_like": 2, "zeros_like": 1, "ones_like": 1, "empty_like": 1, "loadtxt": 1,
    "genfromtxt": 1, "fromfile": 1, "frombuffer": 1, "fromstring": 1, "fromiter": 1, "fromfunction": 2, "memmap": 1,
    "arange": 3, "linspace": 5, "logspace": 5, "geomspace": 4, "eye": 3, "identity": 1, "tri": 3, "sum": 2, "prod": 2,
    "mean": 2, "std": 2, "var": 2, "cumsum": 2, "cumprod": 2, "require": 1, "ndarray": 1, "matrix": 1, "trace": 4,
}  # fmt: skip

DTYPE_POSITIONS: dict[str, int] = {
    **{f"tf.{name}": position for name, position in _TENSORFLOW.items()},
    **{f"keras.{name}": position for name, position in _KERAS.items()},
    **{f"np.{name}": position for name, position in _NUMPY.items()},
}
"""Where these functions take their dtype when it has no keyword."""

POLICY_MAKERS = (
    "keras.mixed_precision.Policy",
    "keras.mixed_precision.experimental.Policy",
    "keras.mixed_precision.DTypePolicy",
)

DTYPE_MAKERS = frozenset(
    {
        "np.dtype",
        "tf.as_dtype",
        "tf.dtypes.as_dtype",
        "tf.DType",
        "keras.backend.standardize_dtype",
        "keras.DTypePolicy",
        "keras.dtype_policies.DTypePolicy",
        "keras.dtype_policies.get",
        *POLICY_MAKERS,
    }
)
"""Functions whose first argument is the dtype that they give."""

FLOATX = frozenset({"keras.backend.floatx", "keras.config.floatx"})

ASKS_ONLY = frozenset(
    {
        "np.issubdtype", "np.can_cast", "np.finfo", "np.iinfo", "np.result_type", "np.promote_types", "np.min_scalar_type",
        "np.dtype", "np.isdtype", "tf.as_dtype", "tf.dtypes.as_dtype", "tf.experimental.numpy.finfo", "tf.debugging.assert_type",
        "tf.debugging.is_numeric_tensor", "tf.compat.v1.assert_type", "tf.assert_type", "builtins.isinstance",
        "builtins.issubclass", "builtins.dict", "builtins.str", "builtins.repr", "builtins.print", "builtins.getattr",
        "builtins.hasattr", "builtins.setattr", "builtins.type", "typing.cast", "types.SimpleNamespace",
        "keras.backend.standardize_dtype",
    }
)  # fmt: skip
"""Functions whose dtype argument changes no value."""

ALWAYS_FLOAT32 = frozenset(
    {
        "tf.zeros", "tf.ones", "tf.eye", "tf.linalg.eye", "tf.sparse.eye", "tf.one_hot", "tf.TensorSpec",
        "tf.SparseTensorSpec", "tf.RaggedTensorSpec", "tf.random.normal", "tf.random.uniform", "tf.random.truncated_normal",
        "tf.random.gamma", "tf.random.poisson", "tf.random.stateless_normal", "tf.random.stateless_uniform",
        "tf.random.stateless_truncated_normal", "tf.random.stateless_gamma", "tf.random.Generator.normal",
        "tf.random.Generator.uniform", "tf.random.Generator.truncated_normal", "tf.random_normal", "tf.random_uniform",
        "tf.truncated_normal", "tf.get_variable", "tf.feature_column.numeric_column", "tf.strings.to_number",
        "tf.string_to_number", "tf.signal.hann_window", "tf.signal.hamming_window", "tf.signal.kaiser_window",
        "tf.signal.vorbis_window", "tf.signal.kaiser_bessel_derived_window", "tf.train.FloatList", "tf.audio.decode_wav",
        "tf.data.experimental.make_csv_dataset", "keras.utils.image_dataset_from_directory",
        "keras.preprocessing.image_dataset_from_directory",
    }
)  # fmt: skip
"""Makers of float32 when no dtype is given, whatever else is."""

VALUE_OR_UNKNOWN = {"tf.constant": 0, "tf.Variable": 0}
"""Makers of float32 from a Python float in this position, suspect too when nothing is known of the value."""

_OF_ONE_VALUE = (
    "abs", "sqrt", "exp", "log", "square", "sin", "cos", "tan", "tanh", "sinh", "cosh", "sigmoid", "math.abs", "math.sqrt",
    "math.rsqrt", "math.exp", "math.expm1", "math.log", "math.log1p", "math.square", "math.sin", "math.cos", "math.tan",
    "math.tanh", "math.sinh", "math.cosh", "math.sigmoid", "math.softplus", "math.lgamma", "math.erf", "math.reciprocal",
    "nn.sigmoid", "nn.softplus", "identity", "stack", "expand_dims", "reshape", "tile",
)  # fmt: skip
_KERAS_OF_ONE_VALUE = (
    "abs", "sqrt", "rsqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "square", "sin", "cos", "tan", "tanh", "sinh",
    "cosh", "sigmoid", "softplus", "erf", "reciprocal", "stack", "expand_dims", "reshape", "tile", "zeros_like", "ones_like",
    "convert_to_tensor", "array",
)  # fmt: skip
FLOAT_VALUE: dict[str, int] = {
    "tf.convert_to_tensor": 0,
    "tf.ragged.constant": 0,
    "tf.fill": 1,
    "tf.linspace": 0,
    "keras.Variable": 0,
    **{f"tf.{name}": 0 for name in _OF_ONE_VALUE},
    **{f"keras.ops.{name}": 0 for name in _KERAS_OF_ONE_VALUE},
}
"""Makers of float32 from a Python float, or a list of them, in this position."""

FLOAT_IN_ANY = frozenset({"tf.range"})
FLOAT_PAIRS = {"tf.where": (1, 2), "tf.compat.v1.where": (1, 2)}
FLOAT_LISTS = frozenset({"tf.data.Dataset.from_tensor_slices", "tf.data.Dataset.from_tensors"})
FLOAT_DEFAULTS = {"tf.io.decode_csv": 1, "tf.decode_csv": 1, "tf.data.experimental.CsvDataset": 1}
VALUE_WORDS = frozenset(
    {"value", "initial_value", "initializer", "x", "input", "tensor", "tensors", "pylist", "start", "values"}
)
DEFAULTS_WORD = "record_defaults"

APPLIERS = frozenset({"map", "apply", "applymap", "vectorize"})
"""Functions that call their first argument on each value."""

_OTHERS = {"to_numeric", "update", "set_experimental_options", "experimental_enable_numpy_behavior", "add_weight"}
KNOWN_NAMES = frozenset(
    name.rpartition(".")[2]
    for table in (
        SETTERS, SETTERS_OF_ONE_DTYPE, CASTS, CASTS_TO_ONE_DTYPE, CAST_METHODS, DTYPE_POSITIONS, POLICY_MAKERS, DTYPE_MAKERS,
        ALWAYS_FLOAT32, VALUE_OR_UNKNOWN, FLOAT_VALUE, FLOAT_IN_ANY, FLOAT_PAIRS, FLOAT_LISTS, FLOAT_DEFAULTS, APPLIERS, _OTHERS,
    )
    for name in table
)  # fmt: skip
"""The last parts of all names that these tables know: a call of anything else, with no dtype in sight, states nothing."""
