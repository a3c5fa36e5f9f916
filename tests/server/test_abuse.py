"""The server under abuse: half-sent requests, unfinished bodies, ambiguous framing, wrong tokens. Loopback only."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Message

from mascot.server.guard import Guard
from mascot.server.run.threads import ClientLeft, Threads, client_has_left
from tests.server.serving import Served, hosted, read_to_end, served

HOST = b"Host: localhost\r\n"
POST = b"POST /api/rerank HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server process with small budgets."""
    limits = {"MASCOT_CONNECTIONS": "300", "MASCOT_HELD_BYTES": str(64 << 20)}
    with served(tmp_path_factory.mktemp("abuse"), **limits) as server:
        yield server


@pytest.fixture(scope="module")
def impatient() -> Iterator[Served]:
    """A server with short timeouts."""
    with hosted(header_timeout_s=0.5, body_timeout_s=0.5) as server:
        yield server


def _memory_mb(server: Served) -> float:
    path = Path(f"/proc/{server.process.pid}/status")
    if not path.exists():
        pytest.skip("needs /proc")
    line = next(line for line in path.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def test_1100_half_sent_requests_do_not_stop_it(small: Served) -> None:
    """More connections than the process may have files by default, each with half a header."""
    lines = len(small.log)
    with ExitStack() as stack:
        for number in range(1100):
            try:
                connection = stack.enter_context(small.connect())
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHo")
            except ConnectionError:
                continue  # closed by the server already
            if number % 100 == 99:
                with small.client() as client:
                    assert client.get("/healthz").status_code == 200
                    assert client.post("/api/rerank", json={"scores": [1]}).status_code == 200
    assert len(small.log) - lines < 50, small.log[-5:]
    assert small.process.poll() is None


def test_60_unfinished_bodies_hold_a_bounded_amount_of_memory(small: Served) -> None:
    before, most = _memory_mb(small), 0.0
    with ExitStack() as stack:
        for _ in range(60):
            connection = stack.enter_context(small.connect())
            try:
                connection.sendall(POST + b"Content-Length: 16000000\r\n\r\n" + b" " * (8 << 20))
            except ConnectionError:
                continue  # it was refused meanwhile
            most = max(most, _memory_mb(small))
        with small.client() as client:
            assert client.post("/api/rerank", json={"scores": [1]}).status_code == 200
    assert most - before < 200, "480 MB were sent, 64 MB may be held"


def test_bodies_and_headers_must_arrive_in_time_and_headers_be_short(impatient: Served) -> None:
    with ExitStack() as stack:
        idle, slow, body, long = (stack.enter_context(impatient.connect()) for _ in range(4))
        slow.sendall(b"GET / HTTP/1.1\r\nHo")
        body.sendall(POST + b"Content-Length: 100\r\n\r\n{")
        long.sendall(b"GET / HTTP/1.1\r\n" + HOST)
        with pytest.raises(ConnectionError):  # noqa: PT012 - closed while it sends
            while True:
                long.sendall(b"A: " + b"x" * 10_000 + b"\r\n")
                time.sleep(0.01)
        assert read_to_end(idle) == b""
        assert read_to_end(slow).startswith(b"HTTP/1.1 408")
        answer = read_to_end(body)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"connection: close" in answer
        assert b"did not arrive in time" in answer


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: 2\r\nContent-Length: 3\r\n",
        b"Transfer-Encoding: chunked, identity\r\n", b"Transfer-Encoding: xchunked\r\n", b"Content-Length: +2\r\n",
        b"Transfer-Encoding : chunked\r\n", b"X: 1\r\n Content-Length: 2\r\n",
    ],
)  # fmt: skip
def test_ambiguous_framing_ends_the_connection(impatient: Served, framing: bytes) -> None:
    smuggled = b"GET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n"
    with impatient.connect() as connection:
        connection.sendall(POST + framing + b"\r\n0\r\n\r\n" + smuggled)
        answer = read_to_end(connection)
    assert answer.count(b"HTTP/1.1") <= 1
    assert b"200 OK" not in answer
    assert not answer or b"connection: close" in answer.lower()
    assert b"smuggled" not in answer


def test_repeated_wrong_tokens_are_answered_more_and_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    delays: list[float] = []

    async def sleep(seconds: float) -> None:
        delays.append(seconds)

    def ask(token: str, address: str = "192.0.2.1") -> int:
        client = TestClient(guard, client=(address, 1))
        return client.get("/metrics", headers={"authorization": f"Bearer {token}"}).status_code

    guard = Guard(PlainTextResponse("answered"), "right")
    monkeypatch.setattr("mascot.server.guard.anyio", SimpleNamespace(sleep=sleep))
    assert {ask("wrong") for _ in range(13)} == {401}
    assert delays == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert (ask("right"), ask("wrong", "192.0.2.2")) == (200, 401)
    assert len(delays) == 8, "the right token and other addresses never wait"


def test_work_stops_when_the_client_leaves() -> None:
    """Twelve calls that would never end, for one thread: those that run are told to stop, the others are dropped."""
    threads = Threads("search", 1)
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        while not client_has_left():
            time.sleep(0.001)

    async def leave_when_it_runs() -> Message:
        while not begun:
            await anyio.sleep(0.001)
        return {"type": "http.disconnect"}

    async def ask(number: int) -> None:
        with pytest.raises(ClientLeft):
            await threads.run_while_connected(leave_when_it_runs, work, number)

    async def attack() -> None:
        async with anyio.create_task_group() as clients:
            for number in range(12):
                clients.start_soon(ask, number)
        assert await threads.run(client_has_left) is False, "the thread is free, and its next client is there"

    anyio.run(attack)
    assert begun[0] == 0
