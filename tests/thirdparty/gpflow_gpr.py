import numpy as np
import gpflow

rng = np.random.default_rng(0)
X = rng.uniform(0, 1, (40, 1))
Y = np.sin(12 * X) + 0.66 * np.cos(25 * X) + 0.1 * rng.normal(size=(40, 1))

model = gpflow.models.GPR((X, Y), kernel=gpflow.kernels.SquaredExponential())
opt = gpflow.optimizers.Scipy()
opt.minimize(model.training_loss, model.trainable_variables, options=dict(maxiter=20))
mean, var = model.predict_f(np.linspace(0, 1, 5)[:, None])
print(mean.numpy().ravel())
