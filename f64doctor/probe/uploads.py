"""Switches off what leaves the machine: HTTP requests that change something, mail, uploads by FTP. Downloads (GET, HEAD, OPTIONS) go through.

A request that is held back is answered at once with "200 OK" and an empty object, so that the script goes on as though it had been sent.
"""

from __future__ import annotations

import socket
from types import ModuleType
from typing import Any, Callable

from . import rewire
from .imports import ImportWatch

_HARMLESS = ("GET", "HEAD", "OPTIONS", "TRACE", "CONNECT")
_HERE = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "")


def is_here(host: Any) -> bool:
    """Whether a host is this machine."""
    name = str(host).strip("[]").lower()
    return name in _HERE or name.startswith("127.") or name.endswith(".localhost")


def answer(method: str) -> bytes:
    """What a held back request is answered with."""
    body = b"{}" if method == "POST" else b""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n"
    return head.format(len(body)).encode() + body


class Sink(socket.socket):
    """A connection that takes everything and has one answer."""

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Take data."""

    def send(self, data: Any, flags: int = 0) -> int:
        """Take data."""
        return len(data)

    def sendfile(self, file: Any, offset: int = 0, count: Any = None) -> int:
        """Take a file."""
        return 0


def sink(method: str) -> Sink:
    """A connection that answers a request of this method."""
    near, far = socket.socketpair()
    far.sendall(answer(method))
    far.close()
    return Sink(fileno=near.detach())


class Uploads:
    """The wrappers around what sends. ``note(kind, what)`` hears of each: kind is ``upload`` or ``mail``."""

    def __init__(self, note: Callable[[str, str], None], imports: ImportWatch) -> None:
        self._note = note
        self._imports = imports

    def hold_back(self) -> None:
        """Wait for the libraries."""
        self._imports.after("http.client", self._http)
        self._imports.after("smtplib", self._mail)
        self._imports.after("ftplib", self._ftp)
        self._imports.after("httpx", self._httpx)
        self._imports.after("aiohttp", self._aiohttp)

    def _http(self, module: ModuleType) -> None:
        def put(original: Any, connection: Any, args: Any, kwargs: Any) -> Any:
            method = str(args[0] if args else kwargs.get("method", "")).upper()
            host = getattr(connection, "_tunnel_host", None) or connection.host
            if method not in _HARMLESS and not is_here(host):
                url = str(args[1] if len(args) > 1 else kwargs.get("url", ""))
                self._note("upload", "{} {}".format(method, _address(host, url)))
                if connection.sock is not None:
                    connection.sock.close()
                connection.sock = sink(method)
            elif isinstance(connection.sock, Sink):
                connection.close()
            return original(connection, *args, **kwargs)

        rewire.wrap_method(module.HTTPConnection, "putrequest", put)

    def _mail(self, module: ModuleType) -> None:
        said = (250, b"held back")

        def connect(original: Any, server: Any, args: Any, kwargs: Any) -> Any:
            server.sock = sink("POST")
            server.file = None
            server.ehlo_resp, server.does_esmtp = b"held back\nAUTH PLAIN LOGIN", True
            server.esmtp_features = {"auth": " PLAIN LOGIN", "starttls": "", "smtputf8": "", "8bitmime": ""}
            return 220, b"held back"

        def sent(original: Any, server: Any, args: Any, kwargs: Any) -> Any:
            to = args[1] if len(args) > 1 else kwargs.get("to_addrs", "")
            self._note("mail", "to " + ", ".join([to] if isinstance(to, str) else [str(one) for one in to]))
            return {}

        def agreed(original: Any, server: Any, args: Any, kwargs: Any) -> Any:
            return (221, b"bye") if args and str(args[0]).upper() == "QUIT" else said

        smtp = module.SMTP
        rewire.wrap_method(smtp, "connect", connect)
        rewire.wrap_method(smtp, "sendmail", sent)
        for name in ("ehlo", "helo", "starttls", "login", "docmd", "mail", "rcpt", "data", "noop", "rset", "quit"):
            rewire.wrap_method(smtp, name, agreed)
        for name in ("ehlo_or_helo_if_needed",):
            rewire.wrap_method(smtp, name, lambda *_: None)
        ssl = getattr(module, "SMTP_SSL", None)
        if ssl is not None and "connect" in ssl.__dict__:
            rewire.wrap_method(ssl, "connect", connect)

    def _ftp(self, module: ModuleType) -> None:
        def stored(original: Any, connection: Any, args: Any, kwargs: Any) -> Any:
            what = str(args[0] if args else kwargs.get("cmd", ""))
            self._note("upload", "{} {}".format(what, getattr(connection, "host", "")))
            return "226 held back"

        for name in ("storbinary", "storlines", "delete", "rename", "rmd", "mkd"):
            rewire.wrap_method(module.FTP, name, stored)

    def _httpx(self, module: ModuleType) -> None:
        def held(request: Any) -> bool:
            if request.method.upper() in _HARMLESS or is_here(request.url.host):
                return False
            self._note("upload", "{} {}".format(request.method, _address(request.url.host, request.url.path)))
            return True

        def handle(original: Any, transport: Any, args: Any, kwargs: Any) -> Any:
            request = args[0] if args else kwargs["request"]
            return (
                module.Response(200, json={}, request=request)
                if held(request)
                else original(transport, *args, **kwargs)
            )

        async def handle_later(original: Any, transport: Any, args: Any, kwargs: Any) -> Any:
            request = args[0] if args else kwargs["request"]
            if held(request):
                return module.Response(200, json={}, request=request)
            return await original(transport, *args, **kwargs)

        rewire.wrap_method(module.HTTPTransport, "handle_request", handle)
        rewire.wrap_method(module.AsyncHTTPTransport, "handle_async_request", handle_later)

    def _aiohttp(self, module: ModuleType) -> None:
        async def request(original: Any, session: Any, args: Any, kwargs: Any) -> Any:
            method = str(args[0] if args else kwargs.get("method", "")).upper()
            url = str(args[1] if len(args) > 1 else kwargs.get("str_or_url", ""))
            host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
            if method in _HARMLESS or is_here(host):
                return await original(session, *args, **kwargs)
            self._note("upload", "{} {}".format(method, url.partition("?")[0]))
            raise module.ClientConnectionError("held back by f64doctor, see --allow-writes")

        rewire.wrap_method(module.ClientSession, "_request", request)


def _address(host: Any, url: str) -> str:
    """Host and path of a request, without its query, which may hold secrets."""
    plain = url.partition("?")[0].partition("#")[0]
    return plain.partition("://")[2].rpartition("@")[2] if "://" in plain else "{}{}".format(host, plain)
