import os
try: os.get_terminal_size()
except OSError as e: print('none')
