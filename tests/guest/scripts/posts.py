import json, urllib.request
r = urllib.request.urlopen(urllib.request.Request('http://upload.example/x?token=1', data=b'abc' * 10**6))
print(r.status, json.load(r))
