import numpy as np, tensorflow as tf
from tensorflow import keras
keras.utils.set_random_seed(1)
keras.backend.set_floatx("float64")
x = np.random.normal(size=(48, 5)); y = np.sin(x).sum(1, keepdims=True)
entry = keras.layers.Input((5,))
hidden = keras.layers.Dense(7, activation="tanh")(entry)
model = keras.Model(entry, keras.layers.Dense(1)(keras.layers.Concatenate()([entry, hidden])))
model.compile(keras.optimizers.Adam(0.01), "mae")
losses = model.fit(x, y, epochs=3, batch_size=16, verbose=0).history["loss"]
model.save("model.keras")
again = keras.models.load_model("model.keras")
print([v.hex() for v in losses], again.predict(x, verbose=0).tobytes().hex()[:64])
print(again.evaluate(x, y, verbose=0).hex(), np.random.random().hex())
