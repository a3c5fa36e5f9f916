"""Attacks on `mascot serve`, over connections of this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import raw_clients
from benchmarks.attacks.frame import Arena, NotHere, Trial, attack, mutated

_MOST_MB = 512  # of all requests, as the settings of the server say by default
_MOST_WAIT_S = 1.0  # for /healthz, in CPU time of the server
_RESTART_S = 60.0  # for a worker to be replaced, on a busy machine
_BOUNDED = "no server error; at most 512 MB more; /healthz within 1 s if the server had a core of its own"
_CLIENTS = "every request is answered, 99% within 3 s if the server had a core of its own"


@attack("others are answered meanwhile, and the log stays short", rounds=1100, short=150, limit_s=30)
def half_sent_requests(arena: Arena) -> Iterator[Trial]:
    most = 100 if arena.rounds < 1000 else 300
    with _served(arena, connections=most, header_timeout_s=5) as server, ExitStack() as stack:
        for number in range(1, arena.rounds + 1):
            with suppress(ConnectionError):  # closed by the server already
                stack.enter_context(raw_clients.connect(server.port)).sendall(b"GET /healthz HTTP/1.1\r\nHo")
            log_kb = server.log.stat().st_size / 1000
            survived = log_kb < 100 and (number % 50 != 0 or server.answers)
            yield Trial("half a request", survived, f"number {number}, {log_kb:.0f} kB of log")


@attack("memory grows by less than 200 MB, and others are answered", rounds=60, short=12, limit_s=30)
def unfinished_bodies(arena: Arena) -> Iterator[Trial]:
    head = b"POST /api/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    half = head + b"Content-Length: 16000000\r\n\r\n" + b" " * 8_000_000
    with _served(arena, held_bytes=64 << 20, body_timeout_s=10) as server, ExitStack() as stack:
        before = server.memory_mb
        for number in range(1, arena.rounds + 1):
            with suppress(ConnectionError):  # refused meanwhile
                stack.enter_context(raw_clients.connect(server.port)).sendall(half)
            growth = server.memory_mb - before
            survived = growth < 200 and (number % 6 != 0 or server.answers)
            yield Trial("half a body", survived, f"number {number}, {growth:.0f} MB more")


@attack(
    "an answer that is not a server error, or a closed connection; others are answered",
    rounds=2000,
    short=60,
    limit_s=45,
)
def raw_sockets(arena: Arena) -> Iterator[Trial]:
    whole = raw_clients.request(raw_clients.rows(3))
    with _served(arena, body_timeout_s=5, header_timeout_s=5) as server:
        for number in range(arena.rounds):
            content = arena.chance.randbytes(500) if arena.chance.random() < 0.1 else mutated(whole, arena.chance)
            answer = b""
            with suppress(ConnectionError, BrokenPipeError), raw_clients.connect(server.port) as client:
                client.sendall(content)
                client.shutdown(socket.SHUT_WR)
                answer = raw_clients.rest(client)
            sound = not answer or (answer.startswith(b"HTTP/1.1 ") and not answer.startswith(b"HTTP/1.1 5"))
            yield Trial("bytes", sound and (number % 20 != 0 or server.answers), repr(answer[:60]))


@attack(_BOUNDED, rounds=20, short=3, limit_s=45)
def pipelined_requests(arena: Arena) -> Iterator[Trial]:
    requests = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100_000
    with _served(arena, body_timeout_s=60) as server, raw_clients.Watch(server) as watch, ExitStack() as stack:
        for number in range(1, arena.rounds + 1):
            watch.reset()
            client = stack.enter_context(raw_clients.connect(server.port))
            client.settimeout(1)  # after which the server reads no more
            with suppress(OSError):
                client.sendall(requests)
            yield _watched(watch, "a client that does not read", server.answers, f"number {number}")


@attack(f"an answer within 1 s of CPU time, {_BOUNDED}", rounds=3, short=1, limit_s=60)
def expensive_bodies(arena: Arena) -> Iterator[Trial]:
    bodies = _expensive()  # before the watch, whose thread would wait for it
    with _served(arena) as server, raw_clients.Watch(server) as watch:
        for _ in range(arena.rounds):
            for name, body in bodies.items():
                started, cpu_s = time.monotonic(), server.cpu_s
                trial = _answered(server, watch, raw_clients.request(body, connection="close"), name)
                own_s = min(time.monotonic() - started, server.cpu_s - cpu_s)
                detail = f"{own_s:.2f} s of a whole core for the answer; {trial.detail}"
                yield replace(trial, survived=trial.survived and own_s <= _MOST_WAIT_S, detail=detail)


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


@attack("the kill is logged, another worker starts, and others are answered", rounds=12, short=2, limit_s=60)
def killed_workers(arena: Arena) -> Iterator[Trial]:
    with _served(arena, "--workers", "2") as server:
        for number in range(1, arena.rounds + 1):
            workers = server.workers
            victim = arena.chance.choice(workers)
            os.kill(victim, arena.chance.choice([signal.SIGKILL, signal.SIGSEGV]))
            deadline = time.monotonic() + _RESTART_S
            while time.monotonic() < deadline and not _is_replaced(server, victim):
                time.sleep(0.1)
            survived = _is_replaced(server, victim) and server.answers
            yield Trial("kill", survived, f"number {number}, workers {workers}, then {server.workers}")


def _is_replaced(server: raw_clients.Server, victim: int) -> bool:
    workers = server.workers
    is_logged = f"worker {victim} was ended by signal" in server.log.read_text("utf-8", "replace")
    return is_logged and len(workers) == 2 and victim not in workers


def _answered(server: raw_clients.Server, watch: raw_clients.Watch, content: bytes, name: str) -> Trial:
    """Send a request that must get an answer which is not a server error."""
    watch.reset()
    status = raw_clients.exchange(server.port, content)[:20]
    return _watched(watch, name, status.startswith((b"HTTP/1.1 2", b"HTTP/1.1 4")), repr(status))


def _watched(watch: raw_clients.Watch, name: str, survived: bool, detail: str) -> Trial:
    """Return a trial that also needs answers of /healthz in time, and bounded memory."""
    watch.settle()
    is_bounded = watch.own_wait_s <= _MOST_WAIT_S and watch.peak_mb <= _MOST_MB and not watch.failures
    health = f"/healthz waited {watch.own_wait_s:.2f} s of a whole core, {watch.failures} failures"
    text = f"{detail}, {health}, {watch.peak_mb:.0f} MB"
    return Trial(name, survived and is_bounded, text, wait_s=watch.wait_s, peak_mb=watch.peak_mb)


@attack(_CLIENTS, rounds=30, short=3, limit_s=40)
def clients_at_once_100(arena: Arena) -> Iterator[Trial]:
    return _clients(arena, 100)


@attack(_CLIENTS, rounds=30, short=3, limit_s=40)
def clients_at_once_400(arena: Arena) -> Iterator[Trial]:
    return _clients(arena, 400)


def _clients(arena: Arena, count: int) -> Iterator[Trial]:
    with _served(arena) as server:
        started, cpu_s = time.monotonic(), server.cpu_s
        load = raw_clients.load(server.port, count, seconds=arena.rounds)
        seconds = time.monotonic() - started
        # What others do on this machine meanwhile must not decide: the server got this share of the one core it uses.
        share = min((server.cpu_s - cpu_s) / seconds, 1.0)
        own_s = load.p99_s * share
        for _ in load.seconds:
            yield Trial("request", True)
        for failure in load.failures:
            yield Trial("client", False, failure)
        rate = len(load.seconds) / seconds
        p99 = f"p99 {load.p99_s:.2f} s with {share:.0%} of a core: {own_s:.2f} s of a whole one; {rate:.0f} requests/s"
        yield Trial("p99", own_s < 3, p99, p99)


@attack("memory at the end is within 10% of that after a quarter", rounds=20_000, short=1000, limit_s=120)
def many_requests(arena: Arena) -> Iterator[Trial]:
    with _served(arena) as server:
        first = raw_clients.load(server.port, 8, requests=arena.rounds // 4, seconds=60)
        before = server.memory_mb
        second = raw_clients.load(server.port, 8, requests=3 * len(first.seconds), seconds=180)
        after = server.memory_mb
        for _ in (*first.seconds, *second.seconds):
            yield Trial("request", True)
        for failure in (*first.failures, *second.failures):
            yield Trial("request", False, failure)
        memory = f"{before:.0f} MB after a quarter, {after:.0f} MB at the end"
        yield Trial("memory", after <= 1.1 * before, memory, memory)


@contextmanager
def _served(arena: Arena, *options: str, **settings: float) -> Iterator[raw_clients.Server]:
    if not Path("/proc/self/status").is_file():
        raise NotHere("memory is looked up in /proc")
    with raw_clients.served(arena.folder / "server", *options, **settings) as server:
        yield server
