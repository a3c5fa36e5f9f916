"""Pictures from a prepared folder, decoded by threads ahead of the model that takes them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from mascot.errors import InputError

if TYPE_CHECKING:
    from mascot.photos.encoders import Picture

_THREADS = 8  # at most


def picture_batches(paths: Sequence[Path], batch: int) -> Iterator[list[Picture]]:
    """Batches in the order of the paths. While one is worked on the next is decoded, and no more than that."""
    left = iter(paths)
    waiting: deque[Future[Picture]] = deque()
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1), "pictures") as pool:
        try:
            while True:
                waiting.extend(pool.submit(_picture, path) for path in islice(left, 2 * batch - len(waiting)))
                if not waiting:
                    return
                yield [waiting.popleft().result() for _ in range(min(batch, len(waiting)))]
        finally:
            for one in waiting:
                one.cancel()


def _picture(path: Path) -> Picture:
    """Upright, RGB, in full size and with the numbers the file has: the model shrinks it in its own way."""
    from mascot.photos.encoders import Picture
    from mascot.photos.images import Unreadable, open_image, upright

    try:
        with open_image(path) as image:
            return Picture(upright(image, max(image.size), srgb=False))
    except Unreadable as error:
        raise InputError(
            f"{path} gives no picture ({error}); make the folder again with: mascot bench prepare"
        ) from None
