"""Find and repair damage in a library. Derived files are built again; the database is saved row by row."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mascot.errors import InputError, MascotError
from mascot.photos.database.encodings import damaged_facts
from mascot.photos.database.store import LOOKS, UNREADABLE, Space, Store, plain_cursor, reading_only
from mascot.photos.library import Library
from mascot.photos.locations import DATABASE
from mascot.photos.photo import COLUMNS, TYPES, Photo
from mascot.photos.sharing.choices import COLUMNS as CHOICE_COLUMNS
from mascot.photos.sharing.choices import ChoiceFile, SavedChoice

DAMAGED = "library.damaged.sqlite"  # the database as it was before a repair
DAMAGED_CHOICES = "choices.damaged.sqlite"
_MOST = 20  # findings of one kind that are listed
_PROBES = 10_000  # ids tried one by one after an unreadable row; then the steps grow
_LARGEST_ID = 1 << 40
_JSON_FACTS = {"folders": list, "city_names": dict}
_ENDINGS = ("", "-wal", "-shm")  # of the files of a database


@dataclass(frozen=True, slots=True)
class Repair:
    findings: tuple[str, ...]
    photos: int  # rows in the library afterwards
    encoded: int  # rows with a vector: `mascot index` encodes the others again
    lost: int | None  # rows that could not be saved; None if their number cannot be read
    damaged: Path | None  # the old database, if it was replaced
    choices: str | None  # what became of the saved choices, if their file was damaged


def check(library: Library) -> tuple[str, ...]:
    """Read every byte of the index, and return a line for each damage."""
    return (*_findings(library), *ChoiceFile(library.folder).findings())


def _findings(library: Library) -> list[str]:
    """Return the damages of the database."""
    try:
        return _database_findings(library.store)
    except MascotError as error:
        if not library.store_path.is_file():
            raise
        return [str(error)]


def repair(library: Library) -> Repair:
    """Repair what `check` finds. The old database is kept beside the new one, as `library.damaged.sqlite`."""
    if not library.store_path.is_file():
        raise InputError(f"there is no library at {library.root}: make one with `mascot index FOLDER`")
    with library.lock():
        of_database = _findings(library)
        lost_rows: int | None = 0
        if of_database:
            library.close()
            lost_rows = _salvage(library.store_path)
        for path in library.folder.glob("nearest-*"):
            path.unlink()
        encoded = library.store.count_vectors(library.store.space.fingerprint)
        damaged = library.folder / DAMAGED if of_database else None
        of_choices = ChoiceFile(library.folder).findings()
        choices = _restore_choices(library.folder) if of_choices else None
        return Repair((*of_database, *of_choices), library.store.count(), encoded, lost_rows, damaged, choices)


def _database_findings(store: Store) -> list[str]:
    connection = store.connection
    lines = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({_MOST})")]
    findings = [f"{DATABASE}: {' '.join(line.split())}" for line in lines if line != "ok"]
    orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    if orphans:
        findings.append(f"{DATABASE}: {len(orphans)} rows belong to photographs that do not exist")
    damaged = _damaged_facts(connection, dict(connection.execute("SELECT name, value FROM facts").fetchall()))
    findings += [f"{DATABASE}: the fact {name} is damaged" for name in sorted(damaged)]
    if damaged:
        return findings  # what the vectors should be is not known
    damaged_ids = list(_damaged_ids(store))
    findings += [f"{DATABASE}: photograph {id_} is damaged" for id_ in damaged_ids[:_MOST]]
    if len(damaged_ids) > _MOST:
        findings.append(f"{DATABASE}: and {len(damaged_ids) - _MOST} more photographs")
    return findings


def _damaged_facts(connection: sqlite3.Connection, facts: Mapping[str, Any]) -> set[str]:
    """Return the names of facts that cannot be right."""
    damaged = {str(name) for name, value in facts.items() if not (isinstance(name, str) and isinstance(value, str))}
    if not re.fullmatch("[0-9]{1,15}", str(facts.get("changes", 0))):
        damaged.add("changes")
    for name, kind in _JSON_FACTS.items():
        try:
            if name in facts and not isinstance(json.loads(facts[name]), kind):
                damaged.add(name)
        except (ValueError, TypeError, RecursionError):
            damaged.add(name)
    query = "SELECT space, length(vector), count(*) FROM vectors GROUP BY 1, 2 ORDER BY 3"  # the usual length is last
    lengths: dict[str, int] = {}
    with suppress(*UNREADABLE):
        lengths = {space: length for space, length, _ in plain_cursor(connection).execute(query)}
    return damaged | damaged_facts({name: value for name, value in facts.items() if name not in damaged}, lengths)


def _damaged_ids(store: Store) -> Iterator[int]:
    """Yield the ids of photographs whose row, pixels or vector, if any, are not plausible."""
    space = store.space
    query = (
        "SELECT photos.*, thumbnail, look, stamp, vector FROM photos LEFT JOIN pixels ON pixels.photo = id "
        "LEFT JOIN vectors ON vectors.photo = id AND vectors.space = ? ORDER BY id"
    )
    for row in store.connection.execute(query, (space.fingerprint,)):
        is_encoded = row["stamp"] is None or _is_vector(row["vector"], space)
        if not (is_encoded and _is_pixels(row["thumbnail"], row["look"]) and _is_photo(row)):
            yield row["id"]


def _is_photo(row: Any) -> bool:
    with suppress(ValueError, TypeError):
        Photo.from_row(row)
        return all(isinstance(row[name], types) for name, types in TYPES.items())
    return False


def _is_pixels(thumbnail: Any, look: Any) -> bool:
    is_jpeg = isinstance(thumbnail, bytes) and thumbnail.startswith(b"\xff\xd8")
    return is_jpeg and _is_vector(look, LOOKS)


def _is_vector(content: Any, space: Space) -> bool:
    """Return whether the content is unit vectors of a space."""
    if not isinstance(content, bytes) or len(content) != 4 * space.dim * space.tokens:
        return False
    rows = np.frombuffer(content, np.float32).reshape(-1, space.dim)
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(np.linalg.norm(rows, axis=1) - 1) < 1e-3))


def _salvage(path: Path) -> int | None:
    """Replace the database by one of all readable rows; return how many rows were lost, None if unknown."""
    new_path = path.with_name("library.repaired.sqlite")
    _remove_database(new_path)
    count = None
    try:
        with closing(Store(new_path, create=True)) as store:
            # No row can be read if it is not a database any more.
            with suppress(*UNREADABLE), closing(reading_only(path)) as damaged:
                damaged.text_factory = _text
                damaged.row_factory = None
                count = _number(damaged, "SELECT count(*) FROM photos")
                _copy(damaged, store)
            saved_rows = store.count()
            store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        _set_aside(path, DAMAGED)
        os.replace(new_path, path)
    finally:
        _remove_database(new_path)
    return None if count is None else max(count - saved_rows, 0)


def _restore_choices(folder: Path) -> str:
    """Write the file of choices again, from every sound row and from the backup; return a line about it."""
    file, choices, lost_names = ChoiceFile(folder), {}, []
    with suppress(*UNREADABLE), closing(reading_only(file.path)) as damaged:
        damaged.text_factory = _text
        for _, name, *cells in _rows(damaged, "choices", "rowid", CHOICE_COLUMNS):
            try:
                choices[name] = SavedChoice.from_row((name, *cells))
            except MascotError:
                lost_names.append(name)
    with suppress(MascotError):  # the backup is damaged
        choices |= {choice.name: choice for choice in file.backup()}
    _set_aside(file.path, DAMAGED_CHOICES)
    with suppress(FileNotFoundError):
        os.replace(file.backup_path, (folder / DAMAGED_CHOICES).with_suffix(".json"))
    file.put(choices.values())
    names = ", ".join(repr(name) for name in lost_names if name not in choices) or "none known"
    return f"{len(choices)} choices saved; lost: {names}; the old file is {folder / DAMAGED_CHOICES}"


def _set_aside(path: Path, name: str) -> None:
    """Rename a database, replacing one that has the new name."""
    _remove_database(path.with_name(name))
    for ending in _ENDINGS:
        with suppress(FileNotFoundError):
            os.replace(f"{path}{ending}", f"{path.with_name(name)}{ending}")


def _remove_database(path: Path) -> None:
    for ending in _ENDINGS:
        Path(f"{path}{ending}").unlink(missing_ok=True)


def _copy(damaged: sqlite3.Connection, store: Store) -> None:
    """Copy facts, every photograph whose row and pixels are sound, and every sound vector."""
    rows = _rows(damaged, "facts", "rowid", ("name", "value"))
    facts = {name: value for _, name, value in rows}
    for name in _damaged_facts(damaged, facts):
        facts.pop(name, None)
    space = Space("", 1, 0)  # of empty vectors, if the facts are damaged
    with suppress(KeyError, ValueError):
        space = Space("", max(int(facts["dim"]), 1), max(int(facts["tokens"]), 0))
    with store.writing() as connection:
        connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", list(facts.items()))
        insert = f"INSERT OR IGNORE INTO photos ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
        for row in _rows(damaged, "photos", "id", COLUMNS[1:]):
            if _is_photo(dict(zip(COLUMNS, row, strict=True))):
                connection.execute(insert, row)
        for photo, thumbnail, look in _rows(damaged, "pixels", "photo", ("thumbnail", "look")):
            if _is_pixels(thumbnail, look):
                _insert(connection, "pixels", photo, thumbnail, look)
        for _, photo, stamp, vector in _rows(damaged, "vectors", "rowid", ("photo", "stamp", "vector")):
            if isinstance(stamp, str) and stamp.isascii() and _is_vector(vector, space):
                _insert(connection, "vectors", photo, stamp.rpartition("-")[0], stamp, vector)
        # `mascot index` reads photographs without pixels again, and encodes those without a vector.
        connection.execute("DELETE FROM photos WHERE id NOT IN (SELECT photo FROM pixels)")


def _insert(connection: sqlite3.Connection, table: str, photo: int, *values: Any) -> None:
    with suppress(sqlite3.IntegrityError):  # its photograph was lost
        marks = ", ".join("?" * (1 + len(values)))
        connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (photo, *values))


def _rows(damaged: sqlite3.Connection, table: str, key: str, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield every readable row, the key first; after an unreadable one, continue at later keys."""
    query = f"SELECT {key}, {', '.join(columns)} FROM {table} WHERE {key} > ? ORDER BY {key}"
    last, failures = -1, 0
    largest = _number(damaged, f"SELECT max({key}) FROM {table}") or _LARGEST_ID
    while last <= largest:
        with suppress(*UNREADABLE):
            for row in plain_cursor(damaged).execute(query, (last,)):
                if not isinstance(row[0], int) or row[0] <= last:
                    break
                last, failures = row[0], 0
                yield row
            else:
                return
        failures += 1
        last += 1 if failures < _PROBES else 1 << min(failures - _PROBES, 40)


def _text(content: bytes) -> str | bytes:
    """Return the text of a cell; its bytes, which no check accepts, if it is not UTF-8."""
    with suppress(UnicodeDecodeError):
        return content.decode()
    return content


def _number(connection: sqlite3.Connection, query: str) -> int | None:
    with suppress(*UNREADABLE):
        value = plain_cursor(connection).execute(query).fetchone()[0]
        return value if isinstance(value, int) else None
    return None
