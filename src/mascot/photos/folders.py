"""The folders of a library: the first one, and those that were added to it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mascot.errors import InputError, OptionError
from mascot.photos.database.conditions import within
from mascot.photos.database.store import FOLDER, DamagedLibrary, Store
from mascot.photos.files.texts import is_text, require_text
from mascot.photos.locations import confirm_folders, confirmed_folders, name_of

ROOT, _FOLDERS = "root", "folders"  # facts: the first folder if the index is elsewhere, and the added folders


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
        confirmed = confirmed_folders(self.index)
        return [folder for folder in self.added() if folder in confirmed]

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
            confirm_folders(self.index, dict.fromkeys(confirmed))

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
