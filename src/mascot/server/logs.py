"""Logging of the server: to standard error, at a limited rate."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

_LOGGERS = ("mascot.server", "uvicorn.error", "asyncio")
_MOST, _EVERY_S = 30, 10.0  # records of one kind per period


class RateLimit(logging.Filter):
    """Let through a limited number of records of each kind in each period, then log how many were dropped.

    A kind is the line of code that logs. Without a limit a client could fill the disk.
    """

    def __init__(self, most: int = _MOST, every_s: float = _EVERY_S) -> None:
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


# As `logging.config.dictConfig` takes it; every worker process applies it.
LOG_CONFIG: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"rate": {"()": RateLimit}},
    "formatters": {"line": {"format": "mascot: %(levelname)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["rate"]}},
    "loggers": {name: {"handlers": ["stderr"], "level": "WARNING", "propagate": False} for name in _LOGGERS},
}
