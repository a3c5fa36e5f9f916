"""Thread pools, and work that stops when its client disconnects."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.types import Receive

_Answer = TypeVar("_Answer")
_STOPPING: ContextVar[threading.Event | None] = ContextVar("stopping", default=None)  # set: the client has left


class ClientLeft(HTTPException):
    """The client disconnected before the answer."""

    def __init__(self) -> None:
        super().__init__(499, "the client left")


def client_has_left() -> bool:
    """Return whether the client of the work in this thread has disconnected."""
    stopping = _STOPPING.get()
    return stopping is not None and stopping.is_set()


class Threads:
    """A thread pool.

    Each thread has its own connection to the library, which short-lived threads would leave open. Pictures, searches
    and re-ranking have separate pools, so that they do not wait for each other.
    """

    def __init__(self, name: str, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, name)

    async def run(self, call: Callable[..., _Answer], *args: Any) -> _Answer:
        """Run the call to its end."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call, *args)

    async def iterate(self, parts: Iterator[_Answer]) -> AsyncIterator[_Answer]:
        """Yield the parts, each computed in a thread."""
        while (part := await self.run(next, parts, None)) is not None:
            yield part

    async def run_while_connected(self, receive: Receive, call: Callable[..., _Answer], *args: Any) -> _Answer:
        """Run the call. If the client disconnects, cancel a waiting call, or signal a running one to stop."""
        stop, context = threading.Event(), copy_context()
        context.run(_STOPPING.set, stop)
        future = self._pool.submit(context.run, call, *args)
        work = asyncio.wrap_future(future)
        disconnect = asyncio.ensure_future(_wait_for_disconnect(receive))
        futures: set[asyncio.Future[Any]] = {work, disconnect}
        try:
            await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                stop.set()
                if not future.cancel():
                    await asyncio.wait([work])  # its memory counts until it ends
                raise ClientLeft
            return work.result()
        finally:
            disconnect.cancel()
            if not work.done():
                stop.set()
                work.cancel()
            # Retrieve the exception of abandoned work; otherwise asyncio would log it.
            work.add_done_callback(lambda done: None if done.cancelled() else done.exception())


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
