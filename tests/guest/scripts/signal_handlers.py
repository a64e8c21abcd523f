import os, signal
signal.signal(signal.SIGTERM, lambda *a: print('caught', flush=True))
os.kill(os.getpid(), signal.SIGTERM)
print('on')
