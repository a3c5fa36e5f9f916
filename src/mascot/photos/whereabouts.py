"""The default library: the one that contains the working directory, or the one indexed last."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from mascot.photos.store import FOLDER

DATABASE = "library.sqlite"  # in a library's `.mascot`


def enclosing() -> Path | None:
    """Return the innermost library around the current folder."""
    here = _here()
    around = () if here is None else (here, *here.parents)
    return next((place for place in around if os.path.isfile(place / FOLDER / DATABASE)), None)


def _memory() -> Path | None:
    """The file that names the last library; None for a user without a home."""
    state = os.environ.get("XDG_STATE_HOME")
    home = _home()
    if not state and home is None:
        return None
    return (Path(state) if state else Path(home or "", ".local", "state")) / "mascot" / "library"


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # neither HOME nor an entry of the system's says where it is
        return None


def remember(root: Path) -> None:
    """Record the last library indexed, if there is a home that can be written to."""
    memory = _memory()
    if memory is None:
        return
    with suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True)
        memory.write_bytes(os.fsencode(root))


def remembered() -> Path | None:
    """Return the last library indexed."""
    memory = _memory()
    try:
        path = b"" if memory is None else memory.read_bytes()
    except OSError:
        return None
    return Path(os.fsdecode(path)) if path else None


def as_said(root: Path) -> str:
    """Return a folder's short name: relative to the current folder or to the home, or its whole path."""
    home = _home()
    for place, sign in ((_here(), ""), (None if home is None else home.resolve(), "~/")):
        if place is not None and place != root and root.is_relative_to(place):
            return sign + root.relative_to(place).as_posix()
    return str(root)


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # the folder was deleted
        return None
