import os
os.rename('data', 'datum')
print(os.listdir('datum'), os.path.exists('data'))
