"""The columns of the photographs of a library: read on first use, and cached for the next search."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.photos.database.store import DamagedLibrary, Store
from mascot.photos.metadata.sun import LIGHT_COLUMNS, lights
from mascot.photos.photo import CALENDAR, LABELS, NUMBERS, Photo

Ids = NDArray[np.int64]
Looks = NDArray[np.float32]


class PhotoTable:
    """The photographs of a library after `changes` changes."""

    def __init__(self, store: Store, looks: Callable[[Ids], Looks]) -> None:
        self._store, self.looks = store, looks  # `looks` returns visual descriptors by id, a row each
        with store.snapshot():
            self.changes, self.ids = store.changes, store.ids()
        self._columns: dict[str, NDArray[Any]] = {}
        self._last_places = (self.ids, np.arange(len(self.ids)))

    def contains(self, ids: Ids) -> NDArray[np.bool_]:
        """Return whether each of these ids belongs to a photograph."""
        return np.isin(ids, self.ids)

    def cells(self, names: Sequence[str], ids: Ids) -> dict[str, NDArray[Any]]:
        """Return the cells of these columns as float64, datetime64, lists of keywords, or labels (None if missing)."""
        unread = [name for name in names if name not in self._columns]
        if unread:
            self._columns |= self._read(unread, self.ids, self._store.cells(unread))
        last_ids, places = self._last_places
        if last_ids is not ids:  # the columns of one search are asked for one by one
            places = np.searchsorted(self.ids, ids)
            self._last_places = (ids, places)
        return {name: self._columns[name][places] for name in names}

    def _read(self, names: Sequence[str], ids: Ids, rows: Sequence[Sequence[Any]]) -> dict[str, NDArray[Any]]:
        """Return the cells of each column in the order of the ids. Rows may have been added or removed meanwhile."""
        order = np.argsort(ids)
        present = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        used = np.isin(present, ids)
        places = order[np.searchsorted(ids[order], present[used])]
        columns = {}
        for at, name in enumerate(names, 1):
            cells = np.full(len(ids), None, object)
            cells[places] = np.fromiter((row[at] for row in rows), object, len(rows))[used]
            try:
                columns[name] = _typed(name, cells)
            except (TypeError, ValueError) as error:
                raise DamagedLibrary(self._store.path, f"column {name}: {error}") from None
        return columns

    def lights(self, ids: Ids) -> NDArray[Any]:
        """Return the names of the light of each photograph; see `mascot.photos.metadata.sun.lights`."""
        rows = self._store.cells(LIGHT_COLUMNS, ids.tolist())
        return self._read(["light"], ids, [(row[0], list(lights(*row[1:]))) for row in rows])["light"]

    def photos(self, ids: Ids) -> list[Photo]:
        return self._store.photos(ids.tolist())


def _typed(name: str, cells: NDArray[Any]) -> NDArray[Any]:
    """Return the values of a column from its cells as SQLite stores them."""
    if name == "taken":
        return np.array(["NaT" if cell is None else cell for cell in cells], "datetime64[ms]")
    if name == "keywords":
        return np.fromiter(([] if cell in ("[]", None) else json.loads(cell) for cell in cells), object, len(cells))
    return cells.astype(np.float64) if name in NUMBERS else cells


class PhotoColumns(Mapping[str, NDArray[Any]]):
    """The columns of photographs for `mascot.rerank`, made on first use; `look` are the visual descriptors."""

    NAMES = (*LABELS, *NUMBERS, *CALENDAR, "taken", "keywords", "look", "light")

    def __init__(self, rows: PhotoTable, ids: Ids) -> None:
        self._rows, self._ids = rows, ids
        self._columns: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.NAMES:
            raise KeyError(name)
        if name not in self._columns:
            if name == "look":
                self._columns[name] = self._rows.looks(self._ids)
            elif name == "light":
                self._columns[name] = self._rows.lights(self._ids)
            elif name in CALENDAR:
                times = self["taken"]
                labels = np.datetime_as_string(times, unit="D").astype(f"U{CALENDAR[name]}").astype(object)
                labels[np.isnat(times)] = None
                self._columns[name] = labels
            else:
                self._columns |= self._rows.cells([name], self._ids)
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.NAMES)

    def __len__(self) -> int:
        return len(self.NAMES)
