import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
tf.set_random_seed(7)
x = tf.random.normal([5, 2], dtype=tf.float64, seed=1)
w = tf.get_variable("w", [2, 1], tf.float64, tf.ones_initializer())
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
saver = tf.train.Saver()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(4): print(float(session.run([loss, train])[0]).hex())
    print(saver.save(session, "./old", global_step=4), session.run(w).tobytes().hex(), tf.train.latest_checkpoint("."))
raise SystemExit(2)
