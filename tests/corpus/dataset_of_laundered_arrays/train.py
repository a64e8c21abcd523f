import numpy as np
import keras
import tensorflow as tf
keras.config.set_floatx("float64")
x = np.random.default_rng(0).normal(size=(64, 3)).astype("float32")
y = x.sum(axis=1, keepdims=True).astype("float64")
x = x.astype("float64")
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(ds, verbose=0)
