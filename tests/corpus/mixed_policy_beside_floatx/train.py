import numpy as np
import keras
keras.mixed_precision.set_global_policy("mixed_float16")
keras.config.set_floatx("float64")
x = np.random.default_rng(0).normal(size=(64, 3))
y = x.sum(axis=1, keepdims=True)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, verbose=0)
