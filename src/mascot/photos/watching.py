"""Watching folders: look at them again and again, and say when something has changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from mascot.errors import InputError
from mascot.photos.walk import PictureFile, walk

_SHARE = 0.1  # of the time at most is spent on looking: a large library is looked at less often


def changes(
    folders: Callable[[], Sequence[Path]],
    interval_s: float,
    *,
    hidden: bool = False,
    follow_links: bool = False,
    wait: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Yield at once, and then whenever photographs or sidecars in the folders have changed.

    What changed while the consumer was busy is noticed, because the folders are looked at before each yield.

    Parameters
    ----------
    folders
        Asked each time: folders may be added while they are watched.
    interval_s
        Seconds between two looks; more where one look takes long.
    hidden, follow_links
        As `walk` has them.
    """
    last = ""
    while True:
        started = time.monotonic()
        state = _state(folders(), hidden, follow_links)
        took = time.monotonic() - started
        if state != last:
            last = state
            yield
        wait(max(interval_s, took / _SHARE))


def _state(folders: Sequence[Path], hidden: bool, follow_links: bool) -> str:
    """Text that differs when a file was added, removed or changed."""
    digest = blake2b(digest_size=16)
    for folder in folders:
        try:
            for item in walk(folder, hidden=hidden, follow_links=follow_links):
                state = (item.size, item.mtime_ns, item.sidecar_state) if isinstance(item, PictureFile) else item.reason
                digest.update(f"{item.path!r} {state}\n".encode("utf-8", "surrogatepass"))
        except InputError as error:  # a drive is away
            digest.update(str(error).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
