"""Saved choices: sets of photographs that a person picked and named, the rejected ones, and their search.

Choices cannot be rebuilt, so there is a backup, and what is read is checked.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mascot.errors import InputError, MascotError, OptionError, require
from mascot.photos.database.checksums import checksum
from mascot.photos.database.schema import transaction
from mascot.photos.database.store import DamagedLibrary, Store, connect, database_errors, write_failure
from mascot.photos.files.texts import composed, require_text
from mascot.photos.request import SearchRequest, check_choice
from mascot.photos.sharing.export import finished

FILE = "choices.sqlite"  # separate from the library's database, which can be rebuilt; choices cannot
BACKUP = "choices.json"
COLUMNS = ("name", "photos", "rejected", "query")
_LONGEST_NAME = 200
_LONGEST_QUERY = 100_000  # characters of its JSON
_LARGEST_FILE = 256 << 20  # bytes of an export
_MOST = 1000  # choices of a library
_TABLE = (
    "CREATE TABLE IF NOT EXISTS choices "
    "(name TEXT PRIMARY KEY, photos TEXT NOT NULL, rejected TEXT NOT NULL, query TEXT)"
)
Identity = tuple[str, str]  # path and hash of a photograph: a repair may assign new ids


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
        self._file, self._store = ChoiceFile(folder), store

    def all(self) -> list[Choice]:
        """Return every choice, by name."""
        return self._with_ids(self._file.read())

    def get(self, name: str) -> Choice:
        normal_name = checked_name(name)
        for choice in self._with_ids(self._file.read(normal_name)):
            return choice
        names = ", ".join(repr(choice.name) for choice in self._file.read()[:8])
        raise InputError(f"no choice is called {normal_name!r}; {f'there are: {names}' if names else 'none is saved'}")

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
        self._file.put([saved])
        return Choice(normal_name, tuple(photos), tuple(rejected), saved.query)

    def delete(self, name: str) -> None:
        """Delete a choice; the photographs stay."""
        normal_name = checked_name(name)
        if not self._file.delete(normal_name):
            self.get(normal_name)  # raises, and lists the names there are

    def write_json(self, path: Path) -> int:
        """Write all choices to a new JSON file; return their number."""
        choices = self._file.read()
        if path.exists():
            raise InputError(f"{path} exists already, and is never overwritten")
        write_choices(path, choices)
        return len(choices)

    def add_json(self, path: Path) -> int:
        """Add the choices of a JSON file; return their number. A name that has another choice is refused."""
        try:
            choices = read_choices(path)
        except FileNotFoundError:
            raise InputError(f"there is no file {path}") from None
        self._file.put(choices, is_new=True)
        return len(choices)

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
    """A choice as it is stored. Raises `MascotError` if a field is not valid."""

    name: str
    photos: tuple[Identity, ...]
    rejected: tuple[Identity, ...]
    query: dict[str, Any] | None

    def __post_init__(self) -> None:
        if checked_name(self.name) != self.name:
            raise InputError(f"the name {self.name!r} is not in its normal form")
        for field in ("photos", "rejected"):
            object.__setattr__(self, field, _identities(field, getattr(self, field)))
        if self.query is not None:
            require(isinstance(self.query, dict), "query", "must be an object", type(self.query).__name__)
            SearchRequest.from_dict(self.query)
            length = len(json.dumps(self.query))
            require(length <= _LONGEST_QUERY, "query", f"must be at most {_LONGEST_QUERY} characters", length)

    @classmethod
    def from_row(cls, row: Iterable[Any]) -> SavedChoice:
        name, photos, rejected, query = row
        return cls(name, _parsed(photos), _parsed(rejected), None if query is None else _parsed(query))

    def to_row(self) -> tuple[str | None, ...]:
        query = None if self.query is None else json.dumps(self.query)
        return self.name, json.dumps(self.photos), json.dumps(self.rejected), query


class ChoiceFile:
    """The saved choices of an index. A backup of all choices is written with every change."""

    def __init__(self, folder: Path) -> None:
        self.path, self.backup_path = folder / FILE, folder / BACKUP

    def read(self, name: str | None = None) -> list[SavedChoice]:
        """Return all choices by name, or the one of this name."""
        if not self._exists():
            return []
        with self._connect("ro") as connection:
            return self._rows(connection, "ORDER BY name" if name is None else "WHERE name = ?", name)

    def put(self, choices: Iterable[SavedChoice], is_new: bool = False) -> None:
        """Save choices in one transaction. Those of the same name are replaced, or refused if they must be new."""
        with self._writing() as connection:
            for choice in choices:
                if is_new and self._rows(connection, "WHERE name = ?", choice.name) not in ([], [choice]):
                    raise InputError(f"there is another choice called {choice.name!r}: delete it first")
                connection.execute("INSERT OR REPLACE INTO choices VALUES (?, ?, ?, ?)", choice.to_row())
            count = int(connection.execute("SELECT count(*) FROM choices").fetchone()[0])
            require(count <= _MOST, "choices", f"must be at most {_MOST}: delete some first, then save", count)

    def delete(self, name: str) -> bool:
        """Delete the choice of this name; return whether there was one."""
        if not self._exists():
            return False
        with self._writing() as connection:
            return bool(connection.execute("DELETE FROM choices WHERE name = ?", (name,)).rowcount)

    def backup(self) -> list[SavedChoice]:
        """Return the choices of the backup, none if there is no backup. Raises `InputError` if it is damaged."""
        try:
            return read_choices(self.backup_path, must_match=True)
        except FileNotFoundError:
            return []

    def findings(self) -> list[str]:
        """Return a line for each damage."""
        try:
            if self._exists():
                with self._connect("ro") as connection:
                    self._check(connection)
        except MascotError as error:
            return [str(error)]
        return []

    def _exists(self) -> bool:
        """Return whether choices were saved; raise `DamagedLibrary` if only the backup contains them."""
        if self.path.exists() and self.path.stat().st_size:
            return True
        if self.backup():
            raise DamagedLibrary(self.path, f"missing or empty, and its backup {BACKUP} is not")
        return False

    def _rows(self, connection: sqlite3.Connection, condition: str, *values: str | None) -> list[SavedChoice]:
        query = f"SELECT {', '.join(COLUMNS)} FROM choices {condition}"
        rows = connection.execute(query, [value for value in values if value is not None]).fetchall()
        try:
            return [SavedChoice.from_row(row) for row in rows]
        except MascotError as error:
            raise DamagedLibrary(self.path, error) from None

    def _check(self, connection: sqlite3.Connection) -> None:
        """Raise if the file or its backup is damaged, or if they differ."""
        answer = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
        if answer != "ok":
            raise DamagedLibrary(self.path, answer)
        choices = self._rows(connection, "ORDER BY name")
        if self.backup_path.exists() and choices != self.backup():
            raise DamagedLibrary(self.path, f"its choices are not those of its backup {BACKUP}")

    @contextmanager
    def _connect(self, mode: str) -> Iterator[sqlite3.Connection]:
        with database_errors(self.path), closing(connect(self.path, f"mode={mode}")) as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction. The backup is written first, so it is never older than the file."""
        self._exists()
        try:
            with self._connect("rwc") as connection:
                connection.execute(_TABLE)
                with transaction(connection):
                    self._check(connection)
                    yield connection
                    write_choices(self.backup_path, self._rows(connection, "ORDER BY name"))
        except InputError as error:
            if any(reason in str(error) for reason in ("readonly", "read-only", "unable to open")):
                raise InputError(f"choices cannot be saved: {self.path.parent} is read-only for this user") from None
            raise


