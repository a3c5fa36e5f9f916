"""Servers for tests: the application in a thread of this process, or the real command; and a small library."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import uvicorn

from mascot.photos import Library
from mascot.server import make_app
from mascot.server.run.protocol import GuardedProtocol
from mascot.server.settings import Settings
from tests.retelling import PATIENCE_S, wait_for


@dataclass
class Served:
    """A running server."""

    address: str  # http://127.0.0.1:PORT
    root: Path = Path()  # of the library
    token: str | None = None
    process: Any = None  # of `mascot serve`, or uvicorn's server in a thread
    log: list[str] = field(default_factory=list)  # lines of its standard error

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def client(self, **options: Any) -> httpx.Client:
        """Return a client that sends the token, if there is one."""
        headers = {"authorization": f"Bearer {self.token}".encode()} if self.token else {}
        defaults: dict[str, Any] = {"headers": headers, "timeout": PATIENCE_S, "trust_env": False, "verify": False}
        return httpx.Client(base_url=self.address, **defaults | options)

    def connect(self) -> socket.socket:
        """Return a connection that sends bytes as they are: clients tidy them up."""
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal to the command, wait, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return int(self.process.wait(PATIENCE_S))


@contextmanager
def hosted(library: Path | None = None, token: str | None = None, port: int = 0, **settings: Any) -> Iterator[Served]:
    """Serve the application from a thread of this process, on the connections of `mascot serve`.

    The server waits as long for its clients as the tests wait for the server.
    """
    patient: dict[str, Any] = dict.fromkeys(("header_timeout_s", "body_timeout_s", "keep_alive_s"), PATIENCE_S)
    values = Settings(None if library is None else str(library), token, **patient | settings)
    config = uvicorn.Config(
        make_app(values), http=GuardedProtocol, ws="none", log_config=None, access_log=False, server_header=False,
        proxy_headers=False, timeout_graceful_shutdown=1, timeout_keep_alive=round(values.keep_alive_s),
    )  # fmt: skip
    server = uvicorn.Server(config)
    vars(server.server_state)["mascot_settings"] = values
    with socket.create_server(("127.0.0.1", port), backlog=2048) as listener:
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        wait_for(lambda: server.started or not thread.is_alive())
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            yield Served(address, library or Path(), token, server)
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def served(state: Path, *options: str, **variables: str) -> Iterator[Served]:
    """Run `mascot serve` on a free port until the end of the block, without a library if the options name none."""
    library = [] if "--library" in options else ["--no-library"]
    with started(["mascot.cli", "serve", "--port", "0", *library, *options], environment(state, **variables)) as server:
        yield server


@contextmanager
def started(command: Sequence[str], variables: dict[str, str]) -> Iterator[Served]:
    """Run a module of Python that logs its address, until the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command], env=variables, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    server = Served("", process=process)
    reader = threading.Thread(target=_read_log, args=(server,), daemon=True)
    reader.start()
    try:
        wait_for(lambda: bool(server.address) or not reader.is_alive())
        if not server.address:
            raise RuntimeError(f"the server did not start: {''.join(server.log)}")
        yield server
    finally:
        server.stop()
        reader.join(PATIENCE_S)


def _read_log(server: Served) -> None:
    """Read what the process logs, so that a full pipe never stops it; it announces where it is once it answers."""
    for line in server.process.stderr:
        server.log.append(line)
        if not server.address and "http://" in line:
            server.address = next(word for word in line.split() if word.startswith("http://")).rstrip("/")


def environment(state: Path, **more: str) -> dict[str, str]:
    """Return an environment in which no library is remembered."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MASCOT_")}
    return variables | {"XDG_STATE_HOME": str(state), "HOME": str(state)} | more


def indexed(root: Path, **options: Any) -> Path:
    """Index a folder with the built-in encoder, and return it."""
    with mock.patch.dict(os.environ, environment(root.parent / "state"), clear=True), Library(root) as library:
        library.index(**options)
    return root


def message(answer: httpx.Response, status: int) -> str:
    """Return the message of an answer that has this error status."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"kind", "message"}
    return str(error["message"])


def result_ids(answer: httpx.Response) -> list[Any]:
    """Return the ids of the photographs, or of the own candidates, that were found."""
    assert answer.status_code == 200, answer.text
    return [result["photo"]["id"] if "photo" in result else result["id"] for result in answer.json()["results"]]


def read_answer(connection: socket.socket) -> bytes:
    """Return the headers and the whole body of the next answer; `ConnectionError` if the connection ends before."""
    answer = b""
    while True:
        head, _, body = answer.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if length is not None and len(body) == int(length[1]):
            return answer
        part = connection.recv(65536)
        if not part:
            raise ConnectionError(f"closed after {answer[:80]!r}")
        answer += part


def read_to_end(connection: socket.socket) -> bytes:
    """Return what the server sends before it closes the connection."""
    answer = b""
    try:
        while part := connection.recv(65536):
            answer += part
    except ConnectionError:
        pass
    return answer
