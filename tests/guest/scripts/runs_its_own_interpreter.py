import os, subprocess, sys
open('x.txt', 'w').write('here')
os.symlink(sys.executable, 'python')
print(subprocess.run([sys.executable, '-c', 'import sys, pytest; print(sys.prefix)'], capture_output=True, text=True).stdout.strip() == sys.prefix)
print(os.path.realpath(sys.executable) == os.path.realpath('python'), os.path.samefile(sys.executable, 'python'))
