import sys
for i in range(1000): sys.stdout.write('y' * 100_000)
print()
print('last')
