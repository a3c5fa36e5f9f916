"""Saved choices: sets of photographs that a person picked and named, the rejected ones, and their search."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mascot.errors import InputError, OptionError, require
from mascot.photos.database.schema import transaction
from mascot.photos.database.store import Store
from mascot.photos.request import SearchRequest, check_choice
from mascot.photos.texts import composed, require_text

FILE = "choices.sqlite"  # separate from the library's database, which can be rebuilt; choices cannot
_BUSY_S = 60.0  # timeout of waiting for another process to finish writing
_LONGEST_NAME = 200
_LONGEST_QUERY = 100_000  # characters of its JSON
_MOST = 1000  # choices of a library
_TABLE = (
    "CREATE TABLE IF NOT EXISTS choices "
    "(name TEXT PRIMARY KEY, photos TEXT NOT NULL, rejected TEXT NOT NULL, query TEXT)"
)
_Identity = tuple[str, str]  # path and hash: a repair may assign new ids


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

    Photographs are saved by path and content, so that a choice stays the same when they are moved, indexed
    again or repaired.
    """

    def __init__(self, folder: Path, store: Store) -> None:
        self._path, self._store = folder / FILE, store

    def all(self) -> list[Choice]:
        """Return every choice, by name."""
        return self._read("ORDER BY name")

    def get(self, name: str) -> Choice:
        normal_name = checked_name(name)
        for choice in self._read("WHERE name = ?", normal_name):
            return choice
        names = ", ".join(repr(choice.name) for choice in self.all()[:8])
        raise InputError(f"no choice is called {normal_name!r}; there are: {names or 'none'}")

    def _read(self, condition: str, *values: str) -> list[Choice]:
        if not self._path.exists():
            return []
        with self._connect("ro") as connection:
            query = f"SELECT name, photos, rejected, query FROM choices {condition}"
            rows = connection.execute(query, values).fetchall()
        parsed = [(name, _identities(photos), _identities(rejected), query) for name, photos, rejected, query in rows]
        ids = self._ids(identity for _, photos, rejected, _ in parsed for identity in (*photos, *rejected))
        choices = []
        for name, photos, rejected, query in parsed:
            photo_ids, rejected_ids = (
                tuple(dict.fromkeys(ids[identity] for identity in part if identity in ids))
                for part in (photos, rejected)
            )
            missing = sum(identity not in ids for identity in photos)
            choices.append(Choice(name, photo_ids, rejected_ids, None if query is None else json.loads(query), missing))
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
        text = None if query is None else json.dumps(query, ensure_ascii=False)
        length = len(text or "")
        require(length <= _LONGEST_QUERY, "query", f"must be at most {_LONGEST_QUERY} characters", length)
        photos, rejected = list(dict.fromkeys(photos)), list(dict.fromkeys(rejected))
        row = (normal_name, self._to_json(photos), self._to_json(rejected), text)
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO choices VALUES (?, ?, ?, ?)", row)
            count = int(connection.execute("SELECT count(*) FROM choices").fetchone()[0])
            require(count <= _MOST, "choices", f"must be at most {_MOST}: delete some first, then save", count)
        return Choice(normal_name, tuple(photos), tuple(rejected), None if query is None else dict(query))

    def delete(self, name: str) -> None:
        """Delete a choice; the photographs stay."""
        normal_name, count = checked_name(name), 0
        if self._path.exists():
            with self._writing() as connection:
                count = connection.execute("DELETE FROM choices WHERE name = ?", (normal_name,)).rowcount
        if not count:
            self.get(normal_name)  # raises, and lists the names there are

    def _to_json(self, ids: Sequence[int]) -> str:
        return json.dumps([[photo.path, photo.hash] for photo in self._store.photos(ids)], ensure_ascii=False)

    def _ids(self, identities: Iterable[_Identity]) -> dict[_Identity, int]:
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

    @contextmanager
    def _connect(self, mode: str) -> Iterator[sqlite3.Connection]:
        try:
            uri = f"{self._path.absolute().as_uri()}?mode={mode}"
            with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_S, isolation_level=None)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise InputError(f"cannot use the saved choices in {self._path}: {error}") from None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._connect("rwc") as connection, transaction(connection):
                connection.execute(_TABLE)
                yield connection
        except InputError as error:
            if any(reason in str(error) for reason in ("readonly", "read-only", "unable to open")):
                raise InputError(f"choices cannot be saved: {self._path.parent} is read-only for this user") from None
            raise


def checked_name(name: str) -> str:
    """Return the name of a choice in its normal form; raise `OptionError` if it is not valid."""
    require_text(name, "the name of a choice")
    normal = str(composed(" ".join(name.split())))
    if not normal or len(normal) > _LONGEST_NAME or not normal.isprintable():
        raise OptionError(f"the name of a choice must be 1 to {_LONGEST_NAME} printable characters, got {name[:80]!r}")
    return normal


def _identities(text: str) -> list[_Identity]:
    return [(str(path), str(hash_)) for path, hash_ in json.loads(text)]
