"""Server processes: one, or several that share a socket and are restarted one by one; and their logs."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.supervisors import Multiprocess

from mascot.server.middleware import SHARED_FOLDER, log
from mascot.server.run.protocol import GuardedProtocol
from mascot.server.settings import Settings

_SPARE_FILES = 200  # files and sockets of the process besides its connections
_WORKER_START_S = 120
_INTERRUPTED_S = 1  # for running requests to finish after Ctrl+C
_LOGGERS = ("mascot.server", "uvicorn.error", "asyncio")


class RateLimit(logging.Filter):
    """Pass a limited number of records per line of code and period, and report how many were dropped.

    Without a limit a client could fill the disk.
    """

    def __init__(self, most: int = 30, every_s: float = 10.0) -> None:
        super().__init__()
        self._most, self._every_s = most, every_s
        self._periods: dict[tuple[str, int], tuple[float, int]] = {}  # start and records, by kind
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        kind, now = (record.pathname, record.lineno), time.monotonic()
        with self._lock:
            start, count = self._periods.get(kind, (now, 0))
            omitted = 0
            if now - start >= self._every_s:
                start, count, omitted = now, 0, max(count - self._most, 0)
            self._periods[kind] = (start, count + 1)
        if omitted:
            record.msg, record.args = f"{record.getMessage()} ({omitted} more like this were not logged)", None
        return count < self._most


# For `logging.config.dictConfig`, which every worker process calls: log to standard error.
LOG_CONFIG: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"rate": {"()": RateLimit}},
    "formatters": {"line": {"format": "mascot: %(levelname)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["rate"]}},
    "loggers": {name: {"handlers": ["stderr"], "level": "WARNING", "propagate": False} for name in _LOGGERS},
}


def serve(settings: Settings, listener: socket.socket, workers: int, ready: Callable[[], None]) -> None:
    """Serve on a listening socket until a signal. SIGTERM lets running requests finish; SIGHUP restarts the workers."""
    _raise_file_limit(settings.connections)
    os.environ.update(settings.to_environment())  # workers and connections read their settings from it
    config = uvicorn.Config(
        "mascot.server:make_app", factory=True, http=GuardedProtocol, ws="none", workers=workers, log_config=LOG_CONFIG,
        access_log=False, server_header=False, proxy_headers=False, timeout_keep_alive=round(settings.keep_alive_s),
        timeout_graceful_shutdown=round(settings.grace_s), timeout_worker_healthcheck=_WORKER_START_S, backlog=2048,
    )  # fmt: skip
    if workers == 1:
        DrainingServer(config, ready).run(sockets=[listener])
        return
    folder = tempfile.mkdtemp(prefix="mascot-metrics-")
    os.environ[SHARED_FOLDER] = folder
    try:
        Workers(config, [listener], ready).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _raise_file_limit(connections: int) -> None:
    """Raise the limit of open files to what the connections need, as far as the system permits."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = connections + _SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < files:
        limit = files if hard == resource.RLIM_INFINITY else min(files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


class DrainingServer(uvicorn.Server):
    """A server that answers all requests that arrived before SIGTERM, including connections in the backlog."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Start the shutdown; Ctrl+C shortens the wait for running requests."""
        if sig == signal.SIGINT:
            self.config.timeout_graceful_shutdown = _INTERRUPTED_S
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        backlog = [socket.socket(fileno=os.dup(sock.fileno())) for sock in sockets or []]
        for server in self.servers:
            server.close()
        for sock in backlog:
            await self._accept_all(sock)
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # closed connections are expected now
        await super().shutdown(sockets)

    async def _accept_all(self, sock: socket.socket) -> None:
        """Accept the connections that wait in the backlog of the socket."""
        protocol = partial(
            GuardedProtocol, config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        sock.setblocking(False)
        with sock:
            while True:
                try:
                    connection, _ = sock.accept()
                except OSError:
                    return
                connection.setblocking(False)
                await asyncio.get_running_loop().connect_accepted_socket(protocol, connection)


class Workers(Multiprocess):
    """Processes that share a socket. A dead process is replaced; SIGHUP replaces all of them one by one."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], ready: Callable[[], None]) -> None:
        super().__init__(config, sockets)
        self._ready = ready

    def init_processes(self) -> None:
        """Start the workers; call `ready` once all of them answer."""
        super().init_processes()
        if all(process.wait_until_ready(_WORKER_START_S, self.should_exit) for process in self.processes):
            self._ready()
        else:
            print("mascot: a worker did not start", file=sys.stderr, flush=True)
            self.should_exit.set()

    def keep_subprocess_alive(self) -> None:
        """Replace dead workers, log how they ended, and remove their running requests from the metrics."""
        workers = list(self.processes)
        for worker in workers:
            worker.child_conn.close()  # the worker has its own copy: its death then ends a health check at once
            with suppress(OSError, EOFError):
                while worker.parent_conn.poll():  # late answers, of a slow start: the check would take them for its own
                    worker.parent_conn.recv()
        super().keep_subprocess_alive()
        for worker in workers:
            if worker not in self.processes:
                mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
                code = worker.exitcode or 0
                end = f"was ended by signal {-code}" if code < 0 else f"exited with status {code}"
                log.error("worker %d %s; another one was started", worker.pid, end)


def exit_now() -> Any:
    """Exit without waiting for threads, because no thread has work that must be finished."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
