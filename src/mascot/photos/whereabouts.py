"""Where libraries are: the one around the working directory, the one indexed last, indexes outside their folders."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mascot.photos.store import FOLDER

DATABASE = "library.sqlite"  # in a library's `.mascot`


def enclosing() -> Path | None:
    """Return the innermost library around the current folder."""
    here = _here()
    around = () if here is None else (here, *here.parents)
    return next((place for place in around if os.path.isfile(place / FOLDER / DATABASE)), None)


def _memory(name: str) -> Path | None:
    """A file of this user's state; None for a user without a home."""
    state = os.environ.get("XDG_STATE_HOME")
    home = _home()
    if not state and home is None:
        return None
    return (Path(state) if state else Path(home or "", ".local", "state")) / "mascot" / name


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # neither HOME nor an entry of the system's says where it is
        return None


def remember(root: Path, index: Path | None = None) -> None:
    """Record the last library indexed, and where its index is if not in its folder; without a home, nothing."""
    last, elsewhere = _memory("library"), _memory("indexes.json")
    if last is None or elsewhere is None:
        return
    with suppress(OSError):
        last.parent.mkdir(parents=True, exist_ok=True)
        last.write_bytes(os.fsencode(index or root))
        if index is not None:
            elsewhere.write_text(json.dumps(_pairs("indexes.json") | {str(root): str(index)}), "utf-8")


def confirm_folders(index: Path, folders: Iterable[Path]) -> None:
    """Record which folders this user added to a library: one from elsewhere may name any."""
    memory = _memory("folders.json")
    if memory is not None:
        with suppress(OSError):
            memory.parent.mkdir(parents=True, exist_ok=True)
            memory.write_text(json.dumps(_pairs("folders.json") | {str(index): [*map(str, folders)]}), "utf-8")


def confirmed_folders(index: Path) -> list[Path]:
    """Return the folders that this user added to a library."""
    folders = _pairs("folders.json").get(str(index), [])
    return [Path(folder) for folder in folders if isinstance(folder, str)] if isinstance(folders, list) else []


def index_of(root: Path) -> Path | None:
    """Return where the index of a folder is, if it was written elsewhere and is still there."""
    index = _pairs("indexes.json").get(str(root))
    return Path(index) if isinstance(index, str) and os.path.isfile(os.path.join(index, DATABASE)) else None


def _pairs(name: str) -> dict[str, Any]:
    """A file of this user's state that holds one JSON object."""
    memory = _memory(name)
    try:
        pairs = json.loads(memory.read_text("utf-8")) if memory else {}
    except (OSError, ValueError):
        return {}
    return pairs if isinstance(pairs, dict) else {}


def remembered() -> Path | None:
    """Return the last library indexed."""
    memory = _memory("library")
    try:
        path = b"" if memory is None else memory.read_bytes()
    except OSError:
        return None
    return Path(os.fsdecode(path)) if path else None


def name_of(root: Path, path: Path) -> str:
    """Return a library's name of a file: relative to its first folder, absolute in its other folders."""
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


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
