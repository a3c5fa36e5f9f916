"""The few threads that read the library."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_COUNT = 8
_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


class Threads:
    """A fixed number of threads that stay.

    Each thread has a connection to the library of its own, and those that come and go would leave theirs open.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_COUNT, "library")

    async def __call__(self, call: Callable[_Given, _Answer], *given: _Given.args, **named: _Given.kwargs) -> _Answer:
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: call(*given, **named))
