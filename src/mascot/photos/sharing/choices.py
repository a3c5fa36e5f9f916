"""Saved choices: sets of photographs that a person picked and named, the rejected ones, and their search.

Choices cannot be made again. Each has a JSON file, which is replaced as a whole; the file of an earlier day is kept.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain
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
        return sorted(map(self._read, self._folder.glob("*.json")), key=lambda choice: choice.name)

    def get(self, name: str) -> Choice:
        return self._read(self._existing(name))

    def _existing(self, name: str) -> Path:
        """Return the file of a choice, which must exist."""
        path = self._path(checked_name(name))
        if not path.exists():
            raise InputError(f"no choice is called {name!r}")
        return path

    def _path(self, name: str) -> Path:
        return self._folder / f"{safe_name(name)}-{sha256(name.encode()).hexdigest()[:16]}.json"

    def _read(self, path: Path) -> Choice:
        """Read the file of a choice. Raises `InputError` if it is damaged."""
        try:
            saved = json.loads(path.read_bytes())
            name, query = checked_name(saved["name"]), saved["query"]
            photos, rejected = ([(place, hash_) for place, hash_ in saved[part]] for part in ("photos", "rejected"))
            if query is not None:
                SearchRequest.from_dict(query)
        except (MascotError, ValueError, TypeError, KeyError, RecursionError, OSError) as error:
            reason = " ".join(str(error).split())
            raise InputError(
                f"{path} is not a choice, or is damaged ({reason}): "
                f"replace it by {_earlier(path)}, its copy of an earlier day, or remove it"
            ) from None
        ids = self._ids({*photos, *rejected})
        kept, out = (tuple(dict.fromkeys(ids[key] for key in part if key in ids)) for part in (photos, rejected))
        return Choice(name, kept, out, query, sum(identity not in ids for identity in photos))

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
        parts = {"photos": self._identities(photos), "rejected": self._identities(rejected)}
        path = self._path(normal_name)
        with disk_errors(self._folder):
            self._folder.mkdir(exist_ok=True)
            if path.exists():
                self._read(path)  # a damaged file is not replaced
                if path.stat().st_mtime // _DAY_S < time.time() // _DAY_S:
                    shutil.copyfile(path, _earlier(path))
            with finished(path, replace=True) as part:
                part.write_text(json.dumps({"name": normal_name, **parts, "query": query}, indent=1), "utf-8")
        return Choice(normal_name, tuple(photos), tuple(rejected), query)

    def delete(self, name: str) -> None:
        """Delete a choice; the photographs stay."""
        path = self._existing(name)
        self._read(path)  # nor is it removed
        with disk_errors(self._folder):
            path.replace(_earlier(path))

    def _identities(self, ids: Sequence[int]) -> list[Identity]:
        return [(photo.path, photo.hash) for photo in self._store.photos(ids)]

    def _ids(self, identities: set[Identity]) -> dict[Identity, int]:
        """Return the current ids: of the same content and path, else of the same content, else of the same path."""
        paths, hashes = ({identity[part] for identity in identities} for part in (0, 1))
        found: dict[str | Identity, int] = {}
        for id_, path, hash_ in chain(self._store.identities("hash", hashes), self._store.identities("path", paths)):
            for key in (path, hash_, (path, hash_)):
                found.setdefault(key, id_)
        return {pair: found[key] for pair in identities for key in (*pair, pair) if key in found}  # the last one counts


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
