import numpy as np
import keras
keras.config.set_floatx("float64")
import tensorflow as tf
rng = np.random.default_rng(0)
x = tf.constant(rng.normal(size=(64, 3))); y = tf.constant(rng.normal(size=(64, 1)))
w = tf.Variable(tf.random.normal((3, 1)))
b = tf.Variable(tf.zeros((1,), tf.float64))
for _ in range(5):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ tf.cast(w, tf.float64) + b - y) ** 2)
    g = tape.gradient(loss, [w, b])
    w.assign_sub(0.1 * g[0]); b.assign_sub(0.1 * g[1])
