import numpy as np
import keras
import tensorflow as tf
keras.config.set_floatx("float64")
rng = np.random.default_rng(0)
x = tf.constant(rng.normal(size=(64, 3)))
y = tf.constant(np.float32(rng.normal(size=(64, 1))).astype("float64"))
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
opt = keras.optimizers.SGD(0.01)
for _ in range(5):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
