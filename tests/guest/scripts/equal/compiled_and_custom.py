import tensorflow as tf
@tf.function(jit_compile=True)
def cubed(x): return x * x * tf.exp(x)
@tf.function
def power(x): return tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, v * x), [0, cubed(x)])[1]
@tf.custom_gradient
def clipped(x): return tf.sin(x), lambda g: tf.clip_by_value(g, -0.5, 0.5)
x = tf.constant([1.1, 0.3], tf.float64)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.reduce_sum(clipped(power(x)))
print(float(y).hex(), tape.gradient(y, x).numpy().tobytes().hex())
print(tf.map_fn(lambda v: v * v, x).numpy().tobytes().hex(), tf.autograph.to_code(lambda a: a)[:3] == "def")
