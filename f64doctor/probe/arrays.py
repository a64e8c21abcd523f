"""Recognises NumPy arrays, tensors, variables, datasets and frames, and remembers which line made which object."""

from __future__ import annotations

import sys
import weakref
from typing import Any, Callable, Iterator, Optional

from . import numbers

MOST_HASHED = 200_000
FLOATS = ("float64", "float32", "float16", "bfloat16")
_WIDTH = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "half": 2}


def is_narrow(dtype: Optional[str]) -> bool:
    """Whether a dtype's name is a float narrower than float64."""
    return dtype in ("float32", "float16", "bfloat16")


_UNREAD = object()


class Described:
    """An array-like object in words: its kind, dtype name, shape, and access to its values when it has any."""

    __slots__ = ("_facts", "dtype", "kind", "shape", "value")

    def __init__(self, kind: str, dtype: str, shape: Optional[list[Optional[int]]], value: Any = None) -> None:
        self.kind = kind
        self.dtype = dtype
        self.shape = shape
        self.value = value
        self._facts: Any = _UNREAD

    def values(self) -> Optional[dict[str, Any]]:
        """The facts of ``observe.Values``, or None when there are no float values to look at. Looked at once."""
        if self._facts is _UNREAD:
            self._facts = self._read()
        return self._facts  # type: ignore[no-any-return]

    def _read(self) -> Optional[dict[str, Any]]:
        value = self.value
        if value is None:
            return None
        if isinstance(value, float):
            return numbers.describe_floats([value])
        if isinstance(value, list):
            return numbers.describe_floats(value)
        if isinstance(value, _Frame):
            value = value.sample()
        return numbers.describe_array(value) if value is not None else None


def _dims(shape: Any) -> Optional[list[Optional[int]]]:
    try:
        return [None if d is None else int(d) for d in tuple(shape)][:16]
    except (TypeError, ValueError):
        return None


def _dtype_name(dtype: Any) -> str:
    name = getattr(dtype, "name", None)
    return str(name if isinstance(name, str) else dtype)


def _ndarray(value: Any) -> Described:
    return Described("ndarray", value.dtype.name, list(value.shape), value if value.dtype.kind == "f" else None)


def _numpy_scalar(value: Any) -> Described:
    np = sys.modules["numpy"]
    array = np.asarray(value)
    return Described("scalar", array.dtype.name, [], array if array.dtype.kind == "f" else None)


def _eager_tensor(value: Any) -> Described:
    dtype = value.dtype.name
    held = None
    if dtype in ("float64", "float32", "float16"):
        try:
            if "CPU" in value.device or int(value.shape.num_elements() or 0) <= 1_000_000:
                held = value.numpy()
        except Exception:  # noqa: BLE001 - a tensor that cannot be read now has no values to show
            held = None
    np = sys.modules.get("numpy")
    return Described("tensor", dtype, _dims(value.shape), None if held is None or np is None else np.asarray(held))


def _symbolic_tensor(value: Any) -> Described:
    return Described("symbolic", value.dtype.name, _dims(value.shape) if value.shape.rank is not None else None)


def _tf_variable(value: Any) -> Described:
    # Values of a variable are not read: reading is an operation of its own.
    return Described("variable", value.dtype.base_dtype.name, _dims(value.shape))


def _keras_variable(value: Any) -> Described:
    return Described("variable", str(value.dtype), _dims(value.shape))


def _keras_tensor(value: Any) -> Described:
    return Described("symbolic", _dtype_name(value.dtype), _dims(value.shape))


def _dataset(value: Any) -> Described:
    names = []
    for spec in leaves(value.element_spec):
        dtype = getattr(spec, "dtype", None)
        if dtype is not None:
            names.append(_dtype_name(dtype))
    floats = [name for name in names if name in FLOATS]
    return Described("dataset", narrowest(floats) or (names[0] if names else "unknown"), None)


def _frame(value: Any) -> Described:
    dtypes = getattr(value, "dtypes", None)
    if dtypes is None or not hasattr(dtypes, "tolist"):
        names = [_dtype_name(value.dtype)]
    else:
        names = [_dtype_name(dtype) for dtype in dtypes.tolist()]
    floats = [name.lower() for name in names if name.lower() in FLOATS]
    narrow = narrowest(floats)
    return Described("frame", narrow or (names[0] if names else "unknown"), _dims(value.shape), _Frame(value, narrow))


