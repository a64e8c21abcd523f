import numpy as np
import keras
keras.config.set_floatx("float64")
rng = np.random.default_rng(0)
a = rng.normal(size=(64, 2))
t = rng.random(64, dtype=np.float32)
x = np.column_stack([a, t])
y = x.sum(axis=1, keepdims=True)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, verbose=0)
