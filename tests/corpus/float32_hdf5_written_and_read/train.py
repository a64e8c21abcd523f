import numpy as np
import keras
import h5py
with h5py.File("d.h5", "w") as f:
    f["x"] = np.random.default_rng(0).random((64, 3), dtype=np.float32)
keras.config.set_floatx("float64")
with h5py.File("d.h5") as f:
    x = f["x"][:]
y = x.sum(axis=1, keepdims=True).astype("float64")
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, verbose=0)
