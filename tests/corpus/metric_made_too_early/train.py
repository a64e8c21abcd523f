import numpy as np
import keras
err = keras.metrics.MeanAbsoluteError()
keras.config.set_floatx("float64")
x = np.random.default_rng(0).normal(size=(64, 3))
y = x.sum(axis=1, keepdims=True)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("adam", "mse", metrics=[err])
model.fit(x, y, verbose=0)