def write_choices(path: Path, choices: Iterable[SavedChoice]) -> None:
    """Write choices as JSON. The file is complete whenever it exists."""
    content = [asdict(choice) for choice in choices]
    text = json.dumps({"checksum": _sum(content), "choices": content}, indent=1)
    try:
        with finished(path, replace=True) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(write_failure(path.parent, error)) from None


def read_choices(path: Path, must_match: bool = False) -> list[SavedChoice]:
    """Read what `write_choices` wrote, perhaps edited by a person unless its checksum `must_match`."""
    try:
        size = path.stat().st_size
        require(size <= _LARGEST_FILE, str(path), f"must be at most {_LARGEST_FILE} bytes", size)
        content = _parsed(path.read_bytes())
        choices = [SavedChoice(**entry) for entry in content["choices"]]
        if must_match and content["checksum"] != _sum(content["choices"]):
            raise InputError("it does not match its checksum")
        return choices
    except FileNotFoundError:
        raise
    except (MascotError, TypeError, KeyError, OSError) as error:
        reason = str(error) or type(error).__name__
        raise InputError(f"{path} is not a file of choices, or is damaged: {reason}") from None


def checked_name(name: Any) -> str:
    """Return the name of a choice in its normal form; raise `OptionError` if it is not valid."""
    require(isinstance(name, str), "the name of a choice", "must be text", type(name).__name__)
    require_text(name, "the name of a choice")
    normal = str(composed(" ".join(name.split())))
    if not normal or len(normal) > _LONGEST_NAME or not normal.isprintable():
        raise OptionError(f"the name of a choice must be 1 to {_LONGEST_NAME} printable characters, got {name[:80]!r}")
    return normal


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise InputError(f"{str(text)[:40]!r} is not JSON") from None


def _identities(field: str, pairs: Any) -> tuple[Identity, ...]:
    is_valid = isinstance(pairs, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
        for pair in pairs
    )
    require(is_valid, field, "must be pairs of a path and a hash", str(pairs)[:80])
    return tuple((path, hash_) for path, hash_ in pairs)


def _sum(content: list[Any]) -> str:
    return f"{checksum(json.dumps(content).encode()):016x}"
