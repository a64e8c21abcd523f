import os
import time
print('on', flush=True)
if os.fork() == 0:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
        os.setsid()
