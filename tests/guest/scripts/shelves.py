import shelve
with shelve.open('shelf') as s: s['a'] = 1
print('on')
