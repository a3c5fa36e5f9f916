"""The id of every request, the headers of every answer, and metrics over all worker processes."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mascot.server.responses import INTERNAL, JsonAnswer

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where the workers of a server store their counts
REQUEST_ID, TRACEPARENT = "x-request-id", "traceparent"
_VALUES = {  # by header: which values a client may choose
    REQUEST_ID.encode(): re.compile(rb"[\w.:/+=-]{1,128}"),
    TRACEPARENT.encode(): re.compile(rb"(?!ff)[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}(-[\w.-]{1,64})?"),
}
_FIXED: dict[str, str] = json.loads(Path(__file__).with_name("headers.json").read_bytes())
_HEADERS = tuple((name.encode(), value.encode()) for name, value in _FIXED.items())  # of every answer
_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
log = logging.getLogger("mascot.server")


class Metrics:
    """The metrics of one process; `photos` returns the number of photographs, if there is a library."""

    def __init__(self, photos: Callable[[], int] | None) -> None:
        self.registry, self._count = CollectorRegistry(), photos
        self.requests = Counter("mascot_requests", "Requests answered", ["route", "status"], registry=self.registry)
        self.seconds = Histogram(
            "mascot_request_seconds", "Time to answer", ["route"], buckets=_BUCKETS, registry=self.registry
        )
        self.running = self._gauge("mascot_requests_running", "Requests being answered")
        self.held_bytes = self._gauge("mascot_held_bytes", "Bytes of unfinished requests")
        if photos is not None:
            self._photos = self._gauge("mascot_photos", "Photographs in the library", "mostrecent")

    def _gauge(self, name: str, text: str, mode: Any = "livesum") -> Gauge:
        return Gauge(name, text, registry=self.registry, multiprocess_mode=mode)

    def text(self) -> bytes:
        if self._count is not None:
            self._photos.set(self._count())
        if SHARED_FOLDER not in os.environ:
            return generate_latest(self.registry)
        workers = CollectorRegistry()
        MultiProcessCollector(workers)  # type: ignore[no-untyped-call]
        return generate_latest(workers)

    def close(self) -> None:
        """Remove the gauges of this process."""
        if SHARED_FOLDER in os.environ:
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]


class HeadersAndMetrics:
    """Outermost middleware: counts and times requests, sets headers and a request id on answers.

    An unexpected exception becomes an error answer. Pages of other origins may embed paths that match `shared`.
    prometheus-fastapi-instrumentator matches every route twice and takes 47 us per request; this takes 9.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, shared: re.Pattern[str] | None = None) -> None:
        self._app, self._metrics, self._shared = app, metrics, shared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        start, status, is_recorded = time.perf_counter(), 0, False
        ids = [(name, value) for name, value in scope["headers"] if name in _VALUES and _VALUES[name].fullmatch(value)]
        names = {REQUEST_ID.encode(): os.urandom(8).hex().encode()} | dict(ids)
        scope["request_id"] = names[REQUEST_ID.encode()]
        scope["traceparent"] = names.get(TRACEPARENT.encode(), b"")
        is_shared = self._shared is not None and self._shared.fullmatch(scope["path"])
        policy = (b"cross-origin-resource-policy", b"cross-origin" if is_shared else b"same-origin")

        def record() -> None:
            nonlocal is_recorded
            if not is_recorded:
                is_recorded = True
                self._metrics.running.dec()
                # The pattern of the route, not the path: otherwise each photograph would have its own time series.
                route = scope.get("route_path") or "other"
                self._metrics.requests.labels(route, status).inc()
                self._metrics.seconds.labels(route).observe(time.perf_counter() - start)

        async def recording_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *_HEADERS, policy, *names.items()]
            elif message["type"] == "http.response.body" and not message.get("more_body"):
                record()  # before the last byte, so that a client with its answer finds it counted
            await send(message)

        self._metrics.running.inc()
        try:
            await self._app(scope, receive, recording_send)
        except Exception:
            log.exception("%s %s failed (%s)", scope["method"], scope["path"], request_name(scope))
            if status:
                raise  # part of the answer was sent; closing the connection is the only way to signal the error
            await JsonAnswer(INTERNAL, 500)(scope, receive, recording_send)
        finally:
            record()


def request_name(scope: Scope) -> str:
    """Return the id of a request, and of its trace if there is one, for the log."""
    trace = scope["traceparent"].decode("latin-1")
    return f"request {scope['request_id'].decode('latin-1')}" + (f", trace {trace}" if trace else "")
