"""The locations of libraries: around the working directory, the one indexed last, indexes outside their folders."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from mascot.errors import InputError
from mascot.photos.database.store import FOLDER

DATABASE = "library.sqlite"  # in a library's `.mascot`


def enclosing() -> Path | None:
    """Return the innermost library around the current folder."""
    here = _here()
    candidates = () if here is None else (here, *here.parents)
    return next((place for place in candidates if os.path.isfile(place / FOLDER / DATABASE)), None)


def _state_file(name: str) -> Path | None:
    """Return the path of a state file of this user; None for a user without a home."""
    state, home = os.environ.get("XDG_STATE_HOME"), _home()
    folder = Path(state) if state else home and home / ".local" / "state"
    return folder and folder / "mascot" / name


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # neither HOME nor the user database has it
        return None


def remember(root: Path, index: Path | None = None) -> None:
    """Record the last library indexed, and its index if that is elsewhere."""
    _write("library", os.fsencode(index or root))
    if index is not None:
        _write_pair("indexes.json", root, str(index))


def confirm_folders(index: Path, folders: Iterable[Path]) -> None:
    """Record which folders this user added to a library: a library from elsewhere may name any folder."""
    _write_pair("folders.json", index, [*map(str, folders)])


def _write_pair(name: str, key: Path, value: Any) -> None:
    _write(name, json.dumps(_pairs(name) | {str(key): value}).encode())


def _write(name: str, content: bytes) -> None:
    file = _state_file(name)
    if file is not None:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _read(name: str) -> bytes:
    file = _state_file(name)
    try:
        return b"" if file is None else file.read_bytes()
    except OSError:
        return b""


def confirmed_folders(index: Path) -> list[Path]:
    """Return the folders that this user added to a library."""
    folders = _pairs("folders.json").get(str(index), [])
    return [Path(folder) for folder in folders if isinstance(folder, str)] if isinstance(folders, list) else []


def index_of(root: Path) -> Path | None:
    """Return where the index of a folder is, if it was written elsewhere and still exists."""
    index = _pairs("indexes.json").get(str(root))
    return Path(index) if isinstance(index, str) and os.path.isfile(os.path.join(index, DATABASE)) else None


def _pairs(name: str) -> dict[str, Any]:
    try:
        pairs = json.loads(_read(name))
    except ValueError:
        return {}
    return pairs if isinstance(pairs, dict) else {}


def remembered() -> Path | None:
    """Return the last library indexed."""
    path = _read("library")
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


def refuse_links(folder: Path) -> None:
    """Raise if the folder of an index, or anything in it, is a link: what is written to it must stay in it."""
    parts = [folder, *(Path(place, name) for place, *names in os.walk(folder) for name in chain(*names))]
    link = next((part for part in parts if part.is_symlink()), None)
    if link is not None:
        raise InputError(f"{link} is a link, and an index must not contain any: remove it")
