import resource
resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))
print('before')
x = bytearray(2**30)
