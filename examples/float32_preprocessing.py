"""Fits the slope of a terrain; the helper that standardises the coordinates rounds them to single precision first."""

import keras
import numpy as np
from survey.features import points, standardised

keras.config.set_floatx("float64")
keras.utils.set_random_seed(3)

positions, heights = points(count=1024, seed=11)
x = standardised(positions)
y = heights - heights.mean()

model = keras.Sequential(
    [
        keras.Input((2,)),
        keras.layers.Dense(16, activation="tanh"),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="mse")
model.fit(x, y, epochs=10, batch_size=128, verbose=0)

exact = (positions - positions.mean(axis=0)) / positions.std(axis=0)
print("dtype of the features:", x.dtype)
print("largest error of a feature:", np.abs(x - exact).max())
