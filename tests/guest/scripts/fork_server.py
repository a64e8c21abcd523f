import multiprocessing as m
def f(x): print('child', x, flush=True)
if __name__ == '__main__':
    p = m.get_context('forkserver').Process(target=f, args=(3,)); p.start(); p.join()
