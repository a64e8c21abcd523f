with open('precious.txt', 'r+b') as f: f.write(b'N')
print(open('precious.txt').read())
