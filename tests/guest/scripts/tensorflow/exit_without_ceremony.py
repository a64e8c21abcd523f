model().fit(x, y, verbose=0)
os._exit(3)
