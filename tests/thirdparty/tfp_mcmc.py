import os
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

tfd = tfp.distributions
obs = np.random.default_rng(0).normal(1.5, 0.7, 100)

@tf.function
def log_prob(mu, log_sigma):
    prior = tfd.Normal(np.float64(0.0), np.float64(3.0)).log_prob(mu) + tfd.Normal(np.float64(0.0), np.float64(1.0)).log_prob(log_sigma)
    return prior + tf.reduce_sum(tfd.Normal(mu, tf.exp(log_sigma)).log_prob(obs))

kernel = tfp.mcmc.HamiltonianMonteCarlo(log_prob, step_size=np.float64(0.05), num_leapfrog_steps=3)

@tf.function
def run():
    return tfp.mcmc.sample_chain(50, kernel=kernel, current_state=[tf.zeros((), tf.float64), tf.zeros((), tf.float64)], num_burnin_steps=20, trace_fn=None, seed=42)

mu, ls = run()
print(float(tf.reduce_mean(mu)), mu.dtype)
