"""Counts and times of requests for Prometheus, over all worker processes; and the answer to a request that failed."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mascot.server.guard import send_answer
from mascot.server.models import failure

CONTENT_TYPE = CONTENT_TYPE_LATEST
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where the workers of one server keep their counts
_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
FAILED = failure("InternalError", "the server failed; its log says where")
log = logging.getLogger("mascot.server")


class Metrics:
    """The metrics of one process.

    Parameters
    ----------
    photos
        Function that counts the photographs of the library, if there is one.
    """

    def __init__(self, photos: Callable[[], int] | None) -> None:
        self.registry, self._count = CollectorRegistry(), photos
        self.requests = Counter("mascot_requests", "Requests answered", ["route", "status"], registry=self.registry)
        self.seconds = Histogram(
            "mascot_request_seconds", "Time to answer", ["route"], buckets=_BUCKETS, registry=self.registry
        )
        self.running = Gauge(
            "mascot_requests_running", "Requests being answered", registry=self.registry, multiprocess_mode="livesum"
        )
        self.held_bytes = Gauge(
            "mascot_held_bytes", "Bytes of unfinished requests", registry=self.registry, multiprocess_mode="livesum"
        )
        self._photos = None
        if photos is not None:
            self._photos = Gauge(
                "mascot_photos", "Photographs in the library", registry=self.registry, multiprocess_mode="mostrecent"
            )

    def text(self) -> bytes:
        """Return all metrics in the format of Prometheus."""
        if self._photos is not None and self._count is not None:
            self._photos.set(self._count())
        if SHARED_FOLDER not in os.environ:
            return generate_latest(self.registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    def close(self) -> None:
        """Remove the gauges of this process."""
        if SHARED_FOLDER in os.environ:
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]


class RequestCounter:
    """Middleware: counts and times every request, and turns an unexpected exception into an error answer.

    prometheus-fastapi-instrumentator would fit too, but matches every route twice: 47 us a request, this takes 9.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, is_recorded = 0, False
        start = time.perf_counter()

        def record() -> None:
            nonlocal is_recorded
            if not is_recorded:
                is_recorded = True
                # The pattern of the route, not the path: each photograph id would be a time series of its own.
                route = scope.get("route_path") or "other"
                self._metrics.requests.labels(route, status).inc()
                self._metrics.seconds.labels(route).observe(time.perf_counter() - start)

        async def recording_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body" and not message.get("more_body"):
                record()  # before the last byte: a client that has its answer finds it counted
            await send(message)

        self._metrics.running.inc()
        try:
            await self._app(scope, receive, recording_send)
        except Exception:
            identity = scope.get("request_id", b"").decode("latin-1")
            log.exception("%s %s failed (request %s)", scope["method"], scope["path"], identity)
            if status:
                raise  # part of the answer was sent: only closing the connection tells the client
            await send_answer(recording_send, 500, b"application/json", msgspec.json.encode(FAILED))
        finally:
            self._metrics.running.dec()
            record()
