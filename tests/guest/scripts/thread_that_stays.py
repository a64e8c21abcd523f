import threading, time
threading.Thread(target=time.sleep, args=(1,)).start()
print('main is over')
