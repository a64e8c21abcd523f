import os
d = os.open('data', os.O_RDONLY)
f = os.open('numbers.csv', os.O_WRONLY | os.O_TRUNC, dir_fd=d)
os.write(f, b'9'); os.close(f)
print(open('data/numbers.csv').read())
os.unlink('numbers.csv', dir_fd=d)
print(os.path.exists('data/numbers.csv'))
