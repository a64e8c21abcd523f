from pathlib import Path
p = Path('out') / 'a.txt'
p.parent.mkdir(parents=True)
p.write_text('x')
p.rename('b.txt')
print(sorted(map(str, Path('.').rglob('*'))), Path('b.txt').exists(), p.exists())
