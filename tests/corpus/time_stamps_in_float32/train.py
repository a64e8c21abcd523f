import numpy as np
import keras
keras.config.set_floatx("float64")
t = 1.7e9 + np.arange(64) * 0.37
sec = t.astype("float32")
x = np.stack([sec, np.sin(t), np.cos(t)], axis=1)
y = x.sum(axis=1, keepdims=True)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, verbose=0)
