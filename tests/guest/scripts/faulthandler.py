import faulthandler, ctypes
faulthandler.enable()
print('before', flush=True)
ctypes.string_at(0)
