from multiprocessing import shared_memory
s = shared_memory.SharedMemory(create=True, size=10)
s.buf[0] = 5
print(s.buf[0])
s.close(); s.unlink()
