"""Solves a small boundary value problem; the layer that maps coordinates to Fourier features casts them to single precision."""

import keras
import numpy as np
import tensorflow as tf

keras.config.set_floatx("float64")
keras.utils.set_random_seed(5)


class FourierFeatures(keras.layers.Layer):
    def __init__(self, frequencies, **options):
        super().__init__(**options)
        self.frequencies = frequencies

    def call(self, inputs):
        phase = 2.0 * np.pi * tf.cast(inputs, tf.float32) * np.arange(1, self.frequencies + 1)
        return tf.cast(tf.concat([tf.sin(phase), tf.cos(phase)], axis=-1), self.compute_dtype)


x = np.random.default_rng(2).uniform(size=(512, 1))
y = np.sin(2.0 * np.pi * x) + 0.1 * np.cos(6.0 * np.pi * x)

model = keras.Sequential([keras.Input((1,)), FourierFeatures(8), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="mse")
model.fit(x, y, epochs=10, batch_size=64, verbose=0)

features = np.asarray(model.layers[0](x))
phase = 2.0 * np.pi * x * np.arange(1, 9)
print("dtype of the features:", features.dtype)
print("largest error of a feature:", np.abs(features - np.concatenate([np.sin(phase), np.cos(phase)], axis=1)).max())
