"""Messages about disks that cannot be written to."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_full(error: OSError) -> bool:
    """Return whether a write failed for lack of space: a full disk, a quota or a limit on the size of files."""
    return error.errno in _FULL


def write_failure(path: Path, reason: str | OSError) -> str:
    """Describe a failed write: the file or folder, its disk, the space left and what to do.

    Parameters
    ----------
    reason
        The error, or the message of SQLite.
    """
    text = (reason.strerror or str(reason)) if isinstance(reason, OSError) else reason
    return (
        f"cannot write to {path}: {text}. Its disk is {_mount_point(path)}{_free_space(path)}. Free some space and "
        "run the same command again: what was indexed so far is kept"
    )


def _mount_point(path: Path) -> Path:
    """Return the folder at which the file system of a path is mounted."""
    place = path.absolute()
    while not os.path.ismount(place) and place != place.parent:
        place = place.parent
    return place


def _free_space(path: Path) -> str:
    for place in (path.absolute(), *path.absolute().parents):
        try:
            return f", with {shutil.disk_usage(place).free / 1e6:.1f} MB free"
        except OSError:
            continue
    return ""
