import os
print(os.environ['MPLBACKEND'])
