import sys
class Leave(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None): sys.exit(6)
model().fit(x, y, verbose=0, callbacks=[Leave()])
