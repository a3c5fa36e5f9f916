"""The outcomes of the items of a dataset: values and losses, journaled by key and counted by reason."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Outcome = dict[str, Any]  # {"ok": value}, or {"lost": reason, "detail": ..., "url": ...}
Progress = Callable[[int, "int | None"], None]  # count so far, count in all

NO_ANSWER = "no answer"  # the only temporary reason of a loss: the next run tries again
_EXAMPLES = 5


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
    """How many items a step accepted and lost. Count in the order of the source: the first losses are the examples."""

    step: str
    accepted: int = 0
    losses: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    @contextmanager
    def item(self, example: str) -> Iterator[None]:
        """Count the item of a `with` block: as lost if the block raises `Loss`, otherwise as accepted."""
        try:
            yield
            self.accepted += 1
        except Loss as loss:
            text = f"{example}: {loss.detail}" if loss.detail else example
            self.add({"losses": {loss.reason: 1}, "examples": {loss.reason: [text]}})

    def add(self, other: Mapping[str, Any]) -> None:
        """Add the counts of another tally, as `dataclasses.asdict` writes them."""
        self.accepted += other.get("accepted", 0)
        for reason, count in other["losses"].items():
            self.losses[reason] = self.losses.get(reason, 0) + count
            examples = self.examples.setdefault(reason, [])
            examples += other["examples"][reason][: _EXAMPLES - len(examples)]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as dataset.json has them."""
        total = self.accepted + sum(self.losses.values())
        return {"step": self.step, "looked_at": total, "kept": self.accepted, "lost": dict(sorted(self.losses.items()))}


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
