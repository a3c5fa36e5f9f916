"""Requests that are valid but expensive, pipelined or expanding: memory and waiting stay bounded. Loopback only."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from starlette.exceptions import HTTPException

import mascot as mc
from mascot.server import make_app
from mascot.server.request_body import LARGE, MSGPACK, decoded_size
from mascot.server.rerank.rerank_task import RerankTask
from mascot.server.responses import JSON
from mascot.server.settings import Settings
from tests.retelling import wait_for
from tests.server.serving import hosted, message, read_answer, read_to_end

LABELS = [["a"] * 4000] * 100


@pytest.mark.parametrize(
    ("columns", "wishes", "rule"),
    [
        ({"x": LABELS}, [{"spread": "x"}] * 12, "labels of all candidates"),
        ({"x": LABELS}, [{"limit": "x", "n": 1}] * 12, "labels of all candidates"),
        ({"x": [["a"] * 4000], "y": [["b"] * 4000]}, [{"limit": ["x", "y"], "n": 1}], "labels of all candidates"),
        ({"x": [["a" * 900] * 300], "y": [["b" * 900] * 300]}, [{"limit": ["x", "y"], "n": 1}], "characters"),
    ],
)
def test_labels_are_counted_before_they_are_read(columns: dict[str, Any], wishes: list[Any], rule: str) -> None:
    count = len(columns["x"])
    with pytest.raises(mc.OptionError, match=rule):
        RerankTask(msgspec.json.encode({"scores": [1.0] * count, "columns": columns, "wishes": wishes}))


def test_health_does_not_wait_for_a_large_body(monkeypatch: pytest.MonkeyPatch) -> None:
    running, release = threading.Event(), threading.Event()

    class SlowTask(RerankTask):
        def __init__(self, *args: Any) -> None:
            running.set()
            release.wait()
            super().__init__(*args)

    monkeypatch.setattr("mascot.server.rerank.rerank_routes.RerankTask", SlowTask)
    body = msgspec.json.encode({"scores": [0.5] * 5000, "ids": [f"id {number}" for number in range(5000)]})
    assert len(body) > LARGE
    with hosted() as server, server.client() as client:
        answers: list[int] = []

        def post_body() -> None:
            answers.append(client.post("/api/rerank", content=body, headers={"content-type": JSON}).status_code)

        post = threading.Thread(target=post_body)
        post.start()
        wait_for(running.is_set)
        with server.client() as other:
            assert other.get("/healthz").status_code == 200
        release.set()
        post.join()
    assert answers == [200]


def test_bodies_wait_for_memory_and_too_large_ones_are_refused() -> None:
    values = msgspec.json.encode({"scores": [0.5] * 5000})
    most = (1 << 20) + 2 * decoded_size(values, JSON)
    with hosted(held_bytes=1 << 20, memory_bytes=most) as server, server.client() as client:
        statuses: list[int] = []

        def post() -> None:
            with server.client() as own:
                statuses.append(own.post("/api/rerank", content=values, headers={"content-type": JSON}).status_code)

        threads = [threading.Thread(target=post) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [200] * 8
        nested = b'{"records":[{"x":[' + b"[]," * 20_000 + b"[]]}]}"
        refusal = client.post("/api/rerank", content=nested, headers={"content-type": JSON})
        assert "bytes of memory" in message(refusal, 413)
    with pytest.raises(mc.OptionError, match="held_bytes"):
        make_app(Settings(held_bytes=2 << 20, memory_bytes=1 << 20))


@pytest.mark.parametrize(
    ("body", "format_"),
    [
        (b'{"columns":{%s}}' % b",".join(b'"%d":[1]' % number for number in range(300_000)), JSON),
        (b"\x81\xa7columns\xdf\0\x0f\x42\x40", MSGPACK),
    ],
)
def test_very_many_columns_are_refused_before_they_are_decoded(body: bytes, format_: str) -> None:
    """The decoder held the interpreter for 1.4 seconds."""
    with pytest.raises(HTTPException, match="too many") as refusal:
        decoded_size(body, format_)
    assert refusal.value.status_code == 413


def test_pipelined_requests_are_read_as_they_are_answered() -> None:
    """A client that never reads is not read from, either; one that reads gets every answer in order."""
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: %05d\r\n\r\n"
    content = b"".join(request % number for number in range(5000))
    with hosted() as server:
        with server.connect() as silent:
            silent.setblocking(False)
            state, sent = server.process.server_state, 0

            def is_blocked() -> bool:
                nonlocal sent
                with suppress(BlockingIOError):
                    while True:
                        sent += silent.send(content[sent % len(content) :])
                flows = [connection.flow for connection in list(state.connections)]
                return any(flow.write_paused and flow.read_paused for flow in flows)

            wait_for(is_blocked)
            assert is_blocked()
            assert sent < 32 << 20, "what the socket buffers hold"
            assert len(state.tasks) <= 2
        with server.connect() as connection:
            sender = threading.Thread(target=connection.sendall, args=(content,))
            sender.start()
            answers = b""
            while answers.count(b"HTTP/1.1 200") < 5000 or not answers.endswith(b'"}'):
                answers += connection.recv(1 << 20)
            sender.join()
        ids = [int(part[:5]) for part in answers.split(b"x-request-id: ")[1:]]
        assert ids == list(range(5000))


def test_a_client_that_does_not_read_is_disconnected() -> None:
    request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with hosted(body_timeout_s=0.3) as server, server.connect() as silent:
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        silent.sendall(request * 1000)
        state = server.process.server_state
        wait_for(lambda: state.total_requests > 0 and not state.connections)


def test_too_many_tiny_requests_end_the_connection() -> None:
    with hosted() as server:
        with server.connect() as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n" * 1000)
            assert read_to_end(connection).count(b"HTTP/1.1 ") < 1000
        with server.connect() as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in read_answer(connection)
