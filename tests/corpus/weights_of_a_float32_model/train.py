import numpy as np
import keras
small = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(1)])
small.save_weights("s.weights.h5")
keras.config.set_floatx("float64")
keras.config.set_dtype_policy("float64")
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(1)])
model.load_weights("s.weights.h5")
x = np.random.default_rng(0).normal(size=(64, 3))
print(model.predict(x, verbose=0)[:2])
