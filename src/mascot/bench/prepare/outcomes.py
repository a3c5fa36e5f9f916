"""The outcomes of the items of a dataset: values and losses, journaled by key and counted by reason."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Outcome = dict[str, Any]  # {"ok": value}, or {"lost": reason, "detail": ..., "url": ...}
Progress = Callable[[int, "int | None"], None]  # count so far, count in all

NO_ANSWER = "no answer"  # the only temporary reason of a loss: the next run tries again


@dataclass(eq=False)
class Loss(Exception):
    """An item that cannot be used. `reason` is a short phrase that reports count by, `detail` says more."""

    reason: str
    detail: str = ""
    url: str | None = None

    def __str__(self) -> str:
        text = f"{self.reason} ({self.detail})" if self.detail else self.reason
        return f"{self.url}: {text}" if self.url else text


@dataclass(slots=True)
class StepTally:
    """How many items a step accepted, and how many it lost by reason."""

    step: str
    accepted: int = 0
    losses: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def item(self) -> Iterator[None]:
        """Count the item of a `with` block: as lost if the block raises `Loss`, otherwise as accepted."""
        try:
            yield
            self.accepted += 1
        except Loss as loss:
            self.losses[loss.reason] += 1

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as dataset.json has them."""
        total = self.accepted + self.losses.total()
        return {"step": self.step, "looked_at": total, "kept": self.accepted, "lost": dict(sorted(self.losses.items()))}


def step_line(step: Mapping[str, Any]) -> str:
    """Return the counts of a step, as dataset.json has them, as a line."""
    losses = sorted(step["lost"].items(), key=lambda pair: -pair[1])
    why = "; lost: " + ", ".join(f"{reason} {count}" for reason, count in losses) if losses else ""
    return f"{step['step']}: {step['kept']} of {step['looked_at']} kept{why}"


class Journal(AbstractContextManager["Journal"]):
    """Outcomes by key in a file that only grows, a JSON line `[key, outcome]` each; the last of a key counts.

    A line is written with one system call, so it survives a kill of the process; a torn last line is overwritten.
    Losses without an answer are not read back: they are tried again, and `retried` names them.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.entries: dict[str, Outcome] = {}
        self._lock, self._locks = threading.Lock(), dict[str, threading.Lock]()
        self._stream = open(path, "ab+", buffering=0)  # noqa: SIM115 - it stays open
        end = 0
        for line in path.read_bytes().splitlines(keepends=True):
            try:
                key, entry = json.loads(line if line.endswith(b"\n") else b"")
            except (ValueError, TypeError):
                break
            self.entries[key] = entry
            end += len(line)
        self._stream.truncate(end)
        self.retried = {key for key, entry in self.entries.items() if entry.get("lost") == NO_ANSWER}
        for key in self.retried:
            del self.entries[key]

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def put(self, key: str, entry: Outcome) -> None:
        with self._lock:
            self._stream.write(json.dumps([key, entry], separators=(",", ":")).encode() + b"\n")
            self.entries[key] = entry

    def settle(self, key: str, make: Callable[[], Any]) -> Outcome:
        """Return the outcome of a key; if there is none, `make` its value and write it, once for all threads."""
        with self._locks.setdefault(key, threading.Lock()):
            if key not in self.entries:
                try:
                    self.put(key, {"ok": make()})
                except Loss as loss:
                    self.put(key, {"lost": loss.reason, "detail": loss.detail, "url": loss.url})
            return self.entries[key]


def value_of(outcome: Outcome) -> Any:
    """Return the value of an outcome, or raise its `Loss`."""
    if "lost" in outcome:
        raise Loss(outcome["lost"], outcome["detail"], outcome["url"])
    return outcome["ok"]
