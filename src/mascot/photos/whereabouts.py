"""Which library is meant where none is named: the one somebody stands in, or the one indexed last."""

from __future__ import annotations

import os
from pathlib import Path

from mascot.photos.store import FOLDER

DATABASE = "library.sqlite"  # in a library's `.mascot`


def enclosing() -> Path | None:
    """The innermost library around the folder one stands in."""
    here = _here()
    around = () if here is None else (here, *here.parents)
    return next((place for place in around if os.path.isfile(place / FOLDER / DATABASE)), None)


def _memory() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "mascot" / "library"


def remember(root: Path) -> None:
    """Keep the library indexed last in mind; a home that cannot be written to is no reason to fail."""
    try:
        _memory().parent.mkdir(parents=True, exist_ok=True)
        _memory().write_bytes(os.fsencode(root))
    except OSError:
        return


def remembered() -> Path | None:
    """The library indexed last."""
    try:
        name = _memory().read_bytes()
    except OSError:
        return None
    return Path(os.fsdecode(name)) if name else None


def as_said(root: Path) -> str:
    """A folder as people name it: from where they stand, from home, or its whole path."""
    for place, sign in ((_here(), ""), (Path.home().resolve(), "~/")):
        if place is not None and place != root and root.is_relative_to(place):
            return sign + root.relative_to(place).as_posix()
    return str(root)


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # that folder was removed
        return None
