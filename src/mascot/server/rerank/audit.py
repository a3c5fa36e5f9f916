"""The audit log: one line of JSON per re-ranked page, for all requests or a share of them."""

from __future__ import annotations

import os
import sys
import threading
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.types import Scope

import mascot as mc
from mascot.reasons.missed import MissedRule
from mascot.server.middleware import log
from mascot.server.schemas import ProfileUsed

try:
    from fcntl import LOCK_EX, LOCK_UN, lockf
except ModuleNotFoundError:  # Windows, where there is one process
    lockf = None  # type: ignore[assignment]

Record = Callable[[Any, mc.Ranking[Any], mc.Candidates, float], None]
_STANDARD_OUTPUT = "-"
_HASHES = 2**32


class AuditedResult(msgspec.Struct):
    """A result: its id, its rank by score, and the code of its reason.

    The code is `pinned`, `protected`, the largest gain (`relevance` or the name of an attribute), or `method` if the
    method has no gains.
    """

    id: Any
    was: int
    code: str


class AuditLine(msgspec.Struct, omit_defaults=True):
    time: str
    request: str
    traceparent: str
    profile: ProfileUsed | msgspec.UnsetType
    k: int
    seconds: float
    candidates: list[Any]
    results: list[AuditedResult]
    missed: list[MissedRule]


class AuditLog:
    """A file to which each process appends whole lines. `share` is the share of requests that are logged.

    A hash of the request id decides, so that services that pass it on log the same requests.
    """

    def __init__(self, path: str | None, share: float) -> None:
        self._share, self._file, self._lock = share, -1, threading.Lock()
        try:
            if path == _STANDARD_OUTPUT:
                self._file = sys.stdout.fileno()
            elif path is not None:
                self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
        except OSError as error:
            raise mc.OptionError(f"the audit log {path} cannot be written: {error.strerror}") from None

    def recorders(self, scope: Scope) -> list[Record]:
        """Return the function that logs the page of this request, if it is in the sample."""
        if self._file < 0 or zlib.crc32(scope["request_id"]) >= self._share * _HASHES:
            return []
        request, trace = (scope[name].decode("latin-1") for name in ("request_id", "traceparent"))

        def record(profile: Any, ranking: mc.Ranking[Any], candidates: mc.Candidates, seconds: float) -> None:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            ids, missed = list(candidates.ids), ranking.missed_rules()
            line = AuditLine(now, request, trace, profile, ranking.k, round(seconds, 6), ids, _results(ranking), missed)
            self.append(msgspec.json.encode(line) + b"\n")

        return [record]

    def append(self, line: bytes) -> None:
        """Write a whole line. Processes and threads take turns, because a pipe takes a long line in parts."""
        try:
            with self._lock:
                if lockf is not None:
                    lockf(self._file, LOCK_EX)
                while line:
                    line = line[os.write(self._file, line) :]
                if lockf is not None:
                    lockf(self._file, LOCK_UN)
        except OSError as error:
            log.error("the audit log cannot be written: %s", error.strerror)


def _results(ranking: mc.Ranking[Any]) -> list[AuditedResult]:
    gains = {name: values.tolist() for name, values in ranking.gains.items()}
    results = []
    for place, (id_, was, cause) in enumerate(zip(ranking.ids, ranking.was.tolist(), ranking.causes, strict=True)):
        code = max(gains, key=lambda name: gains[name][place]) if gains else "method"
        results.append(AuditedResult(id_, was, code if cause == "best" else cause))
    return results
