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


class JobWorkers:
    """Processes of this machine (default: one per core), inside a `with`; one alone is the caller's own.

    `work` runs a job and returns its number of points; it must be picklable.
    """

    def __init__(self, work: Callable[[Any], int], count: int | None = None) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._work, self._count = work, max(1, count or cores)
        self._pool: ProcessPoolExecutor | None = None
        self._alive: tuple[Connection, Connection] | None = None  # workers end when the second is closed
        self._environment: dict[str, str | None] = {}

    def __enter__(self) -> JobWorkers:
        if self._count > 1:
            # One thread of linear algebra per process: the processes are the parallelism. Children inherit it.
            self._environment = {name: os.environ.get(name) for name in _BLAS}
            os.environ.update(dict.fromkeys(_BLAS, "1"))
            context = get_context("spawn")
            self._alive = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(
                self._count, context, initializer=_exit_with_parent, initargs=(self._alive[0],)
            )
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None and self._alive is not None:
            if any(isinstance(error, KeyboardInterrupt) for error in exception):
                self._alive[1].close()  # do not wait for running jobs: the next run does them again
            self._pool.shutdown(cancel_futures=True)
            for end in self._alive:
                end.close()
        for name, value in self._environment.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

    def each(self, jobs: Sequence[Any], width: int | None = None) -> Iterator[int]:
        """Run the jobs, at most `width` at a time, and yield the number of points of each as it ends."""
        if self._pool is None:
            yield from map(self._work, jobs)
            return
        size = width or max(1, len(jobs))
        for first in range(0, len(jobs), size):
            with _interrupts_blocked():
                running = [self._pool.submit(self._work, job) for job in jobs[first : first + size]]
            for future in as_completed(running):
                yield future.result()


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

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where a signal cannot be blocked before
    threading.Thread(target=watch, daemon=True).start()
