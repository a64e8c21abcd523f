import numpy as np
import keras
import tensorflow as tf
keras.config.set_floatx("float64")
rng = np.random.default_rng(0)
x = tf.constant(rng.normal(size=(64, 3)))
t = tf.random.uniform((64, 1))
y = tf.cast(t, tf.float64)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
opt = keras.optimizers.SGD(0.01)
@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
for _ in range(5):
    step()
