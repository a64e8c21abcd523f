import os
os.remove(__file__)
print(os.path.exists(__file__))
