"""The default library: the one that contains the working directory, or the one indexed last."""

from __future__ import annotations

import os
from pathlib import Path

from mascot.photos.store import FOLDER

DATABASE = "library.sqlite"  # in a library's `.mascot`


def enclosing() -> Path | None:
    """Return the root of the innermost library that contains the working directory; None if there is none."""
    here = _working_directory()
    folders = () if here is None else (here, *here.parents)
    return next((folder for folder in folders if os.path.isfile(folder / FOLDER / DATABASE)), None)


def _state_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "mascot" / "library"


def remember(root: Path) -> None:
    """Record the library indexed last; a home directory that is not writable is ignored."""
    try:
        _state_file().parent.mkdir(parents=True, exist_ok=True)
        _state_file().write_bytes(os.fsencode(root))
    except OSError:
        return


def remembered() -> Path | None:
    """Return the root of the library indexed last; None if there is none."""
    try:
        path = _state_file().read_bytes()
    except OSError:
        return None
    return Path(os.fsdecode(path)) if path else None


def as_said(root: Path) -> str:
    """Return a folder's path for display: relative to the working directory or to ~, else absolute."""
    for base, prefix in ((_working_directory(), ""), (Path.home().resolve(), "~/")):
        if base is not None and base != root and root.is_relative_to(base):
            return prefix + root.relative_to(base).as_posix()
    return str(root)


def _working_directory() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # the folder was deleted
        return None
