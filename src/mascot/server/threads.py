"""Thread pools of the server, and work that stops when its client leaves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from starlette.types import Receive

from mascot.server.failures import ClientLeft

_Parameters = ParamSpec("_Parameters")
_Answer = TypeVar("_Answer")


STOPPING: ContextVar[threading.Event | None] = ContextVar("stopping", default=None)  # set: the client has left


def client_has_left() -> bool:
    """Return whether the client of the call that runs in this thread has left."""
    stopping = STOPPING.get()
    return stopping is not None and stopping.is_set()


class Threads:
    """A pool of threads that stay.

    Each has its own connection to the library; threads that come and go would leave theirs open. Pictures, searches
    and re-ranking have pools of their own, so that none waits for another.

    Parameters
    ----------
    name, count
        Name and number of the threads.
    stopping
        Variable that holds, while a call runs, the event that is set when its client leaves.
    """

    def __init__(self, name: str, count: int, stopping: ContextVar[threading.Event | None] | None = None) -> None:
        self._pool, self._stopping = ThreadPoolExecutor(count, name), stopping

    async def run(
        self, call: Callable[_Parameters, _Answer], *args: _Parameters.args, **options: _Parameters.kwargs
    ) -> _Answer:
        """Run the call to its end."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: call(*args, **options))

    async def run_while_connected(
        self,
        receive: Receive,
        call: Callable[_Parameters, _Answer],
        *args: _Parameters.args,
        **options: _Parameters.kwargs,
    ) -> _Answer:
        """Run the call. If the client leaves first, a call that waits is dropped and one that runs is told to stop."""
        stop = threading.Event()

        def stoppable() -> _Answer:
            if self._stopping is not None:
                self._stopping.set(stop)
            return call(*args, **options)

        work = asyncio.get_running_loop().run_in_executor(self._pool, stoppable)
        leaving = asyncio.ensure_future(_leaving(receive))
        either: set[asyncio.Future[Any]] = {work, leaving}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ClientLeft
            return work.result()
        finally:
            leaving.cancel()
            if not work.done():
                stop.set()
                work.cancel()
                work.add_done_callback(_forget)

    def close(self) -> None:
        """End the threads once they are idle; calls that wait are dropped."""
        self._pool.shutdown(wait=False, cancel_futures=True)


async def _leaving(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _forget(work: asyncio.Future[_Answer]) -> None:
    """Take the result of work that nobody waits for, so that its failure is not logged."""
    if not work.cancelled():
        work.exception()
