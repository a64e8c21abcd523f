"""Fits a smooth surface in double precision throughout: settings, data, layers and loss agree."""

import keras
import numpy as np

keras.config.set_floatx("float64")
keras.utils.set_random_seed(1)

rng = np.random.default_rng(0)
x = rng.uniform(-1.0, 1.0, size=(1024, 2))
y = np.sin(3.0 * x[:, :1]) * np.exp(-(x[:, 1:] ** 2))

model = keras.Sequential(
    [
        keras.Input((2,)),
        keras.layers.Dense(32, activation="tanh"),
        keras.layers.Dense(32, activation="tanh"),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
model.fit(x, y, epochs=5, batch_size=128, verbose=0)

weights = [np.asarray(weight) for weight in model.get_weights()]
hidden = np.tanh(np.tanh(x @ weights[0] + weights[1]) @ weights[2] + weights[3])
by_hand = hidden @ weights[4] + weights[5]
print("largest difference from NumPy:", np.abs(model.predict(x, verbose=0) - by_hand).max())
