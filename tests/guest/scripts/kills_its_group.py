import os
print('before', flush=True)
os.killpg(0, 9)
