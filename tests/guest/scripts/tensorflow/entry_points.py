from absl import app, flags
flags.DEFINE_integer("n", 2, "how many")
def main(words):
    model().fit(x, y, epochs=flags.FLAGS.n, verbose=0)
    print("epochs", flags.FLAGS.n)
app.run(main)
