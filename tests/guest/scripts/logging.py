import logging
logging.basicConfig(filename='run.log')
logging.error('e')
logging.shutdown()
print(open('run.log').read())
