model().fit(x, y, verbose=0)
print("trained", flush=True)
while True: pass
