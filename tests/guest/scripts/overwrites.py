open('precious.txt', 'w').write('new')
print(open('precious.txt').read())
