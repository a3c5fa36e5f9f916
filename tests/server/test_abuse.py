"""The server under abuse: half-sent requests, unfinished bodies, ambiguous framing, wrong tokens. Loopback only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Message

from mascot.server.guard import Guard
from mascot.server.run.threads import ClientLeft, Threads, client_has_left
from tests.retelling import wait_for
from tests.server.serving import Served, hosted, read_answer, read_to_end, served

HOST = b"Host: localhost\r\n"
POST = b"POST /api/rerank HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"


@pytest.fixture(scope="module")
def patient() -> Iterator[Served]:
    """A server that waits for its clients."""
    with hosted() as server:
        yield server


def _answer(server: Served, content: bytes) -> bytes:
    """Send bytes, and return what the server sends before it closes the connection."""
    with server.connect() as connection:
        connection.sendall(content)
        return read_to_end(connection)


def test_half_sent_requests_do_not_stop_it(tmp_path: Path) -> None:
    """More connections than the server has room for, each with half a header."""
    with served(tmp_path, MASCOT_CONNECTIONS="20") as server, ExitStack() as stack:
        for number in range(60):
            with suppress(ConnectionError):  # closed by the server already
                stack.enter_context(server.connect()).sendall(b"GET /healthz HTTP/1.1\r\nHo")
            if number % 10 == 9:
                with server.client() as client:
                    assert client.get("/healthz").status_code == 200
                    assert client.post("/api/rerank", json={"scores": [1]}).status_code == 200
        assert len(server.log) < 50, server.log[-5:]


def test_the_oldest_unfinished_body_is_refused_if_they_hold_too_much() -> None:
    half = POST + b"Content-Length: 900000\r\n\r\n" + b" " * 600_000
    with hosted(held_bytes=1_000_000) as server, server.connect() as first, server.connect() as second:
        first.sendall(half)
        with server.client() as client:
            wait_for(lambda: "mascot_held_bytes 600000.0" in client.get("/metrics").text)
            second.sendall(half)
            assert read_to_end(first).startswith(b"HTTP/1.1 503")
            assert client.post("/api/rerank", json={"scores": [1]}).status_code == 200
        second.sendall(b'{"scores": [1]}'.rjust(300_000))
        assert b"200 OK" in read_answer(second)


def test_headers_must_arrive_in_time() -> None:
    with hosted(header_timeout_s=0.5) as server:
        assert _answer(server, b"") == b""
        # A client that is late with its first bytes is not told why.
        wait_for(lambda: _answer(server, b"GET / HTTP/1.1\r\nHo").startswith(b"HTTP/1.1 408"))


def test_bodies_must_arrive_in_time() -> None:
    with hosted(body_timeout_s=0.5) as server:
        answer = _answer(server, POST + b"Content-Length: 100\r\n\r\n{")
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in answer
    assert b"did not arrive in time" in answer


def test_headers_must_be_short(patient: Served) -> None:
    answer = _answer(patient, b"GET / HTTP/1.1\r\n" + HOST + b"A: " + b"x" * 67_000)
    assert not answer or answer.startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: 2\r\nContent-Length: 3\r\n",
        b"Transfer-Encoding: chunked, identity\r\n", b"Transfer-Encoding: xchunked\r\n", b"Content-Length: +2\r\n",
        b"Transfer-Encoding : chunked\r\n", b"X: 1\r\n Content-Length: 2\r\n",
    ],
)  # fmt: skip
def test_ambiguous_framing_ends_the_connection(patient: Served, framing: bytes) -> None:
    smuggled = b"GET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n"
    answer = _answer(patient, POST + framing + b"\r\n0\r\n\r\n" + smuggled)
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
    has_begun = threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        has_begun.set()
        wait_for(client_has_left)

    async def leave_when_it_runs() -> Message:
        await anyio.to_thread.run_sync(has_begun.wait)
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
