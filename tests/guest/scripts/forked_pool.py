import multiprocessing as m
def f(x): return x * 2
with m.get_context('fork').Pool(2) as p: print(p.map(f, [1, 2]))
