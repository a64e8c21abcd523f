import sys
print(repr(sys.stdin.read()))
print()
try: input('really? ')
except EOFError: print('\nnobody')
