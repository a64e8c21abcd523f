import numpy as np
import keras
import pandas as pd
keras.config.set_floatx("float64")
t = pd.DataFrame(np.random.default_rng(0).normal(size=(64, 4)), columns=list("abcy"))
t.to_csv("t.csv")
t = pd.read_csv("t.csv", dtype=np.float32)
x = t[["a", "b", "c"]]
y = t[["y"]].astype("float64")
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, verbose=0)
