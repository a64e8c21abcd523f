import sys, threading
t = threading.Thread(target=sys.exit)
t.start(); t.join()
print('on')
