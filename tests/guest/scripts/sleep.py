import time
print('before', flush=True)
time.sleep(600)
