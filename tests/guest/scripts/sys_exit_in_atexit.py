import atexit, sys
atexit.register(sys.exit, 4)
print('x')
