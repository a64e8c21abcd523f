line = 'x' * 1000
for i in range(100_000): print(line)
print('last')
