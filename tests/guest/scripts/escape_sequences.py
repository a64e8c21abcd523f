print('\x1b[2J\x1b]0;title\x07\x1b[?1049h')
print('last')
