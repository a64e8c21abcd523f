import numpy as np
import keras
keras.config.set_floatx("float64")
x = np.random.default_rng(0).normal(size=(64, 3))
y = x.sum(axis=1, keepdims=True)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="gelu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(1e-3, 100)), "mse", metrics=["mae"])
model.fit(x, y, verbose=0, validation_split=0.2)
model.save_weights("w.weights.h5"); model.load_weights("w.weights.h5")
print(model.predict(x[:3], verbose=0))
