import numpy as np
import keras
keras.config.set_floatx("float64")
rng = np.random.default_rng(0)
seqs = [list(rng.normal(size=rng.integers(1, 4))) for _ in range(64)]
seqs = [[float(v) * 10 for v in s] for s in seqs]
x = keras.utils.pad_sequences(seqs, maxlen=3)
y = rng.normal(size=(64, 1))
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, verbose=0)
