import os
for act in (lambda: open('no/x', 'w'), lambda: open('data', 'w'), lambda: os.mkdir('data'), lambda: os.remove('no'), lambda: os.rmdir('data'), lambda: os.rename('no', 'x'), lambda: open('precious.txt', 'x'), lambda: open('\0', 'w'), lambda: open('', 'w'), lambda: os.listdir('precious.txt')):
    try: act()
    except Exception as e: print(type(e).__name__, e)
