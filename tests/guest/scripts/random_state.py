import random
random.seed(5)
print([random.random() for _ in range(3)])
