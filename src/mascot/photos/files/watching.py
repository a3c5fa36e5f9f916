"""Watch folders: poll them, and report when something has changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from mascot.errors import InputError
from mascot.photos.files.walk import PictureFile, walk

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
    last = ""
    while True:
        start = time.monotonic()
        state = _state(folders(), hidden, follow_links)
        duration = time.monotonic() - start
        if state != last:
            last = state
            yield
        wait(max(interval_s, duration / _SHARE))


def _state(folders: Sequence[Path], hidden: bool, follow_links: bool) -> str:
    """Return a digest that differs when a file was added, removed or changed."""
    digest = blake2b(digest_size=16)
    for folder in folders:
        try:
            for item in walk(folder, hidden=hidden, follow_links=follow_links):
                state = (item.size, item.mtime_ns, item.sidecar_state) if isinstance(item, PictureFile) else item.reason
                digest.update(f"{item.path!r} {state}\n".encode("utf-8", "surrogatepass"))
        except InputError as error:  # a drive is not mounted
            digest.update(str(error).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
