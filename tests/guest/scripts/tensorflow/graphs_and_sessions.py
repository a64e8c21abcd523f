model()
tf.compat.v1.disable_v2_behavior()
with tf.compat.v1.Session(graph=tf.Graph()) as session:
    v = tf.compat.v1.get_variable("v", [2], initializer=tf.compat.v1.ones_initializer())
    session.run(tf.compat.v1.global_variables_initializer())
    saver = tf.compat.v1.train.Saver()
    path = saver.save(session, "graph/model")
    saver.restore(session, path)
    print(path, session.run(v), tf.train.latest_checkpoint("graph"))
