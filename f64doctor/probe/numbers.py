"""What the values of an array tell about the precision that they have been through."""

from __future__ import annotations

import math
import struct
import sys
from typing import Any, Optional

# A sample this large settles the question: that so many float64 values are all float32-exact by chance has probability 0.
SAMPLE = 20_000
TRIVIAL_BITS = 16
# Decimal digits are counted on fewer values: writing a number takes a microsecond.
DECIMALS_SAMPLE = 400
MOST_COLUMNS = 64


def rounded(value: float) -> float:
    """The float64 value of the float32 that is nearest to ``value``; infinity where it overflows."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def bits_of(value: float) -> int:
    """The number of significant bits that a finite float64 uses, from 0 (zero) to 53."""
    if value == 0.0 or not math.isfinite(value):
        return 0
    mantissa = int(math.ldexp(abs(math.frexp(value)[0]), 53))
    return 53 - ((mantissa & -mantissa).bit_length() - 1)


def decimals_of(values: list[float]) -> int:
    """The largest number of significant decimal digits that one of these finite values needs, from 0 to 17: few, when they were read from text with few."""
    most = 0
    for value in values[:DECIMALS_SAMPLE]:
        digits = repr(value).split("e")[0].replace("-", "").replace(".", "").strip("0")
        most = max(most, len(digits))
        if most > 15:
            break
    return most


def describe_floats(values: list[float], size: Optional[int] = None) -> dict[str, Any]:
    """The facts of ``observe.Values`` for a list of Python floats."""
    finite = [float(v) for v in values[:SAMPLE] if isinstance(v, float) and math.isfinite(v) and v != 0.0]
    nontrivial = exact = top = fractional = 0
    quantum = math.inf
    magnitude = relative = absolute = 0.0
    for value in finite:
        bits = bits_of(value)
        near = rounded(value)
        top = max(top, bits)
        quantum = min(quantum, math.frexp(value)[1] - bits)
        magnitude = max(magnitude, abs(value))
        fractional += value != int(value)
        if bits > TRIVIAL_BITS:
            nontrivial += 1
            exact += near == value
        if math.isfinite(near):
            absolute = max(absolute, abs(value - near))
            relative = max(relative, abs(value - near) / abs(value))
    return {
        "size": len(values) if size is None else size,
        "sampled": len(finite),
        "nontrivial": nontrivial,
        "exact": exact,
        "bits": top,
        "fractional": fractional,
        "decimals": decimals_of(finite),
        "fixed_point": bool(len(finite) > 1 and magnitude / 2.0**quantum <= 2.0**24),
        "max_magnitude": magnitude,
        "max_relative_error": relative,
        "max_absolute_error": absolute,
    }


def _laundered_columns(array: Any) -> list[int]:
    """The columns of a float64 matrix all of whose values have been through float32, where others have not."""
    if array.ndim != 2 or array.dtype.itemsize != 8 or not 1 < array.shape[1] <= MOST_COLUMNS:
        return []
    rows = array[:: max(1, array.shape[0] * array.shape[1] // SAMPLE)]
    found = []
    for index in range(array.shape[1]):
        facts = describe_array(rows[:, index])
        if facts is None or facts["nontrivial"] < 16 or facts["bits"] < 20:
            continue
        if facts["exact"] == facts["nontrivial"]:
            found.append(index)
    return found


def describe_array(array: Any) -> Optional[dict[str, Any]]:
    """The facts of ``observe.Values`` for a NumPy array of floats (any shape), from at most ``SAMPLE`` evenly spaced values."""
    np = sys.modules.get("numpy")
    if np is None or array.dtype.kind != "f" or array.dtype.itemsize > 8:
        return None
    size = int(array.size)
    flat = array.reshape(-1) if array.flags.c_contiguous else array.ravel() if size <= 50 * SAMPLE else array.flat
    step = max(1, size // SAMPLE)
    sample = np.asarray(flat[::step], dtype=np.float64)
    with np.errstate(all="ignore"):
        sample = sample[np.isfinite(sample) & (sample != 0.0)]
        count = int(sample.size)
        if count == 0:
            return {"size": size, "sampled": 0, "nontrivial": 0, "exact": 0, "bits": 0}
        near = sample.astype(np.float32).astype(np.float64)
        fraction, exponent = np.frexp(np.abs(sample))
        mantissa = np.ldexp(fraction, 53).astype(np.int64)
        zeros = np.frexp((mantissa & -mantissa).astype(np.float64))[1] - 1
        bits = 53 - zeros
        nontrivial = bits > TRIVIAL_BITS
        error = np.abs(sample - near)
        magnitude = float(np.abs(sample).max())
        quantum = float(np.min(exponent - bits))
        fine = np.isfinite(error)
        exact = int((nontrivial & (near == sample)).sum())
        facts: dict[str, Any] = {
            "size": size,
            "sampled": count,
            "nontrivial": int(nontrivial.sum()),
            "exact": exact,
            "bits": int(bits.max()),
            "fractional": int((sample != np.rint(sample)).sum()),
            "decimals": decimals_of(sample[:: max(1, count // DECIMALS_SAMPLE)].tolist()),
            "fixed_point": bool(count > 1 and math.log2(magnitude) - quantum <= 24.0),
            "max_magnitude": magnitude,
            "max_relative_error": float((error[fine] / np.abs(sample[fine])).max()) if fine.any() else None,
            "max_absolute_error": float(error[fine].max()) if fine.any() else None,
        }
        if 0 < exact < facts["nontrivial"]:
            columns = _laundered_columns(array)
            if columns:
                facts["laundered_columns"] = columns
        return facts
