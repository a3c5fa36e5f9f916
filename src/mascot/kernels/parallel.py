"""Ranges of work on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_chunks(work: Callable[[int, int], None], count: int, threads: int | None = None) -> None:
    """Call work(first, last) over 0..count in parallel. The work must release the GIL to gain by it."""
    threads = min(threads or cores(), count) or 1
    if threads == 1:
        work(0, count)
        return
    # Sixteen chunks a thread, so that a slow core or a long query holds nobody up for long; but not too small,
    # because every chunk sets up its own workspace.
    size = max(count // (16 * threads), min(64, -(-count // threads)))
    starts = range(0, count, size)
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, start, min(start + size, count)) for start in starts]:
            done.result()
