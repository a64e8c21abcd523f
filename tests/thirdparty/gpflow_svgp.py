import numpy as np
import tensorflow as tf
import gpflow

rng = np.random.default_rng(1)
X = rng.uniform(0, 1, (200, 1))
Y = np.sin(8 * X) + 0.1 * rng.normal(size=X.shape)
Z = X[:20].copy()
model = gpflow.models.SVGP(gpflow.kernels.Matern52(), gpflow.likelihoods.Gaussian(), Z, num_data=200)
data = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().shuffle(200, seed=3).batch(32)
loss = model.training_loss_closure(iter(data), compile=True)
adam = tf.optimizers.Adam(0.01)

@tf.function
def step():
    with tf.GradientTape() as tape:
        value = loss()
    grads = tape.gradient(value, model.trainable_variables)
    adam.apply_gradients(zip(grads, model.trainable_variables))
    return value

for i in range(20):
    v = step()
print(float(v))
