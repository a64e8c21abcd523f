import sys
seen = []
sys.settrace(lambda f, e, a: seen.append(f.f_code.co_name))
def g(): pass
g()
sys.settrace(None)
print('g' in seen)
