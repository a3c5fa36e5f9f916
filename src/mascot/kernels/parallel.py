"""Ranges of work on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_chunks(work: Callable[[int, int], None], count: int, threads: int | None = None) -> None:
    """Call work(first, last) over 0..count on several threads (default: as many as there are cores).

    The work must release the interpreter lock to gain by it.
    """
    threads = min(threads or cores(), count) or 1
    if threads == 1:
        work(0, count)
        return
    # Sixteen chunks per thread, so that a slow core or a long query does not hold up the others; but not too small,
    # because every chunk allocates its own workspace.
    size = max(count // (16 * threads), min(64, -(-count // threads)))
    starts = range(0, count, size)
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work, start, min(start + size, count)) for start in starts]:
            future.result()
