"""Connections: uvicorn's HTTP/1.1 protocol with timeouts, limits and a lossless drain."""

from __future__ import annotations

import asyncio
import select
from collections import OrderedDict, deque
from typing import Any

import msgspec
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from mascot.server.responses import failure
from mascot.server.settings import Settings

_HEADER_BYTES = 64 * 1024
_PIECE_BYTES, _BODY_PIECE_BYTES = 1024, 8192  # that are parsed before looking whether requests wait
_MOST_QUEUED = 32  # requests of a connection that wait for the answers before them
_LINGER_S = 2.0  # for an idle connection to send one more request after SIGTERM
_READ_S = 0.05  # interval of looking for unread bytes on a connection


class _Flow(FlowControl):
    """Flow control that does not read while requests wait: uvicorn resumes after each answer and in each handler."""

    def __init__(self, transport: Any, queue: deque[Any]) -> None:
        super().__init__(transport)
        self._queue = queue

    def resume_reading(self) -> None:
        if not self._queue:
            super().resume_reading()


class GuardedProtocol(HttpToolsProtocol):
    """One connection.

    - Headers must arrive within `header_timeout_s` and be at most 64 KiB.
    - Beyond `connections` the connection that has waited longest without a complete request is closed, so that
      half-sent requests cannot lock out other clients.
    - While pipelined requests wait, nothing more is read. A client that does not read its answers for
      `body_timeout_s` is disconnected.
    - A request with an ambiguous length ends its connection.
    - A draining server still answers requests on open connections, with `Connection: close`.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        state = vars(self.server_state)
        self._settings: Settings = state.get("mascot_settings") or Settings.from_environment()
        state["mascot_settings"] = self._settings
        # Connections without a running request; the one that has waited longest comes first.
        self._waiting: OrderedDict[GuardedProtocol, None] = state.setdefault("mascot_waiting", OrderedDict())
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._unread = b""  # bytes after the requests that wait
        self._header_bytes = 0
        self._in_headers = self._draining = False

    def connection_made(self, transport: Any) -> None:
        """Accept the connection; close the oldest idle one if there are too many."""
        if len(self.connections) >= self._settings.connections:
            oldest = next(iter(self._waiting), None)
            if oldest is None:  # every connection has a running request
                transport.abort()
                return
            oldest._forget()
            oldest.transport.abort()
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        self._waiting[self] = None
        self._set_timer(self._settings.header_timeout_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self._clear_write_timer()
        self._unread = b""
        super().connection_lost(exc)

    def _forget(self) -> None:
        self._clear_timer()
        self._waiting.pop(self, None)
        self.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        """Parse in pieces until a request has to wait; keep the rest, and read no more."""
        data, start = self._unread + data, 0
        while start < len(data) and not self.pipeline and not self.transport.is_closing():
            in_body = not self._in_headers and self.cycle is not None and self.cycle.more_body
            piece = data[start : start + (_BODY_PIECE_BYTES if in_body else _PIECE_BYTES)]
            start += len(piece)
            self._parse(piece)
        self._unread = data[start:]
        if self.pipeline:
            self.flow.pause_reading()

    def _parse(self, data: bytes) -> None:
        if self._in_headers:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._in_headers and self._header_bytes > _HEADER_BYTES:
            self._refuse(431, "TooLarge", f"headers must be at most {_HEADER_BYTES} bytes")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self._settings.body_timeout_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._clear_write_timer()
        super().resume_writing()

    def _clear_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers, self._header_bytes = True, 0
        self._set_timer(self._settings.header_timeout_s)

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._clear_timer()
        self._waiting.pop(self, None)
        super().on_headers_complete()
        if self.cycle is not None and (self._draining or _is_ambiguous(self.headers)):
            self.cycle.keep_alive = False
        if len(self.pipeline) > _MOST_QUEUED:
            self.transport.abort()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() or self.pipeline:
            return
        self.data_received(b"")  # parses what was kept
        self.flow.resume_reading()
        if not self.cycle.response_complete:
            return
        self._waiting[self] = None
        if self.cycle.more_body:  # the remainder of a refused body is read and discarded, within a time limit
            self._set_timer(self._settings.body_timeout_s)

    def shutdown(self) -> None:
        """Start to drain: the running or next request is the last one."""
        self._draining = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
        elif not self._in_headers:
            self._unset_keepalive_if_required()
            self._set_timer(_LINGER_S)

    def _set_timer(self, seconds: float) -> None:
        self._clear_timer()
        self._timer = self.loop.call_later(seconds, self._on_timeout)

    def _clear_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timeout(self) -> None:
        if self._draining and self._is_idle() and _has_unread(self.transport):  # a request arrived at the last moment
            self._set_timer(_READ_S)
        elif self._in_headers and not self.pipeline and (self.cycle is None or self.cycle.response_complete):
            self._refuse(408, "Timeout", "the headers did not arrive in time")
        else:
            self.transport.close()

    def _is_idle(self) -> bool:
        """Return whether no part of a request has been read since the last answer."""
        return not (self._in_headers or self._unread) and (
            self.cycle is None or (self.cycle.response_complete and not self.cycle.more_body)
        )

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that is not valid HTTP, and close the connection."""
        self._refuse(400, "BadRequest", msg)

    def _refuse(self, status: int, kind: str, message: str) -> None:
        self._in_headers = False
        self._clear_timer()
        if self.transport.is_closing():
            return
        body = msgspec.json.encode(failure(kind, message))
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()


def _has_unread(transport: Any) -> bool:
    """Return whether bytes have arrived that were not read yet."""
    if transport.is_closing() or not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return any(event & select.POLLIN and not event & select.POLLHUP for _, event in poll.poll(0))


def _is_ambiguous(headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether two servers could disagree about where the request ends (request smuggling)."""
    lengths = [value for name, value in headers if name == b"content-length"]
    codings = [value for name, value in headers if name == b"transfer-encoding"]
    return len(lengths) + len(codings) > 1 or any(value.lower() != b"chunked" for value in codings)
