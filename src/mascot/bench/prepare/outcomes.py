"""Many small tasks in threads, whose outcomes survive the process and do not depend on the order they end in."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, TypeVar
from urllib.parse import urlsplit

from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.losses import NO_ANSWER
from mascot.errors import InputError

T = TypeVar("T")

_AHEAD = 16  # tasks handed out per worker
_STREAK, _HOSTS, _LONG_STREAK = 20, 10, 100  # failures in a row that mean that the network is down


def run_all(
    items: Sequence[T],
    key: Callable[[T], str],
    task: Callable[[T], dict[str, Any]],
    journal: Journal,
    *,
    workers: int = 8,
    report: Callable[[int, int | None], None] = lambda count, total: None,
    enough: int | None = None,
    valid: Callable[[dict[str, Any]], bool] = lambda value: True,
) -> list[tuple[T, dict[str, Any]]]:
    """Run `task` for every item that the journal does not have; return items and journal entries, in order.

    An entry is ``{"ok": value}``, or ``{"lost": reason, "detail": ..., "url": ...}``.

    Parameters
    ----------
    key
        The unique name of an item in the journal.
    task
        Returns a value of JSON types or raises `Loss`; any other exception ends the run.
    enough
        End the list with the last of so many successes.
    valid
        Whether a journaled value still holds, for example because its file exists; if not, the task runs again.
    """
    if len({key(item) for item in items}) < len(items):
        raise InputError(f"{len(items)} items must have unique keys")
    inbox: SimpleQueue[tuple[T, Future[dict[str, Any]]] | None] = SimpleQueue()
    stopped = threading.Event()

    def settle(item: T) -> dict[str, Any]:
        entry = journal.entries.get(key(item), {})
        if "ok" in entry and not valid(entry["ok"]):
            del journal.entries[key(item)]
        return journal.settle(key(item), lambda: task(item))

    def work() -> None:
        while (job := inbox.get()) is not None and not stopped.is_set():
            try:
                job[1].set_result(settle(job[0]))
            except BaseException as error:  # raised again by `result`
                job[1].set_exception(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]  # a stop waits for no server
    for thread in threads:
        thread.start()
    outcomes: list[tuple[T, dict[str, Any]]] = []
    active: deque[tuple[T, Future[dict[str, Any]]]] = deque()
    successes, streak = 0, _Streak(journal.retried)
    try:
        while successes != enough and len(outcomes) < len(items):
            room = _AHEAD * workers if enough is None else min(_AHEAD * workers, enough - successes)
            for item in items[len(outcomes) + len(active) : len(outcomes) + room]:
                active.append((item, Future()))
                inbox.put(active[-1])
            item, future = active.popleft()
            while not future.done():
                wait([future], timeout=1.0)  # bounded: a signal just before an unbounded wait would be seen at its end
            entry = future.result()
            outcomes.append((item, entry))
            successes += "ok" in entry
            streak.add(key(item), entry)
            report(len(outcomes), len(items))
    finally:
        stopped.set()
        for _ in threads:
            inbox.put(None)
    return outcomes


class _Streak:
    """Failures in a row. Only first tries count: what failed in an earlier run may be gone for good."""

    def __init__(self, retried: set[str]) -> None:
        self._retried, self._answered = retried, False
        self._hosts: list[str | None] = []

    def add(self, name: str, entry: dict[str, Any]) -> None:
        if entry.get("lost") != NO_ANSWER:
            self._answered, self._hosts = True, []
        elif name not in self._retried:
            self._hosts.append(urlsplit(entry["url"] or "").hostname)
        count, hosts = len(self._hosts), len(set(self._hosts))
        if count >= _LONG_STREAK or (count >= _STREAK and (hosts >= _HOSTS or not self._answered)):
            raise InputError(
                f"the last {count} requests had no answer, such as {entry['url']}: {entry['detail']}; "
                "is the network up? Run the same command again to continue"
            )
