import os
os.environ["DDE_BACKEND"] = "tensorflow"
import deepxde as dde
import numpy as np
import tensorflow as tf

dde.config.set_default_float("float64")
dde.config.set_random_seed(1)

def pde(x, y):
    dy_xx = dde.grad.hessian(y, x)
    return -dy_xx - np.pi**2 * tf.sin(np.pi * x)

def boundary(x, on_boundary):
    return on_boundary

geom = dde.geometry.Interval(-1, 1)
bc = dde.icbc.DirichletBC(geom, lambda x: np.sin(np.pi * x), boundary)
data = dde.data.PDE(geom, pde, bc, 16, 2, solution=lambda x: np.sin(np.pi * x), num_test=20)
net = dde.nn.FNN([1] + [20] * 2 + [1], "tanh", "Glorot uniform")
model = dde.Model(data, net)
model.compile("adam", lr=0.001)
losshistory, train_state = model.train(iterations=20, display_every=10)
print(losshistory.loss_train[-1])
