model().fit(x, y, verbose=0)
os.abort()
