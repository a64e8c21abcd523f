import numpy as np, pandas as pd
rng = np.random.default_rng(8); np.random.seed(8)
table = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc"))
table.to_csv("t.csv", index=False); np.savez("t.npz", x=table.to_numpy()); np.save("t.npy", table.a)
print(pd.read_csv("t.csv").sum().map(float.hex).to_dict(), np.load("t.npz")["x"].tobytes().hex()[:64])
print(np.load("t.npy", mmap_mode="r")[:2].tobytes().hex(), rng.random().hex(), np.random.random().hex())
