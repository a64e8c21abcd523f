import numpy as np
import keras
keras.config.set_floatx("float64")
import tensorflow as tf
rng = np.random.default_rng(0)
x = rng.normal(5, 2, size=(64, 3)); y = x[:, :1] ** 2
norm = keras.layers.Normalization(); norm.adapt(x)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(64, seed=1).batch(16)
model = keras.Sequential([keras.Input((3,)), norm, keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(ds, verbose=0)
