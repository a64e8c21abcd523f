import os, tempfile
f = tempfile.NamedTemporaryFile('w', dir='.', delete=False)
f.write('new'); f.close()
os.replace(f.name, 'precious.txt')
print(open('precious.txt').read(), sorted(os.listdir('.')))
