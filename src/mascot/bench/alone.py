"""A lock file: one process at a time writes a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mascot.errors import InputError


@contextmanager
def alone(lock: Path, busy: str) -> Iterator[None]:
    """Hold the lock file, or raise `InputError(busy)`. The lock of a killed process is released.

    On systems without `fcntl` (Windows) there is no lock.
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
