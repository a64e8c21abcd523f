import os
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

tfd = tfp.distributions
y = tf.constant(np.random.default_rng(0).normal(2.0, 1.0, 200))
loc = tf.Variable(0.0, dtype=tf.float64)
raw = tf.Variable(0.0, dtype=tf.float64)
opt = tf.keras.optimizers.SGD(1e-3)

@tf.function
def step():
    with tf.GradientTape() as tape:
        d = tfd.Normal(loc, tf.nn.softplus(raw) + tf.constant(1e-6, tf.float64))
        nll = -tf.reduce_sum(d.log_prob(y))
    opt.apply_gradients(zip(tape.gradient(nll, [loc, raw]), [loc, raw]))
    return nll

for _ in range(20):
    print(float(step()))
