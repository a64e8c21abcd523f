import os
os.environ["DDE_BACKEND"] = "tensorflow"
import deepxde as dde
import numpy as np

dde.config.set_default_float("float64")

def ode(t, y):
    return dde.grad.jacobian(y, t) + y

geom = dde.geometry.TimeDomain(0, 2)
ic = dde.icbc.IC(geom, lambda t: np.ones((len(t), 1)), lambda _, on_initial: on_initial)
data = dde.data.PDE(geom, ode, ic, 30, 2, num_test=50)
net = dde.nn.FNN([1, 20, 1], "tanh", "Glorot normal")
model = dde.Model(data, net)
model.compile("adam", lr=0.01)
model.train(iterations=15, display_every=5)
