import os
os.setpgid(0, 0) if os.getpgid(0) != os.getpid() else None
print('on')
