import warnings
warnings.simplefilter('error')
print('on')
warnings.warn('x')
