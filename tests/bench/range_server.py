"""A real web server for tests: files by path, ranges, and misbehaviour that a test switches on for a path."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
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
    no_length: bool = False  # the end of the connection is the end of the file
    cut: list[int] = field(default_factory=list)  # the connection breaks after so many bytes, one for each request
    hang_up: int = 0  # so many connections are closed without an answer
    etag: str | None = None  # instead of the hash of the content


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]


class Server:
    """Files and manners by path; `requests` has every request. Change them at any time."""

    def __init__(self) -> None:
        self.url = ""
        self.lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.files: dict[str, bytes] = {}
        self.manners: dict[str, Manners] = {}
        self.requests: list[Request] = []
        self.sent: Counter[str] = Counter()  # body bytes by path

    def put(self, path: str, content: bytes, **manners: Any) -> str:
        self.files[path] = content
        if manners:
            self.manners[path] = Manners(**manners)
        return self.url + path

    def count(self, path: str, method: str | None = None) -> int:
        with self.lock:
            return sum(each.path == path and method in (None, each.method) for each in self.requests)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else every answer waits for the head to be acknowledged
    server: Any

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_GET(self) -> None:
        state: Server = self.server.state
        path = unquote(self.path.split("?")[0])
        with state.lock:
            state.requests.append(Request(self.command, path, dict(self.headers.items())))
            manners = state.manners.get(path, Manners())
            hang_up = manners.hang_up > 0
            manners.hang_up -= hang_up
            status = manners.statuses.pop(0) if manners.statuses else manners.always
            cut = manners.cut.pop(0) if manners.cut else None
        if hang_up:
            self.close_connection = True
        elif status is not None:
            self._head(status, {**manners.headers, "Content-Length": "0"})
        elif manners.redirect is not None:
            self._head(302, {**manners.headers, "Location": manners.redirect, "Content-Length": "0"})
        elif path not in state.files:
            self._head(404, {"Content-Length": "0"})
        else:
            self._give(state, path, manners, cut)

    do_HEAD = do_GET

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _give(self, state: Server, path: str, manners: Manners, cut: int | None) -> None:
        content, status, headers = state.files[path], 200, dict(manners.headers)
        headers["ETag"] = etag = manners.etag or f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if span and self.headers.get("If-Range") in (None, etag) and not manners.no_ranges:
            start, end = int(span[1]), min(int(span[2] or len(content)), len(content) - 1)
            if start >= len(content):
                self._head(416, {"Content-Range": f"bytes */{len(content)}", "Content-Length": "0"})
                return
            status, headers = 206, {"Content-Range": f"bytes {start}-{end}/{len(content)}", **headers}
            content = content[start : end + 1]
        if manners.no_length:
            self.close_connection = True
            headers["Connection"] = "close"
        else:
            headers["Content-Length"] = str(len(content))
        self._head(status, headers)
        body = content[:cut] if self.command == "GET" else b""
        try:
            for start in range(0, len(body), CHUNK):
                block = body[start : start + CHUNK]
                with state.lock:  # before: the client may be done with it at once
                    state.sent[path] += len(block)
                self.wfile.write(block)
        except OSError:
            self.close_connection = True
        if cut is not None and cut < len(content):
            self.close_connection = True


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    state: Server

    def handle_error(self, request: Any, client_address: Any) -> None: ...


@contextmanager
def serving() -> Iterator[Server]:
    http = _Quiet(("127.0.0.1", 0), _Handler)
    http.state = state = Server()
    state.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def local_web(**options: Any) -> Web:
    from mascot.bench.prepare.web import Web

    return Web(**{"allow_private": True, "timeout": 30.0, "retries": 2, "pause": 0.01, **options})
