import numpy as np
import keras
import tensorflow as tf
keras.config.set_floatx("float64")
pts = tf.linspace(0.0, 1.0, 50)
pts = tf.cast(tf.reshape(pts, (-1, 1)), tf.float64)
net = keras.Sequential([keras.Input((1,)), keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
opt = keras.optimizers.Adam(1e-3)
@tf.function
def step(p):
    with tf.GradientTape() as tape:
        with tf.GradientTape() as t2:
            t2.watch(p)
            u = net(p)
        du = t2.gradient(u, p)
        loss = tf.reduce_mean((du - tf.cos(p)) ** 2)
    g = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(g, net.trainable_variables))
    return loss
for i in range(5):
    print(float(step(pts)))
