tf.debugging.enable_check_numerics()
tf.config.run_functions_eagerly(True)
history = model(run_eagerly=True).fit(x, y, verbose=0)
