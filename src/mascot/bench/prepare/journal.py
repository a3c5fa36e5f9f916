"""Results by key in a file that only grows, so that a killed run continues where it stopped."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mascot.bench.prepare.losses import NO_ANSWER, Loss


class Journal:
    """A JSON line `[key, value]` for each result; of several lines with one key the last counts.

    A line is written with one system call, so it survives a kill of the process; a torn last line is overwritten.
    Losses without an answer are not read back: they are tried again, and `retried` names them.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.entries: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._stream = open(path, "ab+", buffering=0)  # noqa: SIM115 - it stays open
        end = 0
        with open(path, "rb") as lines:
            for line in lines:
                try:
                    key, value = json.loads(line)
                except (ValueError, TypeError):
                    break
                if not line.endswith(b"\n"):
                    break
                self.entries[key] = value
                end += len(line)
        self._stream.truncate(end)
        self.retried = {key for key, value in self.entries.items() if value.get("lost") == NO_ANSWER}
        for key in self.retried:
            del self.entries[key]

    def put(self, key: str, value: dict[str, Any]) -> None:
        """Write a result of JSON types."""
        with self._lock:
            self._stream.write(json.dumps([key, value], separators=(",", ":")).encode() + b"\n")
            self.entries[key] = value

    def settle(self, key: str, make: Callable[[], Any]) -> dict[str, Any]:
        """Return the entry of a key, ``{"ok": value}`` or a loss; if there is none, `make` its value and write it."""
        if key not in self.entries:
            try:
                entry = {"ok": make()}
            except Loss as loss:
                entry = loss.to_dict()
            self.put(key, entry)
        settled: dict[str, Any] = self.entries[key]
        return settled

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
