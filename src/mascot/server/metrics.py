"""Counts and times of requests, for Prometheus; and the answer where the server itself failed."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from mascot.server.guard import App, Message, Receive, Scope, Send

CONTENT_TYPE = CONTENT_TYPE_LATEST
_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5)
FAILED = {"error": {"kind": "InternalError", "message": "the server failed; its log says where"}}
log = logging.getLogger("mascot.server")


class Metrics:
    """What is counted, in a registry of its own."""

    def __init__(self, count: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("mascot_requests", "Requests answered", ["route", "status"], registry=self.registry)
        self.seconds = Histogram(
            "mascot_request_seconds", "Time to answer", ["route"], buckets=_BUCKETS, registry=self.registry
        )
        self.running = Gauge("mascot_requests_running", "Requests being answered", registry=self.registry)
        photos = Gauge("mascot_photos", "Photographs in the library", registry=self.registry)
        photos.set_function(lambda: float(count()))

    def text(self) -> bytes:
        return generate_latest(self.registry)


class Counted:
    """Middleware: counts and times every request, and turns an unforeseen exception into a failure like others."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        started = time.perf_counter()
        with self._metrics.running.track_inprogress():
            try:
                await self._app(scope, receive, noted)
            except Exception:
                log.exception("%s %s failed", scope["method"], scope["path"])
                if status:
                    raise  # the answer was under way: only breaking it off tells the client
                body = json.dumps(FAILED).encode()
                headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
                await noted({"type": "http.response.start", "status": 500, "headers": headers})
                await noted({"type": "http.response.body", "body": body})
        # The pattern of the route, not the path: numbers of photographs would make a series each.
        route = getattr(scope.get("route"), "path", "other")
        self._metrics.requests.labels(route, status).inc()
        self._metrics.seconds.labels(route).observe(time.perf_counter() - started)
