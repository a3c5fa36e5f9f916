"""The locations of libraries: around the working directory, the one indexed last, indexes outside their folders."""

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
    candidates = () if here is None else (here, *here.parents)
    return next((place for place in candidates if os.path.isfile(place / FOLDER / DATABASE)), None)


def _state_file(name: str) -> Path | None:
    """Return the path of a state file of this user; None for a user without a home."""
    state = os.environ.get("XDG_STATE_HOME")
    home = _home()
    if not state and home is None:
        return None
    return (Path(state) if state else Path(home or "", ".local", "state")) / "mascot" / name


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # neither HOME nor the user database has it
        return None


def remember(root: Path, index: Path | None = None) -> None:
    """Record the last library indexed, and its index if that is elsewhere; do nothing without a home."""
    last, indexes = _state_file("library"), _state_file("indexes.json")
    if last is None or indexes is None:
        return
    with suppress(OSError):
        last.parent.mkdir(parents=True, exist_ok=True)
        last.write_bytes(os.fsencode(index or root))
        if index is not None:
            indexes.write_text(json.dumps(_pairs("indexes.json") | {str(root): str(index)}), "utf-8")


def confirm_folders(index: Path, folders: Iterable[Path]) -> None:
    """Record which folders this user added to a library: a library from elsewhere may name any folder."""
    file = _state_file("folders.json")
    if file is not None:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(_pairs("folders.json") | {str(index): [*map(str, folders)]}), "utf-8")


def confirmed_folders(index: Path) -> list[Path]:
    """Return the folders that this user added to a library."""
    folders = _pairs("folders.json").get(str(index), [])
    return [Path(folder) for folder in folders if isinstance(folder, str)] if isinstance(folders, list) else []


def index_of(root: Path) -> Path | None:
    """Return where the index of a folder is, if it was written elsewhere and still exists."""
    index = _pairs("indexes.json").get(str(root))
    return Path(index) if isinstance(index, str) and os.path.isfile(os.path.join(index, DATABASE)) else None


def _pairs(name: str) -> dict[str, Any]:
    """Return the JSON object in a state file of this user."""
    file = _state_file(name)
    try:
        pairs = json.loads(file.read_text("utf-8")) if file else {}
    except (OSError, ValueError):
        return {}
    return pairs if isinstance(pairs, dict) else {}


def remembered() -> Path | None:
    """Return the last library indexed."""
    file = _state_file("library")
    try:
        path = b"" if file is None else file.read_bytes()
    except OSError:
        return None
    return Path(os.fsdecode(path)) if path else None


def name_of(root: Path, path: Path) -> str:
    """Return the name of a file in a library: relative to its first folder, absolute in its other folders."""
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def short_name(root: Path) -> str:
    """Return a short name of a folder: relative to the current folder or to the home, or its full path."""
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
