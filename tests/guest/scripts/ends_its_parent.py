import os, signal
os.kill(os.getppid(), signal.SIGTERM)
print('after')
