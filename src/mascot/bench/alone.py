"""One process at a time on a folder that is being made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mascot.errors import InputError


@contextmanager
def alone(lock: Path, busy: str) -> Iterator[None]:
    """Hold the lock file, or refuse with the words of `busy`. A killed process holds nothing.

    Where the system has no such locks (Windows), nothing is held.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(busy) from None
        yield
