import requests
for verb in ('post', 'put', 'delete'): print(getattr(requests, verb)('http://hook.example/a', data='x').status_code)
