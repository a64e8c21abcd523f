import tensorflow as tf
generator = tf.random.Generator.from_seed(6)
weight = tf.Variable(generator.normal([3], dtype=tf.float64))
manager = tf.train.CheckpointManager(tf.train.Checkpoint(w=weight, g=generator), "states", max_to_keep=2)
for step in range(4):
    with tf.GradientTape() as tape: loss = tf.reduce_sum(tf.square(weight - generator.normal([3], dtype=tf.float64)))
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
    manager.save()
    print(float(loss).hex(), [path.split("/")[-1] for path in manager.checkpoints])
weight.assign(tf.zeros_like(weight))
manager.checkpoint.restore(manager.latest_checkpoint)
print(weight.numpy().tobytes().hex(), generator.uniform([1], dtype=tf.float64).numpy().tobytes().hex())
