import glob, os
open('data/new', 'w').close()
print([sorted(f) for _, _, f in os.walk('.')], sorted(glob.glob('**/*', recursive=True)))
with os.scandir('data') as s: print(sorted((e.name, e.is_file(), e.stat().st_size) for e in s))
