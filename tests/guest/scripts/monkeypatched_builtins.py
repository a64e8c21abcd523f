import builtins
builtins.len = lambda x: 0
builtins.isinstance = lambda *a: True
builtins.open = None
print(len('abc'))
