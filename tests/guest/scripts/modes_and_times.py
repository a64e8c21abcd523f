import os
os.chmod('precious.txt', 0o600)
os.utime('precious.txt', (1, 1))
print(oct(os.stat('precious.txt').st_mode), os.stat('precious.txt').st_mtime)
os.truncate('precious.txt', 1)
print(open('precious.txt').read())
