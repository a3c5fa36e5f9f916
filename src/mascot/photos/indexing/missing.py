"""Missing files whose rows must be kept: on a drive that is not mounted, or in a folder that could not be read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath

from mascot.photos.walk import Skipped
from mascot.photos.whereabouts import name_of

_TOP = PurePosixPath(".")


def emptied(root: Path, missing: Iterable[str], is_mounted: bool) -> list[Skipped]:
    """Return the folders that contained some of these missing files and are empty now.

    Parameters
    ----------
    missing
        Names of files, from `name_of`.
    is_mounted
        Whether the root is certainly mounted, because it contains the index.
    """

    @cache
    def existing(folder: PurePosixPath) -> PurePosixPath:
        """Return the folder, or the nearest existing one above it."""
        while folder != _TOP and not (root / folder).is_dir():
            folder = folder.parent
        return folder

    counts = Counter(existing(PurePosixPath(path).parent) for path in missing)
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
    """Return the names that are neither skipped nor in a skipped folder."""
    skipped_names = {name_of(root, item.path) for item in skipped}
    return [
        path
        for path in paths
        if skipped_names.isdisjoint(map(str, (PurePosixPath(path), *PurePosixPath(path).parents)))
    ]


def _is_empty(folder: Path) -> bool:
    """Return whether a folder has no files except hidden ones."""
    try:
        with os.scandir(folder) as entries:
            return all(entry.name.startswith(".") for entry in entries)
    except OSError:
        return False
