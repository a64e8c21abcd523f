from concurrent.futures import *
if __name__ == '__main__':
    with ProcessPoolExecutor(2) as e: print(list(e.map(abs, [-1, -2])))
    with ThreadPoolExecutor(2) as e: print(list(e.map(abs, [-1])))
