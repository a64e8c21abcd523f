import ctypes
libc = ctypes.CDLL(None)
libc.unlink(b'precious.txt'); libc.rename(b'data', b'date'); libc.creat(b'precious.txt', 0o600)
print('on')
