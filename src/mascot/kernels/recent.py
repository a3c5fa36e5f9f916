"""A small least-recently-used cache for values that are costly to compute and too large to keep for ever."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from threading import Lock
from typing import Generic, TypeVar

_Cached = TypeVar("_Cached")


class Recent(Generic[_Cached]):
    """At most `most` values; the least recently used is evicted first. Concurrent threads share one computation.

    >>> squares = Recent[int](2)
    >>> [squares.get(n, lambda n=n: n * n) for n in (3, 4, 3, 5)], len(squares)
    ([9, 16, 9, 25], 2)
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._values: dict[Hashable, _Cached] = {}

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[_Cached]:
        return iter(list(self._values.values()))

    def get(self, key: Hashable, make: Callable[[], _Cached]) -> _Cached:
        with self._lock:
            value = self._values.pop(key) if key in self._values else make()
            self._values[key] = value
            if len(self._values) > self._most:
                del self._values[next(iter(self._values))]
            return value
