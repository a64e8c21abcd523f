"""Prepares surveyed points for a model."""

import numpy as np


def points(count, seed):
    """Eastings and northings in metres, and heights above the ellipsoid: arrays (count, 2) and (count, 1), float64."""
    rng = np.random.default_rng(seed)
    corner = np.array([432_000.0, 5_411_000.0])
    offsets = rng.uniform(0.0, 500.0, size=(count, 2))
    heights = 210.0 + 0.02 * offsets[:, :1] - 0.01 * offsets[:, 1:]
    return corner + offsets, heights


def standardised(columns):
    """The columns with mean 0 and standard deviation 1."""
    columns = columns.astype("float32")
    return ((columns - columns.mean(axis=0)) / columns.std(axis=0)).astype("float64")
