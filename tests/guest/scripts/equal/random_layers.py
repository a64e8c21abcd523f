import numpy as np, tensorflow as tf
from tensorflow import keras
keras.utils.set_random_seed(3)
x = np.random.uniform(size=(24, 8, 8, 3)); y = np.random.randint(0, 3, 24)
model = keras.Sequential([keras.layers.Input((8, 8, 3)), keras.layers.RandomFlip(seed=1), keras.layers.GaussianNoise(0.1),
    keras.layers.Conv2D(4, 3), keras.layers.BatchNormalization(), keras.layers.Dropout(0.3), keras.layers.Flatten(), keras.layers.Dense(3)])
model.compile("rmsprop", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
print(model.fit(x, y, epochs=2, batch_size=8, verbose=0).history)
print([w.tobytes().hex()[:32] for w in model.get_weights()])
