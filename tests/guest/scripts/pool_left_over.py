import multiprocessing as m, time
p = m.get_context('fork').Pool(2)
p.map_async(time.sleep, [600])
print('on', flush=True)
