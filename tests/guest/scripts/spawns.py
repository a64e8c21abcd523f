import multiprocessing as m
def f(x): return x * 2
if __name__ == '__main__':
    with m.get_context('spawn').Pool(2) as p: print(p.map(f, [1, 2]))
