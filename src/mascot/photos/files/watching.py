"""Watch folders: poll them, and report when something has changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mascot.errors import InputError
from mascot.photos.files.walk import walk

_SHARE = 0.1  # of the time may be spent on polling, so a large library is polled less often


def changes(
    folders: Callable[[], Sequence[Path]],
    interval_s: float,
    *,
    hidden: bool = False,
    follow_links: bool = False,
    wait: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Yield at once, and then whenever photographs or sidecars in the folders have changed.

    Changes while the consumer is busy are not missed: the folders are read before each yield. `folders` is called for
    each poll, because folders may be added. A poll that takes long is made less often than every `interval_s` seconds.
    """
    last: int | None = None
    while True:
        start = time.monotonic()
        state = _state(folders(), hidden, follow_links)
        duration = time.monotonic() - start
        if state != last:
            last = state
            yield
        wait(max(interval_s, duration / _SHARE))


def _state(folders: Sequence[Path], hidden: bool, follow_links: bool) -> int:
    """Return a number that differs when a file was added, removed or changed."""
    items: list[object] = []
    for folder in folders:
        try:
            items += walk(folder, hidden=hidden, follow_links=follow_links)
        except InputError as error:  # a drive is not mounted
            items.append(str(error))
    return hash(tuple(items))
