"""Memory of a server process: freed memory is kept for the next request."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
_KEPT_BYTES = 64 * 1024 * 1024  # free memory that is not returned to the system
_MAPPED_BYTES = 4 * 1024 * 1024  # blocks of at least this size are returned at once


def keep_freed_memory() -> None:
    """Let glibc keep freed blocks: mapping the arrays of each request again takes longer than re-ranking them."""
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # musl has none
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _MAPPED_BYTES)
