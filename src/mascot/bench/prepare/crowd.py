"""Many small tasks at once, whose outcomes outlive the process and never show the order they came in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from mascot.bench.prepare.common import Progress
from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.lost import NO_ANSWER, Lost
from mascot.errors import InputError, require

T = TypeVar("T")

_AHEAD = 4  # tasks handed out, for each worker
_ROW = 20  # failures in a row that mean the network is down, at the start or if they are of several servers ...
_HOSTS = 10  # ... that is, of so many
_LONG_ROW = 100  # ... and in any case


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What became of one item: `found` is what the task returned, or `lost` says why there is nothing."""

    item: T
    found: dict[str, Any] | None
    lost: Lost | None


def each(
    items: Sequence[T],
    key: Callable[[T], str],
    do: Callable[[T], dict[str, Any]],
    journal: Journal,
    workers: int = 8,
    report: Progress | None = None,
    *,
    enough: int | None = None,
    valid: Callable[[dict[str, Any]], bool] | None = None,
) -> list[Outcome[T]]:
    """Run `do` in threads for all items the journal does not know; the outcomes in the order of the items.

    Parameters
    ----------
    key
        The item's name in the journal; every item has its own.
    do
        Returns what JSON has, or raises `Lost`. What is lost for want of an answer is tried again by the next process
        that opens the journal; every other outcome is final. Any other exception ends the whole.
    enough
        Stop when the first so many successes, in the order of the items, are known; the list ends with the last.
    valid
        Whether what the journal says was found still holds (its file is there); if not, it is done again.
    """
    require(workers >= 1, "workers", "must be >= 1", workers)
    names = [key(item) for item in items]
    if len(set(names)) != len(names):
        raise InputError(f"each item must have a key of its own, got {_repeated(names)!r} twice")
    state = _State(names, journal, valid, enough)
    _run(items, do, journal, workers, report, state)
    return [_outcome(items[i], journal.known[names[i]]) for i in range(state.end)]


class _State:
    """Which items are settled, and up to where that is enough."""

    def __init__(
        self,
        names: Sequence[str],
        journal: Journal,
        valid: Callable[[dict[str, Any]], bool] | None,
        enough: int | None,
    ) -> None:
        self.names, self._known, self._enough = names, journal.known, enough
        self._settled = [_holds(name, journal, valid) for name in names]
        self._next = 0  # the first item not looked at yet
        self._found = 0  # successes among those before it, in whatever order they came
        self._in_order = 0  # successes among the first `end`, which are all settled
        self.end = 0
        self.done = sum(self._settled)

    def settle(self, i: int) -> None:
        self._settled[i] = True
        self._found += self._succeeded(i)
        self.done += 1

    def satisfied(self) -> bool:
        """Whether nothing further is needed."""
        while self.end < len(self.names) and self._settled[self.end] and self._in_order != self._enough:
            self._in_order += self._succeeded(self.end)
            self.end += 1
        return self._in_order == self._enough or self.end == len(self.names)

    def take(self) -> int | None:
        """The next item to do, in order; none where enough are found, though some before may not be known yet."""
        while self._next < len(self.names) and (self._enough is None or self._found < self._enough):
            i, self._next = self._next, self._next + 1
            if not self._settled[i]:
                return i
            self._found += self._succeeded(i)
        return None

    def _succeeded(self, i: int) -> bool:
        return "ok" in self._known[self.names[i]]


def _run(
    items: Sequence[T],
    do: Callable[[T], dict[str, Any]],
    journal: Journal,
    workers: int,
    report: Progress | None,
    state: _State,
) -> None:
    tasks: SimpleQueue[int | None] = SimpleQueue()
    results: SimpleQueue[tuple[int, dict[str, Any] | BaseException]] = SimpleQueue()
    leave = threading.Event()

    def work() -> None:
        while (i := tasks.get()) is not None and not leave.is_set():
            result: dict[str, Any] | BaseException
            try:
                result = {"ok": do(items[i])}
            except BaseException as error:  # told to the caller, who raises it
                result = error
            results.put((i, result))

    # Daemons: a stop must not wait for a slow server.
    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    row, out = _Row(), 0
    try:
        while not state.satisfied():
            while out < _AHEAD * workers and (i := state.take()) is not None:
                tasks.put(i)
                out += 1
            i, result = _wait(results)
            out -= 1
            new = state.names[i] not in journal.known
            journal.put(state.names[i], _noted(result))
            state.settle(i)
            if report is not None:
                report(state.done, len(items))
            if new:
                row.add(result if isinstance(result, Lost) else None)
    finally:
        leave.set()
        for _ in threads:
            tasks.put(None)
    for thread in threads:
        thread.join()


class _Row:
    """Failures in a row. Only first tries count: what failed in an earlier run may well be gone for good."""

    def __init__(self) -> None:
        self._begun = False  # whether anything but a failure was seen
        self._row: list[Lost] = []

    def add(self, lost: Lost | None) -> None:
        if lost is None or lost.reason != NO_ANSWER:
            self._begun, self._row = True, []
            return
        self._row.append(lost)
        count, hosts = len(self._row), len({each.host for each in self._row})
        if count >= _LONG_ROW or (count >= _ROW and (hosts >= _HOSTS or not self._begun)):
            raise InputError(
                f"the last {count} requests had no answer, such as {lost}; "
                "is the network up? Run the same command again to go on from here"
            )


def _wait(results: SimpleQueue[Any]) -> Any:
    while True:
        try:
            return results.get(timeout=1.0)  # wakes up for Ctrl-C on every system
        except Empty:
            continue


def _noted(result: dict[str, Any] | BaseException) -> dict[str, Any]:
    if isinstance(result, Lost):
        return {"lost": result.reason, "detail": result.detail, "url": result.url}
    if isinstance(result, BaseException):
        raise result
    return result


def _holds(name: str, journal: Journal, valid: Callable[[dict[str, Any]], bool] | None) -> bool:
    """Whether the journal's word on that item is the last."""
    value = journal.known.get(name)
    if value is None or (value.get("lost") == NO_ANSWER and name not in journal.fresh):
        return False
    return "lost" in value or valid is None or valid(value["ok"])


def _outcome(item: T, value: dict[str, Any]) -> Outcome[T]:
    if "ok" in value:
        return Outcome(item, value["ok"], None)
    return Outcome(item, None, Lost(value["lost"], value["detail"], value["url"]))


def _repeated(names: Sequence[str]) -> str:
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
