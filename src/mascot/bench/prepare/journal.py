"""What was already found out, one line for each thing, on disk as soon as it is known."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

_SYNC_SECONDS = 5.0


class Journal:
    """Keys and values in a file that only grows; of several lines of one key the last counts.

    A kill leaves at most one torn line, which is overwritten. Lines reach the system at once, so they outlive the
    process; they reach the disk every few seconds and at the end.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.known: dict[str, Any] = {}
        self.fresh: set[str] = set()  # keys that were put by this process
        self._lock = threading.Lock()
        self._synced = time.monotonic()
        self._stream = open(path, "ab+", buffering=0)  # noqa: SIM115 - it stays open
        self._stream.truncate(self._read())

    def put(self, key: str, value: Any) -> None:
        """Note a value, of what JSON has."""
        line = json.dumps([key, value], separators=(",", ":")).encode() + b"\n"
        with self._lock:
            self._stream.write(line)
            self.known[key] = value
            self.fresh.add(key)
            if time.monotonic() - self._synced > _SYNC_SECONDS:
                self._sync()

    def close(self) -> None:
        """To the disk, and done."""
        with self._lock:
            if not self._stream.closed:
                self._sync()
                self._stream.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read(self) -> int:
        """Read the good lines; where they end."""
        end = 0
        self._stream.seek(0)
        with open(self.path, "rb") as lines:
            for line in lines:
                try:
                    key, value = json.loads(line)
                except (ValueError, TypeError):
                    break
                if not line.endswith(b"\n") or not isinstance(key, str):
                    break
                self.known[key] = value
                end += len(line)
        return end

    def _sync(self) -> None:
        os.fsync(self._stream.fileno())
        self._synced = time.monotonic()
