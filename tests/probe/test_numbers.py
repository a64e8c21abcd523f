"""The mantissas tell whether values have been through float32."""

from __future__ import annotations

import math

import pytest

from f64doctor.probe.numbers import bits_of, describe_array, describe_floats, rounded


@pytest.mark.parametrize(
    ("value", "bits"), [(0.0, 0), (1.0, 1), (0.75, 2), (255.0, 8), (math.pi, 50), (rounded(0.1), 24), (float("nan"), 0)]
)
def test_the_bits_of_a_number_are_counted(value: float, bits: int) -> None:
    assert bits_of(value) == bits


def test_numbers_that_went_through_float32_are_exact_and_use_24_bits() -> None:
    facts = describe_floats([rounded(0.1 * n) for n in range(1, 50)])
    assert facts["nontrivial"] == facts["exact"] > 0
    assert facts["bits"] == 24
    assert facts["max_relative_error"] == 0.0


def test_integers_and_pixels_prove_nothing() -> None:
    facts = describe_floats([float(n) for n in range(256)] + [n / 256 for n in range(256)])
    assert facts["nontrivial"] == 0


def test_doubles_lose_half_a_float32_ulp_at_most() -> None:
    facts = describe_floats([0.1 * n for n in range(1, 1000)])
    assert 0.5 * 2**-24 < facts["max_relative_error"] <= 2**-24


def test_audio_of_24_bits_is_fixed_point() -> None:
    facts = describe_floats([n / 2**23 for n in range(1, 2**23, 65_537)])
    assert facts["fixed_point"]


def test_arrays_and_lists_are_described_alike() -> None:
    np = pytest.importorskip("numpy")
    values = np.random.default_rng(0).normal(size=500)
    assert describe_array(values) == pytest.approx(describe_floats(values.tolist()))
    laundered = values.astype("float32").astype("float64")
    facts = describe_array(laundered)
    assert facts is not None
    assert facts["exact"] == facts["nontrivial"]
