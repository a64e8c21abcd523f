import os, pathlib
p = pathlib.Path.home() / '.f64doctor-test-cache'
p.mkdir(exist_ok=True)
(p / 'x').write_text('1')
print((p / 'x').read_text())
