import http.server, threading, urllib.request
class H(http.server.BaseHTTPRequestHandler):
    def do_POST(self): self.rfile.read(1); self.send_response(201); self.end_headers()
    log_message = lambda *a: None
s = http.server.HTTPServer(('127.0.0.1', 0), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(urllib.request.urlopen('http://127.0.0.1:%d' % s.server_port, data=b'x').status)
