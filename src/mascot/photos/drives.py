"""What is out of sight is not gone: below a drive that is not mounted, or where a run could not look."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from mascot.photos.walk import Skipped

_TOP = PurePosixPath(".")


def emptied(root: Path, lost: Iterable[str]) -> list[Skipped]:
    """Folders that held some of these files (paths below `root` that are lost) and hold nothing now."""
    left: dict[PurePosixPath, PurePosixPath] = {}
    counts: Counter[PurePosixPath] = Counter()
    for path in lost:
        parent = PurePosixPath(path).parent
        if parent not in left:
            left[parent] = _still_there(root, parent)
        counts[left[parent]] += 1
    return [
        Skipped(
            root / folder,
            f"empty, as where a drive is not mounted: {count} of the library {'is' if count == 1 else 'are'} kept; "
            "remove the folder to let --prune remove them",
        )
        for folder, count in sorted(counts.items())
        # The top holds the library itself, so it is mounted.
        if folder != _TOP and _is_empty(root / folder)
    ]


def in_sight(root: Path, paths: Iterable[str], skipped: Iterable[Skipped]) -> list[str]:
    """Those of the paths below `root` that are neither skipped nor in a skipped folder."""
    inside = (item.path for item in skipped if item.path.is_relative_to(root))
    blind = {path.relative_to(root).as_posix() for path in inside}
    return [path for path in paths if not any(part in blind for part in _upwards(path))]


def _upwards(path: str) -> Iterator[str]:
    """The path, each folder above it, and the top."""
    yield path
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
    yield "."


def _still_there(root: Path, folder: PurePosixPath) -> PurePosixPath:
    """The folder, or the nearest above it that is there."""
    while folder != _TOP and not (root / folder).is_dir():
        folder = folder.parent
    return folder


def _is_empty(folder: Path) -> bool:
    """Whether there is nothing in it, hidden files aside."""
    try:
        with os.scandir(folder) as entries:
            return all(entry.name.startswith(".") for entry in entries)
    except OSError:
        return False
