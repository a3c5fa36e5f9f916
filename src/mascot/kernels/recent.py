"""The last few values, by key: what is costly to make and too large to keep for ever."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from threading import Lock
from typing import Generic, TypeVar

_Made = TypeVar("_Made")


class Recent(Generic[_Made]):
    """At most so many values; the one not asked for the longest goes first. Threads that ask together wait for one.

    >>> squares = Recent[int](2)
    >>> [squares.get(n, lambda n=n: n * n) for n in (3, 4, 3, 5)], len(squares)
    ([9, 16, 9, 25], 2)
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._made: dict[Hashable, _Made] = {}

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[_Made]:
        return iter(list(self._made.values()))

    def get(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        with self._lock:
            made = self._made.pop(key) if key in self._made else make()
            self._made[key] = made
            if len(self._made) > self._most:
                del self._made[next(iter(self._made))]
            return made
