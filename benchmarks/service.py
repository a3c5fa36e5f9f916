"""What the re-ranking service costs: server CPU per call beside the in-process call, and 200 parallel clients.

    python -m benchmarks.service                   CPU per call: JSON and reasons, each beside the in-process call
    python -m benchmarks.service --load            also 200 clients for 30 s

Each request has 200 rows: ids, scores, places and times; with --load 200 connections wait for an answer before they
ask again. Blocks of calls over HTTP and in process take turns, so that a busy machine slows both alike; the median of
the blocks is printed. CPU is user and system time of the server process alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np

import mascot as mc

_ROWS, _K = 200, 20
_BLOCKS, _CALLS = 9, 60
_WISHES = [{"spread": {"kind": "Place"}}, {"focus": {"kind": "HourOfDay", "column": "hour"}}]
_MARKET = [
    {"limit": "seller", "n": 2}, {"spread": {"kind": "Place", "lat": "geo.lat", "lon": "geo.lon"}},
    {"focus": {"kind": "Number", "column": "price"}, "near": 25, "within": 10},
]  # fmt: skip
OK = "HTTP/1.1 200 OK"


def _rows() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        "ids": [f"photo-{row}" for row in range(_ROWS)],
        "scores": rng.random(_ROWS).tolist(),
        "columns": {
            "lat": rng.uniform(-60, 70, _ROWS).tolist(),
            "lon": rng.uniform(-180, 180, _ROWS).tolist(),
            "hour": (rng.random(_ROWS) * 24).tolist(),
        },
    }


def _market_rows(rows: dict[str, Any]) -> dict[str, Any]:
    """Return the rows with sellers, prices and a nested place."""
    rng, columns = np.random.default_rng(3), rows["columns"]
    places = zip(columns["lat"], columns["lon"], strict=True)
    geo, price = [{"lat": lat, "lon": lon} for lat, lon in places], rng.uniform(5, 100, _ROWS).tolist()
    seller = [f"seller {number % 40}" for number in rng.zipf(1.5, _ROWS)]
    return {**rows, "columns": {"geo": geo, "price": price, "seller": seller}}


class Connection:
    """One kept connection that posts bodies."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def post(self, body: bytes) -> bytes:
        self._socket.sendall(_request(body))
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._socket.recv(65536)
        head, _, rest = answer.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(rest) < length:
            rest += self._socket.recv(65536)
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(rest.decode())
        return rest


def _request(body: bytes) -> bytes:
    head = "POST /api/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process."""
    files = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in files) / 1e9


def _compare(name: str, pid: int, remote: Callable[[], Any], local: Callable[[], Any], bar_ms: float) -> float:
    """Print the CPU time of the server per call beside the call in this process, and return it in milliseconds."""
    for _ in range(_CALLS):
        remote(), local()
    server_ms, process_ms = [], []
    for _ in range(_BLOCKS):
        before = cpu_seconds(pid)
        for _ in range(_CALLS):
            remote()
        server_ms.append((cpu_seconds(pid) - before) / _CALLS * 1e3)
        before = time.process_time()
        for _ in range(_CALLS):
            local()
        process_ms.append((time.process_time() - before) / _CALLS * 1e3)
    server, own = float(np.median(server_ms)), float(np.median(process_ms))
    print(
        f"{name:<22} server {server:6.2f} ms ({min(server_ms):.2f}..{max(server_ms):.2f}), "
        f"{1e3 / server:5.0f} calls/s/core; in process {own:6.2f} ms; "
        f"service's own {server - own:5.2f} ms; bar {bar_ms} ms"
    )
    return server


def _compare_reasons(name: str, request: dict[str, Any], pid: int, connection: Connection) -> None:
    """Print the CPU time of the server for a request without and with reasons, and the ratio of the two rates."""
    bodies = [json.dumps({**request, "explain": explain}).encode() for explain in (False, True)]
    times: list[list[float]] = [[], []]
    for _ in range(_BLOCKS + 1):
        for body, own in zip(bodies, times, strict=True):
            before = cpu_seconds(pid)
            for _ in range(_CALLS):
                connection.post(body)
            own.append((cpu_seconds(pid) - before) / _CALLS * 1e3)
    plain, explained = (float(np.median(own[1:])) for own in times)  # the first block warms up
    print(
        f"{name:<22} server {plain:6.2f} ms, with reasons {explained:6.2f} ms: "
        f"{plain / explained:.2f} of the rate without; bar 0.5"
    )


async def load(
    port: int, bodies: Sequence[bytes], clients: int, seconds: float
) -> tuple[Counter[tuple[int, str]], list[float]]:
    """Return how often each body got each status line, and the latencies in seconds.

    Each client has one connection and one of the bodies. It waits for an answer before it asks again.
    """
    statuses: Counter[tuple[int, str]] = Counter()
    latencies: list[float] = []
    ends = time.monotonic() + seconds

    async def ask(number: int) -> None:
        request = _request(bodies[number])
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            while time.monotonic() < ends:
                started = time.perf_counter()
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
                latencies.append(time.perf_counter() - started)
                statuses[number, head.split(b"\r\n")[0].decode()] += 1
            writer.close()
        except (OSError, asyncio.IncompleteReadError) as error:
            statuses[number, type(error).__name__] += 1

    await asyncio.gather(*(ask(client % len(bodies)) for client in range(clients)))
    return statuses, latencies


def print_load(port: int, bodies: Sequence[bytes], clients: int, seconds: float) -> None:
    """Print the rate, the latencies and the errors under load; exit if there is an error."""
    statuses, latencies = asyncio.run(load(port, bodies, clients, seconds))
    errors = {status: count for (_, status), count in statuses.items() if status != OK}
    p50, p95, p99 = np.percentile(np.array(latencies) * 1e3, [50, 95, 99])
    print(
        f"{clients} clients, {seconds:.0f} s: {len(latencies)} calls, {sum(errors.values())} errors, "
        f"{len(latencies) / seconds:.0f} a second; p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms"
    )
    if errors:
        raise SystemExit(f"errors: {errors}")


@contextmanager
def served(*options: str) -> Iterator[tuple[int, int]]:
    """Run `mascot serve` without a library; yield its process id and port once it is ready."""
    command = [sys.executable, "-m", "mascot.cli", "serve", "--no-library", "--port", "0", *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MASCOT_")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr is not None
            address = process.stderr.readline().split()[1]
            urlopen(f"{address}readyz").close()
            yield process.pid, int(address.rstrip("/").rpartition(":")[2])
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--workers", type=int, default=1, help="for --load")
    options = parser.parse_args()
    rows = _rows()
    places = {**rows, "wishes": _WISHES, "k": _K}
    body = json.dumps(places).encode()
    requests = {"place + hour": places, "market": {**_market_rows(rows), "wishes": _MARKET, "k": _K}}
    from mascot.server.rerank.rerank_task import kernel_name

    kernel_name()  # the in-process call uses the compiled kernel too
    wishes = [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("hour"))]

    def local() -> mc.Ranking:
        return mc.rerank(mc.Candidates(rows["scores"], rows["ids"], rows["columns"]), wishes, _K)

    with served() as (pid, port):
        connection = Connection(port)
        print(f"{_ROWS} rows, place + hour, mascot {mc.__version__}, kernel {kernel_name()}, {os.cpu_count()} cores")
        _compare("JSON", pid, lambda: connection.post(body), local, 1.5)
        for name, request in requests.items():
            _compare_reasons(name, request, pid, connection)
    if options.load:
        with served("--workers", str(options.workers)) as (_, port):
            print_load(port, [body], options.clients, options.seconds)


if __name__ == "__main__":
    main()
