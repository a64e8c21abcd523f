print('on')
