"""A real web server for tests: files by path, ranges, and misbehaviour that a test switches on for a path."""

from __future__ import annotations

import hashlib
import re
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from mascot.bench.prepare.web import Web

CHUNK = 1 << 14


@dataclass
class Manners:
    """How the server answers for one path, beyond giving the file."""

    statuses: list[int] = field(default_factory=list)  # answered first, one for each request; then the file
    always: int | None = None  # answered every time
    headers: dict[str, str] = field(default_factory=dict)  # sent with every answer
    redirect: str | None = None  # where to, with 302
    no_ranges: bool = False  # the whole file whatever is asked
    no_head: bool = False  # 405 to HEAD
    no_length: bool = False  # the end of the connection is the end of the file
    wait: float = 0.0  # seconds before any answer
    drip: float = 0.0  # seconds between bytes
    cut: list[int] = field(default_factory=list)  # the connection breaks behind so many bytes, one for each request
    hang_up: int = 0  # so many connections are closed without an answer
    pace: float = 0.0  # seconds between blocks of 16 KiB
    etag: str | None = None  # instead of the hash of the content; "" for none


@dataclass
class Request:
    """One request, as it came."""

    method: str
    path: str
    headers: dict[str, str]


class Server:
    """Files and manners by path; `requests` has every request. Change them at any time."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | Callable[[], bytes]] = {}
        self.manners: dict[str, Manners] = {}
        self.requests: list[Request] = []
        self.sent: Counter[str] = Counter()  # body bytes by path
        self.together = 0  # the most requests that were answered at a time
        self.url = ""
        self.lock = threading.Lock()
        self._now = 0

    def put(self, path: str, content: bytes, **manners: Any) -> str:
        """Serve a file; its address."""
        self.files[path] = content
        if manners:
            self.manners[path] = Manners(**manners)
        return self.url + path

    def count(self, path: str, method: str | None = None) -> int:
        """How often that path was asked for."""
        with self.lock:
            return sum(each.path == path and method in (None, each.method) for each in self.requests)

    @contextmanager
    def busy(self) -> Iterator[None]:
        with self.lock:
            self._now += 1
            self.together = max(self.together, self._now)
        try:
            yield
        finally:
            with self.lock:
                self._now -= 1


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else every answer waits for the head to be acknowledged
    server: Any

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        """Quietly."""

    def _answer(self) -> None:
        state: Server = self.server.state
        path = unquote(self.path.split("?")[0])
        with state.lock:
            state.requests.append(Request(self.command, path, dict(self.headers.items())))
            manners = state.manners.get(path, Manners())
            hang_up = manners.hang_up > 0
            manners.hang_up -= hang_up
            status = manners.statuses.pop(0) if manners.statuses else manners.always
            cut = manners.cut.pop(0) if manners.cut else None
        with state.busy():
            if manners.wait:
                time.sleep(manners.wait)
            if hang_up:
                self.close_connection = True
                return
            if status is not None:
                self._say(status, b"<html>trouble</html>", manners.headers)
            elif manners.redirect is not None:
                self._say(302, b"", {**manners.headers, "Location": manners.redirect})
            elif manners.no_head and self.command == "HEAD":
                self._say(405, b"", manners.headers)
            elif path not in state.files:
                self._say(404, b"<html>not found</html>", {})
            else:
                content = state.files[path]
                self._give(content() if callable(content) else content, manners, cut)

    def _say(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _give(self, content: bytes, manners: Manners, cut: int | None) -> None:
        etag = manners.etag if manners.etag is not None else f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        span = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        same = self.headers.get("If-Range") in (None, etag)
        if span and same and not manners.no_ranges:
            if span[1]:
                start, end = int(span[1]), min(int(span[2] or len(content) - 1), len(content) - 1)
            else:
                start, end = max(0, len(content) - int(span[2])), len(content) - 1
            if start >= len(content):
                self._say(416, b"", {"Content-Range": f"bytes */{len(content)}"})
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end}/{len(content)}")
            content = content[start : end + 1]
        else:
            self.send_response(200)
        if not manners.no_ranges:
            self.send_header("Accept-Ranges", "bytes")
        for name, value in manners.headers.items():
            self.send_header(name, value)
        if etag:
            self.send_header("ETag", etag)
        if manners.no_length:
            self.close_connection = True
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self._send(content, manners, cut)

    def _send(self, content: bytes, manners: Manners, cut: int | None) -> None:
        state: Server = self.server.state
        size = 1 if manners.drip else CHUNK
        body = content if cut is None else content[:cut]
        try:
            for start in range(0, len(body), size):
                block = body[start : start + size]
                with state.lock:  # before: the client may be done with it at once
                    state.sent[unquote(self.path.split("?")[0])] += len(block)
                self.wfile.write(block)
                if manners.drip or manners.pace:
                    time.sleep(manners.drip or manners.pace)
        except OSError:
            self.close_connection = True
        if cut is not None:
            self.close_connection = True


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, state: Server) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.state = state

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what the tests are about."""


@contextmanager
def serving(certificate: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server on a free port of this machine, with or without TLS."""
    state = Server()
    http = _Quiet(state)
    if certificate is not None:
        http.socket = certificate.wrap_socket(http.socket, server_side=True)
    state.url = f"{'https' if certificate else 'http'}://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def local_web(**options: Any) -> Web:
    """An HTTP client that may connect to a server on this machine."""
    return Web(allow_private=True, **options)
