import subprocess, sys
subprocess.run([sys.executable, '-c', 'open("precious.txt", "w").write("child")'], check=True)
print(open('precious.txt').read())
subprocess.run([sys.executable, '-c', 'print(open("precious.txt").read())'], env={'A': '1'})
