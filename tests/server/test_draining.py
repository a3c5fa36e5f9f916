"""A server that stops answers what has reached it, also what it had no time to read."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from mascot.server import protocol
from mascot.server.guard import send_answer
from mascot.server.protocol import GuardedProtocol


async def _application(scope: Scope, receive: Receive, send: Send) -> None:
    await send_answer(send, 200, b"text/plain", b"answered")


def test_a_request_that_arrives_at_the_last_moment_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer of an idle connection is due, and a request lies unread: it was lost."""
    uvloop = pytest.importorskip("uvloop")
    monkeypatch.setattr(protocol, "_LINGER_S", 0.01)
    config = uvicorn.Config(_application, log_config=None)
    config.load()
    connections: list[GuardedProtocol] = []

    def connect() -> GuardedProtocol:
        connections.append(GuardedProtocol(config=config, server_state=ServerState(), app_state={}))
        return connections[-1]

    async def attack() -> bytes:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(connect, "127.0.0.1", 0)
        near, far = socket.socketpair()
        with near, far, socket.create_connection(server.sockets[0].getsockname(), 60) as client:
            while not connections or connections[0].transport is None:
                await asyncio.sleep(0.001)

            def stand_still() -> None:
                loop.remove_reader(near)
                connections[0].shutdown()
                client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                time.sleep(0.05)

            loop.add_reader(near, stand_still)  # runs where sockets are read: timers come next
            far.send(b"!")
            answer = await loop.run_in_executor(None, client.recv, 65536)
            server.close()
            return answer

    loop = uvloop.new_event_loop()
    try:
        answer = loop.run_until_complete(attack())
    finally:
        loop.close()
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"connection: close" in answer.lower()
