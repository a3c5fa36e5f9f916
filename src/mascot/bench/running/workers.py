"""Processes that run the jobs of a benchmark."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

_BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


Each = Callable[[Sequence[Any], bool], Iterator[int]]  # jobs, and whether they run one at a time


@contextmanager
def job_workers(work: Callable[[Any], int], count: int | None = None) -> Iterator[Each]:
    """Yield a function that runs jobs in `count` processes (default: one per core) and yields what `work` returns.

    With one process, jobs run in the caller's process. `work` must be picklable.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if (count or cores) == 1:
        yield lambda jobs, _: map(work, jobs)
        return
    # One thread of linear algebra per process: the processes are the parallelism. Children inherit it.
    environment = {name: os.environ.get(name) for name in _BLAS}
    os.environ.update(dict.fromkeys(_BLAS, "1"))
    context = get_context("spawn")
    alive, parent = context.Pipe(duplex=False)  # workers end when the parent's end is closed
    pool = ProcessPoolExecutor(count or cores, context, initializer=_exit_with_parent, initargs=(alive,))

    def each(jobs: Sequence[Any], one_at_a_time: bool) -> Iterator[int]:
        size = 1 if one_at_a_time else max(1, len(jobs))
        for first in range(0, len(jobs), size):
            with _interrupts_blocked():
                running = [pool.submit(work, job) for job in jobs[first : first + size]]
            yield from (future.result() for future in as_completed(running))

    try:
        yield each
    except KeyboardInterrupt:
        parent.close()  # do not wait for running jobs: the next run does them again
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        alive.close()
        parent.close()
        for name, value in environment.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C for processes that start here; the parent receives it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    earlier_mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier_mask)


def _exit_with_parent(alive: Connection) -> None:
    """End this worker as soon as the parent closes its end of the pipe, or exits for any reason."""

    def watch() -> None:
        with suppress(OSError):
            alive.poll(None)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on platforms where the signal was not blocked
    threading.Thread(target=watch, daemon=True).start()
