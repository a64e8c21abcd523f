import tensorflow as tf
tf.random.set_seed(2)
rows = tf.data.Dataset.range(40).map(lambda i: tf.cast(i, tf.float64) / 7).shuffle(40, seed=3).batch(6)
with tf.io.TFRecordWriter("rows.tfrecord") as writer:
    for batch in rows: writer.write(tf.io.serialize_tensor(batch).numpy())
read = tf.data.TFRecordDataset(["rows.tfrecord"]).map(lambda r: tf.io.parse_tensor(r, tf.float64))
for batch in read: print(batch.numpy().tobytes().hex()[:80])
print(tf.random.uniform([2], dtype=tf.float64).numpy().tobytes().hex(), sorted(tf.io.gfile.listdir(".")))
