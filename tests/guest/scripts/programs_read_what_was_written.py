import subprocess
open('x.txt', 'w').write('here')
print(subprocess.run(['cat', 'x.txt'], capture_output=True, text=True).stdout)
