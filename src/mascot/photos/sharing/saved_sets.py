"""Saved choices: sets of photographs that a person picked and named, the rejected ones, and their search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mascot.errors import InputError
from mascot.photos.database.store import Store
from mascot.photos.request import SearchRequest, check_choice
from mascot.photos.sharing.choice_files import (
    ChoiceFile,
    Identity,
    SavedChoice,
    checked_name,
    read_choices,
    write_choices,
)


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
