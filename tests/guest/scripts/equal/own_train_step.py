import numpy as np, tensorflow as tf
from tensorflow import keras
keras.utils.set_random_seed(5)
keras.backend.set_floatx("float64")
class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.seen = keras.metrics.Mean(name="seen")
    def call(self, x): return self.dense(x)
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape: loss = tf.reduce_mean(tf.abs(self(x) - y))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        self.seen.update_state(loss)
        return {"loss": self.seen.result()}
x = np.random.normal(size=(30, 4)); y = x[:, :1]
model = Model(); model.compile("adam")
print([float(v).hex() for v in model.fit(x, y, epochs=3, batch_size=10, verbose=0).history["loss"]], model.dense.kernel.numpy().tobytes().hex())
