open('precious.txt', 'a').write('+')
print(open('precious.txt').read())
