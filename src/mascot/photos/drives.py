"""What is out of sight is not gone: below a drive that is not mounted, or where a run could not look."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from mascot.photos.walk import Skipped
from mascot.photos.whereabouts import name_of

_TOP = PurePosixPath(".")


def emptied(root: Path, lost: Iterable[str], is_mounted: bool = True) -> list[Skipped]:
    """Folders that held some of these lost files and hold nothing now.

    Parameters
    ----------
    lost
        Names of files, as `name_of` has them.
    is_mounted
        Whether the root is known to be mounted, because it holds the index.
    """
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
        if not (folder == _TOP and is_mounted) and _is_empty(root / folder)
    ]


def in_sight(root: Path, paths: Iterable[str], skipped: Iterable[Skipped]) -> list[str]:
    """Those of these names that are neither skipped nor in a skipped folder."""
    blind = {name_of(root, item.path) for item in skipped}
    return [path for path in paths if not any(part in blind for part in _upwards(path))]


def _upwards(path: str) -> Iterator[str]:
    """The path and each folder above it, up to the root of the library or of the file system."""
    for folder in (PurePosixPath(path), *PurePosixPath(path).parents):
        yield str(folder)


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
