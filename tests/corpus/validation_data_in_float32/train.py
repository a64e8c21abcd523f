import numpy as np
import keras
keras.config.set_floatx("float64")
rng = np.random.default_rng(0)
x = rng.normal(size=(64, 3)); y = x.sum(axis=1, keepdims=True)
xv = rng.normal(size=(16, 3)).astype("float32"); yv = xv.sum(axis=1, keepdims=True)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, validation_data=(xv, yv), verbose=0)
