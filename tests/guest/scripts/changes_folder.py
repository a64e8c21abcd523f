import os
here = os.getcwd()
os.makedirs('a/b')
os.chdir('a/b')
open('c', 'w').close()
print(os.path.relpath(os.getcwd(), here), os.listdir('.'), os.path.exists('../../data/numbers.csv'))
os.chdir('../..')
print(os.getcwd() == here, sorted(os.listdir('.')))
