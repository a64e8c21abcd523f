import os
os.rename('data/numbers.csv', 'precious.txt')
print(open('precious.txt').read(), os.listdir('data'))
