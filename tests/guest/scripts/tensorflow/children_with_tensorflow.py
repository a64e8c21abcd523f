import subprocess, sys
model().fit(x, y, verbose=0)
child = "import tensorflow as tf; tf.io.write_file('from_child.txt', str(tf.constant(2.0).numpy()))"
print(subprocess.run([sys.executable, "-c", child], stderr=subprocess.DEVNULL).returncode)
print(open("from_child.txt").read())
if os.fork() == 0:
    print("forked", flush=True)
    os._exit(0)
os.wait()
