def f(): return f()
print('before')
f()
