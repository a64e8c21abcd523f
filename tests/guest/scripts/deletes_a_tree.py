import os, shutil
shutil.rmtree('data')
print(os.path.isdir('data'), os.listdir('.'))
os.makedirs('data')
print(os.listdir('data'))
