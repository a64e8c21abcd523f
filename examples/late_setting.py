"""Fits a damped oscillation, and asks for double precision when the first layers exist already."""

import keras
import numpy as np

keras.utils.set_random_seed(7)

moment = keras.Input((1,))
hidden = keras.layers.Dense(32, activation="tanh")(moment)
hidden = keras.layers.Dense(32, activation="tanh")(hidden)

keras.config.set_floatx("float64")

time = np.linspace(0.0, 4.0, 512).reshape(-1, 1)
displacement = np.exp(-0.5 * time) * np.cos(2.0 * np.pi * time)

model = keras.Model(moment, keras.layers.Dense(1, name="amplitude")(hidden))
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
history = model.fit(time, displacement, epochs=20, batch_size=64, verbose=0)

print("loss:", history.history["loss"][-1])
print("dtypes of the weights:", sorted({str(weight.dtype) for weight in model.weights}))
