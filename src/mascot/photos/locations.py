"""The locations of libraries: around the working directory, the one indexed last, their indexes and their folders."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from mascot.errors import InputError, OptionError
from mascot.photos.database.conditions import within
from mascot.photos.database.store import FOLDER, DamagedLibrary, Store
from mascot.photos.files.texts import is_text, require_text

DATABASE = "library.sqlite"  # in a library's `.mascot`
DAMAGED = "library.damaged.sqlite"  # a damaged database that was replaced
_CONFIRMED = "folders.json"  # the folders that this user added to libraries, by index
ROOT, _FOLDERS = "root", "folders"  # facts: the first folder if the index is elsewhere, and the added folders


def enclosing() -> Path | None:
    """Return the innermost library around the current folder."""
    with suppress(OSError):  # the folder was deleted
        places = (Path.cwd(), *Path.cwd().parents)
        return next((place for place in places if os.path.isfile(place / FOLDER / DATABASE)), None)
    return None


def _state_file(name: str) -> Path:
    """Return the path of a state file of this user; raise `RuntimeError` for a user without a home."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "mascot", name)


def remember(root: Path, index: Path | None = None) -> None:
    """Record the last library indexed, and its index if that is elsewhere."""
    _write("library", os.fsencode(index or root))
    if index is not None:
        _write_pair("indexes.json", root, str(index))


def _write_pair(name: str, key: Path, value: Any) -> None:
    _write(name, json.dumps(_pairs(name) | {str(key): value}).encode())


def _write(name: str, content: bytes) -> None:
    with suppress(OSError, RuntimeError):
        file = _state_file(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _read(name: str) -> bytes:
    with suppress(OSError, RuntimeError):
        return _state_file(name).read_bytes()
    return b""


def index_of(root: Path) -> Path | None:
    """Return where the index of a folder is, if it was written elsewhere and still exists."""
    index = _pairs("indexes.json").get(str(root))
    return Path(index) if isinstance(index, str) and os.path.isfile(os.path.join(index, DATABASE)) else None


def root_of(index: Path) -> str | None:
    """Return the first folder of an index elsewhere, if it was written by this user."""
    return next((root for root, path in _pairs("indexes.json").items() if path == str(index)), None)


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
    for locate, sign in ((Path.cwd, ""), (Path.home, "~/")):
        with suppress(OSError, RuntimeError):  # the current folder was deleted, or the user has no home
            place = locate().resolve()
            if place != root and root.is_relative_to(place):
                return sign + root.relative_to(place).as_posix()
    return str(root)


def refuse_links(folder: Path) -> None:
    """Raise if the folder of an index, or anything in it, is a link: what is written to it must stay in it."""
    parts = [folder, *(Path(place, name) for place, *names in os.walk(folder) for name in chain(*names))]
    link = next((part for part in parts if part.is_symlink()), None)
    if link is not None:
        raise InputError(f"{link} is a link, and an index must not contain any: remove it")


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders as the database names them.

    A library that was made elsewhere may name any folder: only those that this user named are confirmed.
    """

    root: Path
    index: Path
    store: Store

    def added(self) -> list[Path]:
        """Return the folders after the first one."""
        try:
            return [Path(path) for path in json.loads(self.store.fact(_FOLDERS) or "[]")]
        except (ValueError, TypeError):
            raise DamagedLibrary(self.store.path, "the list of folders") from None

    def confirmed(self) -> list[Path]:
        """Return the confirmed folders after the first one."""
        confirmed = _pairs(_CONFIRMED).get(str(self.index))
        return [folder for folder in self.added() if isinstance(confirmed, list) and str(folder) in confirmed]

    def add(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        """Record the first folder, and those to add; refuse overlapping folders."""
        facts: dict[str, str] = {}
        confirmed, folders = self.confirmed(), [self.root, *self.added()]
        if self.index != self.root / FOLDER:
            indexed_root = self.store.fact(ROOT)
            if indexed_root not in (None, str(self.root)) and Path(indexed_root or "").is_dir():
                raise OptionError(
                    f"the index {self.index} is of {indexed_root}: to add another folder, "
                    f"`mascot index {indexed_root} {self.root} --index {self.index}`"
                )
            facts[ROOT] = str(self.root)
        for folder in (Path(path).resolve() for path in paths):
            confirmed.append(folder)
            if folder in folders:
                continue
            if not folder.is_dir():
                raise InputError(f"there is no folder {folder}")
            require_text(str(folder), "the path of a folder")
            for other in folders:
                if folder.is_relative_to(other) or other.is_relative_to(folder):
                    outer, inner = sorted((folder, other))
                    raise OptionError(f"{inner} is inside {outer}: index {outer} alone, or folders beside each other")
            folders.append(folder)
        facts[_FOLDERS] = json.dumps([str(folder) for folder in folders[1:]])
        changed = {name: value for name, value in facts.items() if (self.store.fact(name) or "[]") != value}
        if changed:
            self.store.set_facts(changed)
        if paths:
            _write_pair(_CONFIRMED, self.index, [str(folder) for folder in dict.fromkeys(confirmed)])

    def remove(self, folder: str | os.PathLike[str]) -> int:
        """Forget an added folder and its photographs, and return how many they were."""
        path, folders = Path(os.path.abspath(folder)), self.added()
        added = next((other for other in folders if other in (path, path.resolve())), None)
        if added is None:
            names = ", ".join(map(str, folders)) or "none"
            raise OptionError(f"{path} was not added to the library {self.root}: folders that were are {names}")
        condition, values = within(added.as_posix())
        with self.store.writing() as connection:
            count = connection.execute(f"DELETE FROM photos WHERE {condition}", values).rowcount
        self.store.set_facts({_FOLDERS: json.dumps([str(other) for other in folders if other != added])})
        return int(count)

    def named(self, text: str) -> str:
        """Return the name of a folder with photographs, from a path relative to the root or to the current folder."""
        places = [self.root, Path.cwd()]
        if text.startswith("."):
            places.reverse()
        for place in places:
            for path in (Path(os.path.abspath(place / text)), (place / text).resolve()):
                name = name_of(self.root, path)
                condition, values = within(name) if is_text(name) else ("FALSE", ())
                query = f"SELECT 1 FROM photos WHERE {condition} LIMIT 1"
                if self.store.connection.execute(query, values).fetchone() is not None:
                    return name
        raise OptionError(f"the library {self.root} has no photographs in a folder {text!r}")
