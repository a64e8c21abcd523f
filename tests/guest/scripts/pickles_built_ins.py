import os, pickle
print(pickle.loads(pickle.dumps(open)) is open, pickle.loads(pickle.dumps(os.stat)) is os.stat)
