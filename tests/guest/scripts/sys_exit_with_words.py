import sys
print('before')
sys.exit('no data')
