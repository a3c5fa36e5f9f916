"""Connections that are cut where the head of an answer takes too long: a time-out alone starts anew with each byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import requests.adapters
from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection


class HurriedAdapter(requests.adapters.HTTPAdapter):
    """As usual, but for the head of an answer there are `patience` seconds in all."""

    def __init__(self, patience: float, **rest: Any) -> None:
        self._pools = _pools(patience)
        super().__init__(**rest)

    def init_poolmanager(self, *args: Any, **rest: Any) -> None:
        super().init_poolmanager(*args, **rest)
        self.poolmanager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, *args: Any, **rest: Any) -> Any:
        manager = super().proxy_manager_for(*args, **rest)
        manager.pool_classes_by_scheme = self._pools
        return manager


def _pools(patience: float) -> dict[str, Any]:
    class Plain(HTTPConnection):
        def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3's own
            with _cut_after(patience, self.sock):
                return super().getresponse()

    class Secure(HTTPSConnection):
        def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3's own
            with _cut_after(patience, self.sock):
                return super().getresponse()

    class Http(HTTPConnectionPool):
        ConnectionCls = Plain

    class Https(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": Http, "https": Https}


@contextmanager
def _cut_after(seconds: float, connection: socket.socket | None) -> Iterator[None]:
    if connection is None:
        yield
        return
    timer = threading.Timer(seconds, _cut, (connection,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):
        # Of the plain socket below TLS, which another thread may still be reading.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
