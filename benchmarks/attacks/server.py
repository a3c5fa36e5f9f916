"""Attacks on `mascot serve`: unfinished, pipelined, expensive and malformed requests, and many clients at once."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from tests.server.serving import Served, read_to_end, served

from benchmarks.attacks.frame import NotHere, Trial, attack
from benchmarks.service import OK, cpu_seconds, load

_MOST_MB = 512  # of all requests: the default of MASCOT_MEMORY_BYTES
_MOST_WAIT_S = 1.0  # for /healthz, in CPU time of the server: the wait for a core does not count
_BOUNDED = "no server error; at most 512 MB more; /healthz within 1 s if the server had a core of its own"
_HEAD = b"POST /api/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
_BODY = b'{"scores": [0.9, 0.8, 0.7], "columns": {"shop": ["a", "a", "b"]}, "wishes": [{"spread": "shop"}]}'


@attack("others are answered meanwhile, and the log stays short", rounds=1100)
def half_sent_requests(folder: Path, rounds: int) -> Iterator[Trial]:
    with _served(folder, connections=300, header_timeout_s=5) as server, ExitStack() as stack:
        for number in range(rounds):
            with suppress(ConnectionError):  # closed by the server already
                stack.enter_context(server.connect()).sendall(b"GET /healthz HTTP/1.1\r\nHo")
            yield Trial(number % 50 != 0 or _answers(server), f"number {number}")
        yield Trial(len(server.log) < 100, f"{len(server.log)} lines of log")


@attack("memory grows by less than 200 MB, and others are answered", rounds=60)
def unfinished_bodies(folder: Path, rounds: int) -> Iterator[Trial]:
    half = _HEAD + b"Content-Length: 16000000\r\n\r\n" + b" " * 8_000_000
    with _served(folder, held_bytes=64 << 20, body_timeout_s=10) as server, ExitStack() as stack:
        start_mb = _memory_mb(server)
        for number in range(rounds):
            with suppress(ConnectionError):  # refused meanwhile
                stack.enter_context(server.connect()).sendall(half)
            growth_mb = _memory_mb(server) - start_mb
            yield Trial(growth_mb < 200 and _answers(server), f"number {number}, {growth_mb:.0f} MB more")


@attack("an answer that is not a server error, or a closed connection; others are answered", rounds=2000)
def raw_sockets(folder: Path, rounds: int) -> Iterator[Trial]:
    request, chance = _HEAD + b"Content-Length: %d\r\n\r\n" % len(_BODY) + _BODY, random.Random(0)
    with _served(folder, body_timeout_s=5, header_timeout_s=5) as server:
        for number in range(rounds):
            content = bytearray(request)
            for _ in range(chance.choice([1, 4, 32])):
                content[chance.randrange(len(content))] = chance.randrange(256)
            answer = b""
            with suppress(ConnectionError), server.connect() as connection:
                connection.sendall(content)
                connection.shutdown(socket.SHUT_WR)
                answer = read_to_end(connection)
            is_sound = not answer or (answer.startswith(b"HTTP/1.1 ") and not answer.startswith(b"HTTP/1.1 5"))
            yield Trial(is_sound and (number % 20 != 0 or _answers(server)), repr(answer[:60]))


@attack(_BOUNDED, rounds=20)
def pipelined_requests(folder: Path, rounds: int) -> Iterator[Trial]:
    requests = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100_000
    with _served(folder, body_timeout_s=60) as server, _Watch(server) as watch, ExitStack() as stack:
        for number in range(rounds):
            connection = stack.enter_context(server.connect())
            connection.settimeout(1)  # after which the server reads no more
            with suppress(OSError):
                connection.sendall(requests)
            yield watch.trial(_answers(server), f"number {number}")


@attack(_BOUNDED, rounds=3)
def expensive_bodies(folder: Path, rounds: int) -> Iterator[Trial]:
    bodies = _expensive()  # before the watch, whose thread would wait for it
    with _served(folder) as server, _Watch(server) as watch, server.client() as client:
        for _ in range(rounds):
            for name, body in bodies.items():
                status = client.post("/api/rerank", content=body, headers={"content-type": "application/json"})
                yield watch.trial(status.status_code < 500, f"{name}: {status.status_code}")


def _expensive() -> dict[str, bytes]:
    """Return requests of at most 16 MB that are too expensive to be answered, or almost."""
    same, distinct = [["a"] * 4000] * 975, [[str(number) for number in range(1700)]] * 1000
    bodies: dict[str, tuple[list[Any], list[Any]]] = {
        "one label, 12 wishes": (same, [{"spread": "x"}] * 12),
        "distinct labels, 12 wishes": (distinct, [{"spread": "x"}] * 12),
        "12 limits": (same, [{"limit": "x", "n": 1}] * 12),
        "deep lists": ([[[[]] * 5000]] * 1000, [{"spread": "x"}]),
        "short lists": ([[["a"]] * 40] * 5000, [{"spread": "x"}]),
        "as many labels as accepted": ([labels[:33] for labels in distinct], [{"spread": "x"}] * 12),
    }
    requests: dict[str, Any] = {
        name: {"scores": [0.5] * len(cells), "columns": {"x": cells}, "wishes": wishes}
        for name, (cells, wishes) in bodies.items()
    }
    requests["a million columns"] = {"scores": [0.5], "columns": {str(number): [1] for number in range(1_000_000)}}
    return {name: json.dumps(content, separators=(",", ":")).encode() for name, content in requests.items()}


@attack("400 clients that wait for an answer before they ask again see no error in 30 s", rounds=30)
def clients_at_once(folder: Path, rounds: int) -> Iterator[Trial]:
    with _served(folder) as server:
        statuses, _ = asyncio.run(load(server.port, [_BODY], 400, seconds=rounds))
    for (_, status), count in statuses.items():
        yield from [Trial(status == OK, status)] * count


class _Watch:
    """Asks for /healthz again and again while the block runs."""

    def __init__(self, server: Served) -> None:
        self._server, self._start_mb = server, _memory_mb(server)
        self._wait_s, self._failures, self._stop = 0.0, 0, threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def trial(self, survived: bool, detail: str) -> Trial:
        """Return a trial that also needs answers of /healthz in time, and bounded memory."""
        growth_mb = _memory_mb(self._server) - self._start_mb
        is_bounded = self._wait_s <= _MOST_WAIT_S and growth_mb <= _MOST_MB and not self._failures
        health = f"/healthz waited {self._wait_s:.2f} s of a whole core, {self._failures} failures"
        return Trial(survived and is_bounded, f"{detail}; {health}, {growth_mb:.0f} MB")

    def _ask(self) -> None:
        with self._server.client() as client:
            while not self._stop.wait(0.05):
                started, cpu_s = time.monotonic(), cpu_seconds(self._server.process.pid)
                try:
                    self._failures += client.get("/healthz").status_code != 200
                except httpx.HTTPError:
                    self._failures += 1
                own_s = min(time.monotonic() - started, cpu_seconds(self._server.process.pid) - cpu_s)
                self._wait_s = max(self._wait_s, own_s)


@contextmanager
def _served(folder: Path, **settings: int) -> Iterator[Served]:
    if not Path("/proc/self/status").is_file():
        raise NotHere("memory is looked up in /proc")
    with served(folder, **{f"MASCOT_{name.upper()}": str(value) for name, value in settings.items()}) as server:
        yield server


def _answers(server: Served) -> bool:
    """Return whether the server re-ranks for a client that behaves."""
    with server.client() as client:
        return client.post("/api/rerank", json={"scores": [1]}).status_code == 200


def _memory_mb(server: Served) -> float:
    """Return the most memory that the process has used."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text("utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
