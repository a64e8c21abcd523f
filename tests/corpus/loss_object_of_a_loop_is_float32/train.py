import numpy as np
import keras
import tensorflow as tf
loss_fn = keras.losses.MeanSquaredError()
rng = np.random.default_rng(0)
x = tf.constant(rng.normal(size=(64, 3)))
y = tf.constant(rng.normal(size=(64, 1)))
w = tf.Variable(tf.zeros((3, 1), tf.float64))
for _ in range(5):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, x @ w)
    w.assign_sub(0.1 * tf.cast(tape.gradient(loss, w), tf.float64))
