open('made.py', 'w').write('X = 6')
import made
print(made.X)
