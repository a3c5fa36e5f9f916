"""Messages about disks that cannot be written to."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_full(error: OSError) -> bool:
    """Return whether a write failed for lack of space: a full disk, a quota or a limit on the size of files."""
    return error.errno in _FULL


def write_failure(path: Path, reason: str | OSError) -> str:
    """Describe a failed write, by its error or SQLite's message: the path, its disk, the space left and what to do."""
    text = (reason.strerror or str(reason)) if isinstance(reason, OSError) else reason
    existing = next(place for place in (path.absolute(), *path.absolute().parents) if os.path.exists(place))
    mount = existing
    while not os.path.ismount(mount) and mount != mount.parent:
        mount = mount.parent
    free = ""
    with suppress(OSError):
        free = f", with {shutil.disk_usage(existing).free / 1e6:.1f} MB free"
    return (
        f"cannot write to {path}: {text}. Its disk is {mount}{free}. Free some space and "
        "run the same command again: what was indexed so far is kept"
    )
