"""A model hub on this machine, as much of it as downloads need, with the faults of a real one."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

_COMMIT = "0" * 40
_LARGE = 50_000  # bytes from which a file has a SHA-256, as files in large file storage do
CLOSED = "http://127.0.0.1:9"  # an address where nobody answers


@dataclass
class LocalHub:
    """One model under one name. Faults may be set while it serves."""

    folder: Path
    model: str
    address: str = ""
    requests: list[tuple[str, str]] = field(default_factory=list)  # method with range, file
    status: int = 200  # of everything
    break_after: int | None = None  # bytes of an answer after which the connection is closed
    breaks: int = 0  # how often that still happens
    interrupts: bool = False  # a broken connection stays open instead, and this process gets a SIGINT
    tampered: bool = False  # one byte of every large file is wrong

    @property
    def files(self) -> list[str]:
        """The files that were asked for."""
        return [name for method, name in self.requests if method.startswith("GET")]


@contextmanager
def local_hub(folder: Path, model: str = "someone/model") -> Iterator[LocalHub]:
    """Serve a folder as a model until the end of the block."""
    hub = LocalHub(folder, model)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, hub))
    hub.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def use_hub(address: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client in this process ask this address, and cache in this folder."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, hub: LocalHub, *args: Any) -> None:
        self.hub = hub
        super().__init__(*args)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        hub, path = self.hub, self.path.partition("?")[0]
        if hub.status != 200:
            self._send(hub.status, b"{}")
        elif path.startswith(f"/api/models/{hub.model}"):
            names = sorted(str(file.relative_to(hub.folder)) for file in hub.folder.rglob("*") if file.is_file())
            siblings = [_described(hub.folder, name) for name in names]
            self._send(200, json.dumps({"id": hub.model, "sha": _COMMIT, "siblings": siblings}).encode())
        elif path.startswith(f"/{hub.model}/resolve/"):
            name = path.removeprefix(f"/{hub.model}/resolve/").partition("/")[2]
            asked = self.headers.get("Range")
            hub.requests.append((self.command if asked is None else f"{self.command} {asked}", name))
            self._send_file(name, asked)
        else:
            self._send(404, b"{}")

    def _send_file(self, name: str, asked: str | None) -> None:
        content = (self.hub.folder / name).read_bytes()
        about = _described(self.hub.folder, name)
        etag = about["lfs"]["sha256"] if "lfs" in about else about["blobId"]
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": _COMMIT, "Accept-Ranges": "bytes"}
        if self.hub.tampered and "lfs" in about:
            content = content[:100] + bytes([content[100] ^ 1]) + content[101:]
        if asked is None:
            self._send(200, content, headers)
            return
        start = int(asked.removeprefix("bytes=").partition("-")[0])
        headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self._send(206, content[start:], headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        hub = self.hub
        is_broken = hub.break_after is not None and hub.breaks > 0 and len(body) > hub.break_after
        hub.breaks -= is_broken
        with suppress(OSError):  # the client is gone
            self.wfile.write(body[: hub.break_after] if is_broken else body)
            self.wfile.flush()
            if is_broken and hub.interrupts:
                time.sleep(0.5)  # until the client has written what was sent
                os.kill(os.getpid(), signal.SIGINT)
                self.rfile.read(1)  # until the client hangs up


def _described(folder: Path, name: str) -> dict[str, Any]:
    content = (folder / name).read_bytes()
    about: dict[str, Any] = {
        "rfilename": name,
        "size": len(content),
        "blobId": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
    }
    if len(content) >= _LARGE:
        about["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 133}
    return about
