"""Clients of `mascot serve` that do not behave, and what the server uses meanwhile. Loopback only."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_START_S = 180.0  # on a busy machine
_PATIENCE_S = 120.0  # for one answer
_HEALTH_EVERY_S = 0.05
_HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")


@dataclass(frozen=True, slots=True)
class Server:
    """A running `mascot serve --no-library`."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def memory_mb(self) -> float:
        """Memory of the process that is in use now."""
        return self._status_mb("VmRSS")

    @property
    def peak_mb(self) -> float:
        """The most memory that the process has used."""
        return self._status_mb("VmHWM")

    def _status_mb(self, name: str) -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text("utf-8").splitlines()
        return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1024

    @property
    def cpu_s(self) -> float:
        """CPU time of the process, all threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def workers(self) -> list[int]:
        """Process ids of the workers, if there are several."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text("ascii").split()
        workers = []
        for pid in children:
            with suppress(OSError):  # it has ended meanwhile
                if b"multiprocessing.spawn" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    workers.append(int(pid))
        return workers

    @property
    def answers(self) -> bool:
        """Whether it re-ranks for a client that behaves."""
        with suppress(OSError), connect(self.port) as client:
            client.sendall(request(rows(5)))
            return b" 200 " in client.recv(65536)[:20]
        return False


class Watch:
    """Asks for /healthz in a thread of its own, again and again, while other clients attack the server."""

    def __init__(self, server: Server) -> None:
        self._server, self._start_mb = server, server.memory_mb
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.wait_s = 0.0  # the longest
        self.own_wait_s = 0.0  # the longest, if only the CPU time of the server counts
        self.failures = self._answers = 0

    def reset(self) -> None:
        """Forget the waits so far."""
        self.wait_s, self.own_wait_s, self.failures = 0.0, 0.0, 0

    def settle(self) -> None:
        """Wait for an answer to a question that was asked after this call."""
        last = self._answers + 2
        while self._answers < last and self._thread.is_alive():
            time.sleep(_HEALTH_EVERY_S)

    @property
    def peak_mb(self) -> float:
        """The most memory of the server, beyond that at the start of the watch."""
        return self._server.peak_mb - self._start_mb

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_HEALTH_EVERY_S):
            started, cpu_s = time.monotonic(), self._server.cpu_s
            is_well = exchange(self._server.port, _HEALTH).startswith(b"HTTP/1.1 200")
            wait_s = time.monotonic() - started
            self.failures += not is_well
            self._answers += 1
            self.wait_s = max(self.wait_s, wait_s)
            self.own_wait_s = max(self.own_wait_s, min(wait_s, self._server.cpu_s - cpu_s))


@contextmanager
def served(folder: Path, *options: str, **settings: float) -> Iterator[Server]:
    """Start a server on a free port; it ends with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    paths = os.pathsep.join([str(Path(__file__).parents[1] / "src"), *filter(None, sys.path)])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MASCOT_")}
    environment |= {"PYTHONPATH": paths, "XDG_STATE_HOME": str(folder), "HOME": str(folder)}
    environment |= {f"MASCOT_{name.upper()}": str(value) for name, value in settings.items()}
    command = [sys.executable, "-m", "mascot.cli", "serve", "--no-library", "--port", "0", *options]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        yield Server(process, _port(process, log), log)
    finally:
        process.kill()
        process.wait()


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        address = _ADDRESS.search(log.read_text("utf-8", "replace"))
        if address:
            return int(address[1])
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text('utf-8', 'replace')[-500:]}")


def connect(port: int) -> socket.socket:
    """A connection to the server."""
    return socket.create_connection(("127.0.0.1", port), _PATIENCE_S)


def rest_while_sending(port: int, content: bytes) -> bytes:
    """Send a request, read at the same time, and return the answer."""
    with connect(port) as connection:
        sender = threading.Thread(target=lambda: connection.sendall(content), daemon=True)
        sender.start()
        answer = rest(connection)
        sender.join()
        return answer


def exchange(port: int, content: bytes) -> bytes:
    """Send a request on a connection of its own, and return the whole answer; nothing if the connection broke."""
    with suppress(OSError), connect(port) as connection:
        with suppress(ConnectionError):  # the answer may come before the end of the request
            connection.sendall(content)
        return rest(connection)
    return b""


def rest(connection: socket.socket) -> bytes:
    """What the server still sends before it closes the connection."""
    parts = []
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def rows(count: int, seed: int = 0) -> bytes:
    """A body for `/api/rerank`."""
    chance = random.Random(seed)
    columns = {
        "lat": [chance.uniform(-60, 70) for _ in range(count)],
        "lon": [chance.uniform(-180, 180) for _ in range(count)],
        "shop": [f"shop {chance.randrange(9)}" for _ in range(count)],
    }
    wishes = [{"spread": {"kind": "Place"}}, {"spread": "shop"}]
    scores = [chance.random() for _ in range(count)]
    return json.dumps({"scores": scores, "columns": columns, "wishes": wishes, "k": min(20, count)}).encode()


def request(
    body: bytes, kind: str = "application/json", connection: str = "keep-alive", path: str = "/api/rerank"
) -> bytes:
    """A whole request."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nConnection: {connection}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass(slots=True)
class Load:
    """What clients met: seconds that each answer took, and what went wrong."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def p99_s(self) -> float:
        return sorted(self.seconds)[int(len(self.seconds) * 0.99)] if self.seconds else 0.0


def load(port: int, clients: int, *, seconds: float = float("inf"), requests: int = 1 << 60) -> Load:
    """Let clients ask, each again when it has its answer, until the time is over or so many requests are sent."""
    bodies = [request(rows(100, seed)) for seed in range(20)]
    result = Load()
    end = time.monotonic() + seconds
    left = requests

    async def ask(number: int) -> None:
        nonlocal left
        writer = None
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), _PATIENCE_S)
            while time.monotonic() < end and left > 0:
                left -= 1
                started = time.monotonic()
                writer.write(bodies[(number + left) % len(bodies)])
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE_S)
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                await reader.readexactly(length)
                if not head.startswith(b"HTTP/1.1 200"):
                    raise ConnectionError(head[:40].decode("latin-1"))
                result.seconds.append(time.monotonic() - started)
        except (TimeoutError, OSError, EOFError, ValueError) as error:
            result.failures.append(repr(error)[:200])
        finally:
            if writer is not None:
                writer.close()

    async def run() -> None:
        await asyncio.gather(*(ask(number) for number in range(clients)))

    asyncio.run(run())
    return result
