"""Catch the warnings of Pillow."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.RLock()


@contextmanager
def quietly() -> Iterator[list[warnings.WarningMessage]]:
    """Catch the warnings of Pillow about damaged files, in one thread at a time: warning filters are global."""
    with _LOCK, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught
