import os
os.write(1, bytes(range(256)) * 100)
print('\nlast')
