print('before', flush=True)
while True:
    try:
        while True: pass
    except BaseException: pass