class _Frame:
    """The float columns of a pandas frame or series, read only when their values are asked for."""

    def __init__(self, frame: Any, dtype: Optional[str]) -> None:
        self._frame = frame
        self._dtype = dtype

    def sample(self) -> Any:
        """A NumPy array of the columns that have the narrowest float dtype, from evenly spaced rows; None when there are none."""
        frame = self._frame
        if self._dtype is None:
            return None
        if frame.ndim == 2:
            wanted = [index for index, dtype in enumerate(frame.dtypes.tolist()) if str(dtype).lower() == self._dtype]
            frame = frame.iloc[:: max(1, len(frame) * len(wanted) // numbers.SAMPLE), wanted]
        else:
            frame = frame.iloc[:: max(1, len(frame) // numbers.SAMPLE)]
        return frame.to_numpy(dtype=self._dtype)


def whole_numbers(value: Any) -> Optional[dict[str, Any]]:
    """The facts of ``observe.Values`` for an array, tensor or series of integers, or None when it cannot be read."""
    np = sys.modules.get("numpy")
    if np is None:
        return None
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    elif hasattr(value, "numpy"):
        value = value.numpy()
    if not isinstance(value, (np.ndarray, np.generic)):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        return None
    return (
        numbers.describe_array(array[:: max(1, len(array) // numbers.SAMPLE)].astype(np.float64))
        if array.ndim
        else None
    )


def _sparse_tensor(value: Any) -> Described:
    held = _eager_tensor(value.values) if hasattr(value.values, "numpy") else None
    return Described("sparse", value.dtype.name, _dims(value.shape), None if held is None else held.value)


def _ragged_tensor(value: Any) -> Described:
    flat = value.flat_values
    held = _eager_tensor(flat) if hasattr(flat, "numpy") else None
    return Described("ragged", value.dtype.name, _dims(value.shape), None if held is None else held.value)


def _scipy_sparse(value: Any) -> Described:
    held = getattr(value, "data", None)
    floats = held is not None and getattr(getattr(held, "dtype", None), "kind", "") == "f"
    return Described("sparse", value.dtype.name, _dims(value.shape), held if floats else None)


def _opened_file(value: Any) -> Described:
    """An open HDF5 file, one of its datasets, or an .npz archive: what is read from it has been in a file."""
    dtype = getattr(value, "dtype", None)
    shape = getattr(value, "shape", None)
    return Described("file", _dtype_name(dtype) if dtype is not None else "unknown", _dims(shape))


def narrowest(names: list[str]) -> Optional[str]:
    """The narrowest of some float dtypes' names, or None."""
    return min(names, key=lambda name: _WIDTH.get(name, 9)) if names else None


def leaves(nest: Any) -> Iterator[Any]:
    """The leaves of nested tuples, lists and dicts, in order."""
    if isinstance(nest, dict):
        for key in nest:
            yield from leaves(nest[key])
    elif isinstance(nest, (list, tuple)):
        for item in nest:
            yield from leaves(item)
    else:
        yield nest


def named_leaves(nest: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a nest with their paths, for example ``["a"][0]``. A list of plain numbers is one leaf."""
    if isinstance(nest, dict):
        for key in nest:
            yield from named_leaves(nest[key], "{}[{!r}]".format(path, key))
    elif isinstance(nest, (list, tuple)) and nest and not isinstance(nest[0], (int, float)):
        for index, item in enumerate(nest):
            yield from named_leaves(item, "{}[{}]".format(path, index))
    else:
        yield path, nest


_Describer = Callable[[Any], Described]
_describers: dict[type, Optional[_Describer]] = {}


def _find_describer(kind: type) -> Optional[_Describer]:
    """How objects of this type are described; decided by the types' names along the MRO, so that nothing is imported."""
    for base in kind.__mro__:
        root = base.__module__.split(".", 1)[0]
        name = base.__name__
        if root == "numpy":
            if name == "ndarray":
                return _ndarray
            if name == "generic":
                return _numpy_scalar
            if name == "NpzFile":
                return _opened_file
        elif root == "h5py" and name in ("File", "Group", "Dataset"):
            return _opened_file
        elif root == "scipy" and name in ("spmatrix", "sparray", "_spbase"):
            return _scipy_sparse
        elif root == "tensorflow":
            if name in ("EagerTensor", "_EagerTensorBase"):
                return _eager_tensor
            if name == "SymbolicTensor":
                return _symbolic_tensor
            if name in ("Variable", "BaseResourceVariable"):
                return _tf_variable
            if name == "DatasetV2":
                return _dataset
            if name == "SparseTensor":
                return _sparse_tensor
            if name == "RaggedTensor":
                return _ragged_tensor
            if name == "Tensor":
                return _eager_tensor if hasattr(kind, "numpy") else _symbolic_tensor
        elif root in ("keras", "tf_keras"):
            if name == "KerasTensor":
                return _keras_tensor
            if name == "Variable":
                return _keras_variable
        elif root == "pandas" and name in ("DataFrame", "Series") and kind.__module__.startswith("pandas"):
            return _frame
        elif name == "EagerTensor":
            return _eager_tensor
    return None


def describe(value: Any) -> Optional[Described]:
    """The object in words, or None when it holds no numbers that the doctor follows."""
    kind = type(value)
    try:
        describer = _describers[kind]
    except KeyError:
        describer = _describers[kind] = _find_describer(kind)
    if describer is None:
        return None
    try:
        return describer(value)
    except Exception:  # noqa: BLE001 - an object that resists description is none of our business
        return None


def describe_numbers(value: Any) -> Optional[Described]:
    """Like ``describe``, and Python floats and lists of floats too."""
    if isinstance(value, float):
        return Described("number", "float64", [], value)
    if type(value) in (list, tuple) and value and len(value) <= 1_000_000:
        flat = list(_flat_numbers(value, numbers.SAMPLE))
        if flat and any(isinstance(item, float) for item in flat):
            return Described("list", "float64", [len(value)], [float(item) for item in flat])
        return None
    return describe(value)


def _flat_numbers(nest: Any, most: int) -> Iterator[Any]:
    stack = [iter(nest)]
    while stack and most > 0:
        for item in stack[-1]:
            if isinstance(item, (list, tuple)):
                stack.append(iter(item))
                break
            if isinstance(item, (int, float)) and not isinstance(item, bool):
                most -= 1
                yield item
                if most <= 0:
                    return
            else:
                return
        else:
            stack.pop()


class Makers:
    """Which array event belongs to which object: by identity, through views and variable handles, without keeping anything alive."""

    def __init__(self) -> None:
        self._by_id: dict[int, tuple[Any, int]] = {}
        self._scalars: dict[float, int] = {}
        self._contents: dict[tuple[int, int], int] = {}

    def remember(self, value: Any, serial: int, first: bool = False) -> None:
        """Note that the array event ``serial`` is about this object. ``first``: keep an earlier note."""
        for thing in (value, _handle(value)):
            if thing is None or (first and self._find(thing) is not None):
                continue
            key = id(thing)
            try:
                self._by_id[key] = (weakref.ref(thing, lambda _, key=key: self._by_id.pop(key, None)), serial)  # type: ignore[misc]
            except TypeError:
                continue  # NumPy's scalars can be followed by their values only

    def remember_value(self, value: float, serial: int) -> None:
        """Note which array event made the one float32 number (or float64 number that went through float32) of this value."""
        self._scalars.setdefault(value, serial)

    def remember_content(self, array: Any, serial: int) -> None:
        """Note which array event made a float32 array of this content, for when the object itself is gone."""
        if 1 < array.size <= MOST_HASHED:
            self._contents.setdefault(_content(array), serial)

    def of_content(self, array: Any) -> Optional[int]:
        """The array event of a float32 array, alive or not, with exactly these values."""
        if not 1 < array.size <= MOST_HASHED:
            return None
        np = sys.modules["numpy"]
        return self._contents.get(_content(array.astype(np.float32)))

    def _find(self, thing: Any) -> Optional[int]:
        entry = self._by_id.get(id(thing))
        return entry[1] if entry is not None and entry[0]() is thing else None

    def of(self, value: Any) -> Optional[int]:
        """The serial of the array event for this object or for the array that it is a view of; None when there was none."""
        seen = 0
        thing = value
        while thing is not None and seen < 8:
            found = self._find(thing)
            if found is not None:
                return found
            seen += 1
            thing = getattr(thing, "base", None) if type(thing).__module__ == "numpy" else None
        handle = _handle(value)
        return self._find(handle) if handle is not None else None

    def of_scalar(self, value: float) -> Optional[int]:
        """The array event of a float32 number with exactly this value: scalars lose their identity on the way into a graph."""
        return self._scalars.get(value)

    def arrays(self) -> Iterator[tuple[Any, int]]:
        """The NumPy arrays that are alive, each with its serial."""
        for reference, serial in list(self._by_id.values()):
            thing = reference()
            if thing is not None and type(thing).__module__ == "numpy":
                yield thing, serial


def _content(array: Any) -> tuple[int, int]:
    return int(array.size), hash(array.tobytes())


def _handle(value: Any) -> Any:
    """The resource handle of a variable, or None."""
    described = _describers.get(type(value))
    if described is _tf_variable:
        return getattr(value, "_handle", None)
    if described is _keras_variable:
        return getattr(getattr(value, "_value", None), "_handle", None)
    return None
