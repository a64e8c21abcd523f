import os
os.symlink('data', 'latest')
open('latest/x', 'w').write('1')
print(os.listdir('latest'), open('data/x').read(), os.readlink('latest'))
os.link('precious.txt', 'twin')
open('twin', 'a').write('+')
print(open('twin').read())
