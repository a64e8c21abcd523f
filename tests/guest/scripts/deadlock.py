import threading
lock = threading.Lock()
lock.acquire()
print('before', flush=True)
lock.acquire()
