import os
open(b'caf\xe9', 'wb').write(b'1')
print(b'caf\xe9' in os.listdir(b'.'), os.path.exists(b'caf\xe9'))
open('a b\n', 'w').close()
print(sorted(n for n in os.listdir('.') if n.isprintable()))
