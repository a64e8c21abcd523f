import ctypes
class Fatal(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 1: ctypes.string_at(0)
model().fit(x, y, verbose=0, callbacks=[Fatal()])
