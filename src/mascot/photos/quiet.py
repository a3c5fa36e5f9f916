"""Catching the warnings of Pillow."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.RLock()


@contextmanager
def quietly() -> Iterator[list[warnings.WarningMessage]]:
    """Catch what Pillow warns of in damaged files. One thread at a time: warning filters belong to the process."""
    with _LOCK, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught
