import numpy as np
import keras
import tensorflow as tf
d = tf.float64
w1 = keras.layers.Dense(4, activation="tanh", dtype="float64")
w2 = keras.layers.Dense(1, dtype="float64")
rng = np.random.default_rng(0)
x = tf.constant(rng.normal(size=(64, 3))); y = tf.constant(rng.normal(size=(64, 1)))
w2(w1(x))
vs = w1.trainable_variables + w2.trainable_variables
opt = keras.optimizers.Adam(1e-3)
for _ in range(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((w2(w1(x)) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, vs), vs))
