import os
os.remove('precious.txt')
print(os.path.exists('precious.txt'))
open('precious.txt')
