"""Let Ctrl-C end a run while native code computes without checking for signals."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def interruptible(call: Callable[[], T]) -> T:
    """Run `call` in another thread and return its result: Ctrl-C interrupts a waiting main thread at once.

    An interrupted call continues in the background, and its result is discarded.
    """
    if threading.current_thread() is not threading.main_thread():  # signals do not reach it
        return call()
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="mascot-interruptible").start()
    return future.result()
