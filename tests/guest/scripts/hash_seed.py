print(hash('a'))
