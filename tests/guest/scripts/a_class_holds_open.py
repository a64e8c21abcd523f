class A:
    open = open
print(A().open('precious.txt').read())
