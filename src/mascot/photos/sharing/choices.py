"""Saved choices: sets of photographs that a person picked and named, the rejected ones, and their search.

Choices cannot be made again. Each has a JSON file, which is replaced as a whole; the file of an earlier day is kept.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from mascot.errors import InputError, MascotError, OptionError, require
from mascot.photos.database.store import Store
from mascot.photos.files.texts import composed, require_text
from mascot.photos.request import SearchRequest, check_choice
from mascot.photos.sharing.export import disk_errors, finished, safe_name

FOLDER = "choices"  # in the folder of the index
_LONGEST_NAME = 200
_DAY_S = 24 * 3600
Identity = tuple[str, str]  # path and hash of a photograph: its id may change


@dataclass(frozen=True, slots=True)
class Choice:
    """A named set of photographs."""

    name: str
    photos: tuple[int, ...]  # ids, in the order in which they were chosen
    rejected: tuple[int, ...] = ()
    query: dict[str, Any] | None = None  # the search, as `SearchRequest.to_dict` writes it
    missing: int = 0  # photographs of it that are not in the library any more


class Choices:
    """The saved choices of one library. Several processes may read and write them at once.

    Photographs are saved by path and content, so that a choice stays the same when they are moved or indexed again.
    """

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder, self._store = folder / FOLDER, store

    def all(self) -> list[Choice]:
        """Return every choice, by name."""
        return self._with_ids(sorted(map(_read, self._folder.glob("*.json")), key=lambda choice: choice.name))

    def get(self, name: str) -> Choice:
        return self._with_ids([_read(self._existing(name))])[0]

    def _existing(self, name: str) -> Path:
        """Return the file of a choice, which must exist."""
        path = self._path(checked_name(name))
        if path.exists():
            return path
        names = ", ".join(repr(choice.name) for choice in self.all()[:8])
        raise InputError(f"no choice is called {name!r}; {f'there are: {names}' if names else 'none is saved'}")

    def _path(self, name: str) -> Path:
        return self._folder / f"{safe_name(name)}-{sha256(name.encode()).hexdigest()[:16]}.json"

    def _with_ids(self, saved: Sequence[SavedChoice]) -> list[Choice]:
        ids = self._ids(identity for choice in saved for identity in (*choice.photos, *choice.rejected))
        choices = []
        for choice in saved:
            photos, rejected = (
                tuple(dict.fromkeys(ids[identity] for identity in part if identity in ids))
                for part in (choice.photos, choice.rejected)
            )
            missing = sum(identity not in ids for identity in choice.photos)
            choices.append(Choice(choice.name, photos, rejected, choice.query, missing))
        return choices

    def put(
        self, name: str, photos: Sequence[int], rejected: Sequence[int] = (), query: Mapping[str, Any] | None = None
    ) -> Choice:
        """Save a choice; an existing one of that name is replaced.

        `query` is a search request as `SearchRequest.to_dict` writes it, without the photographs that it pins, rejects
        or showed before: the choice holds these.
        """
        normal_name = checked_name(name)
        check_choice(photos, rejected)
        if query is not None:
            query = replace(SearchRequest.from_dict(query), pin=(), reject=(), already=()).to_dict()
        photos, rejected = list(dict.fromkeys(photos)), list(dict.fromkeys(rejected))
        saved = SavedChoice(normal_name, self._identities(photos), self._identities(rejected), query)
        self._write(saved)
        return Choice(normal_name, tuple(photos), tuple(rejected), saved.query)

    def delete(self, name: str) -> None:
        """Delete a choice; the photographs stay."""
        path = self._existing(name)
        _read(path)  # a damaged file is not removed
        with disk_errors(self._folder):
            path.replace(_earlier(path))

    def _write(self, choice: SavedChoice) -> None:
        path = self._path(choice.name)
        with disk_errors(self._folder):
            self._folder.mkdir(exist_ok=True)
            if path.exists():
                _read(path)  # a damaged file is not replaced
                if path.stat().st_mtime // _DAY_S < time.time() // _DAY_S:
                    shutil.copyfile(path, _earlier(path))
            with finished(path, replace=True) as part:
                part.write_text(json.dumps(asdict(choice), indent=1), encoding="utf-8")

    def _identities(self, ids: Sequence[int]) -> tuple[Identity, ...]:
        return tuple((photo.path, photo.hash) for photo in self._store.photos(ids))

    def _ids(self, identities: Iterable[Identity]) -> dict[Identity, int]:
        """Return the current ids: of the same content and path, else of the same content, else of the same path."""
        distinct = set(identities)
        by_hash: dict[str, list[tuple[int, str]]] = {}
        for id_, path, hash_ in self._store.identities("hash", {hash_ for _, hash_ in distinct}):
            by_hash.setdefault(hash_, []).append((id_, path))
        by_path = {path: id_ for id_, path, _ in self._store.identities("path", {path for path, _ in distinct})}
        ids = {}
        for path, hash_ in distinct:
            rows = by_hash.get(hash_, [])
            match = next((id_ for id_, place in rows if place == path), rows[0][0] if rows else by_path.get(path))
            if match is not None:
                ids[path, hash_] = match
        return ids


@dataclass(frozen=True, slots=True)
class SavedChoice:
    """A choice as it is stored."""

    name: str
    photos: tuple[Identity, ...]
    rejected: tuple[Identity, ...]
    query: dict[str, Any] | None

    def __post_init__(self) -> None:
        for field in ("photos", "rejected"):
            object.__setattr__(self, field, tuple((path, hash_) for path, hash_ in getattr(self, field)))
        if checked_name(self.name) != self.name:
            raise InputError(f"the name {self.name!r} is not in its normal form")
        if self.query is not None:
            SearchRequest.from_dict(self.query)


def _read(path: Path) -> SavedChoice:
    """Read the file of a choice. Raises `InputError` if it is damaged."""
    try:
        return SavedChoice(**json.loads(path.read_bytes()))
    except (MascotError, ValueError, TypeError, RecursionError, OSError) as error:
        earlier = _earlier(path)
        remedy = f"replace it by {earlier}, its copy of an earlier day" if earlier.exists() else "remove it"
        reason = " ".join(str(error).split())
        raise InputError(f"{path} is not a choice, or is damaged ({reason}): {remedy}") from None


def _earlier(path: Path) -> Path:
    """Return where the file of an earlier day is kept."""
    return path.with_name(f"{path.name}.earlier")


def checked_name(name: Any) -> str:
    """Return the name of a choice in its normal form; raise `OptionError` if it is not valid."""
    require(isinstance(name, str), "the name of a choice", "must be text", type(name).__name__)
    require_text(name, "the name of a choice")
    normal = str(composed(" ".join(name.split())))
    if not normal or len(normal) > _LONGEST_NAME or not normal.isprintable():
        raise OptionError(f"the name of a choice must be 1 to {_LONGEST_NAME} printable characters, got {name[:80]!r}")
    return normal
