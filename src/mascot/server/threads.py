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
    """A thread pool.

    Each thread has its own connection to the library; short-lived threads would leave theirs open. Pictures, searches
    and re-ranking have separate pools, so that they do not wait for each other.

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
        """Run the call. If the client leaves first, a waiting call is cancelled, a running one signalled to stop."""
        stop = threading.Event()

        def stoppable() -> _Answer:
            if self._stopping is not None:
                self._stopping.set(stop)
            return call(*args, **options)

        work = asyncio.get_running_loop().run_in_executor(self._pool, stoppable)
        disconnect = asyncio.ensure_future(_wait_for_disconnect(receive))
        futures: set[asyncio.Future[Any]] = {work, disconnect}
        try:
            await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ClientLeft
            return work.result()
        finally:
            disconnect.cancel()
            if not work.done():
                stop.set()
                work.cancel()
                work.add_done_callback(_discard_result)

    def close(self) -> None:
        """End the threads once they are idle; waiting calls are cancelled."""
        self._pool.shutdown(wait=False, cancel_futures=True)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _discard_result(work: asyncio.Future[_Answer]) -> None:
    """Retrieve the exception of abandoned work, so that asyncio does not log it."""
    if not work.cancelled():
        work.exception()
