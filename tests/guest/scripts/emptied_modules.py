import sys
for name in ('json', 'threading', 'time', 'linecache'): sys.modules[name] = None
print('on')
