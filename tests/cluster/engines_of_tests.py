"""A sink in memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.photos.bag_of_words import PathReader as PathReader
from tests.photos.libraries import photos_in

COUNT = 14  # photographs of the folder


class MemorySink:
    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.vectors: dict[str, NDArray[np.float32]] = {}
        self.writes, self._facts = 0, dict[str, str]()

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        assert vectors.dtype == np.float32
        self.writes += 1
        for row, vector in zip(rows, vectors, strict=True):
            self.rows[row["path"]], self.vectors[row["path"]] = json.loads(json.dumps(row)), vector.ravel()

    def select(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for row in self.rows.values():
            yield tuple(row[name] for name in columns)

    def remove(self, keys: Sequence[str]) -> None:
        for path in keys:
            del self.rows[path], self.vectors[path]

    def set_facts(self, facts: Mapping[str, str]) -> None:
        self._facts |= facts

    def facts(self) -> dict[str, str]:
        return self._facts


def library_of(root: Path, state: Path, encoder: Any) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Return rows, vectors and summary of a new library of this folder."""
    from mascot.photos import Library

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        with Library(root, index=state / "index") as library:
            summary = library.index(encoder)
            photos = {photo.id: photo for photo in photos_in(library)}
            vectors = library.store.vectors_of(encoder.fingerprint)
            arrays = {photos[id_].path: np.frombuffer(vector, np.float32) for id_, vector in vectors}
    shutil.rmtree(state / "index")
    return {photo.path: _columns(photo.to_row()) for photo in photos.values()}, arrays, summary


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("id", "stamp")}


def assert_same(sink: MemorySink, root: Path, state: Path, encoder: Any) -> Any:
    """Compare with the rows of a library; return its summary."""
    rows, vectors, summary = library_of(root, state, encoder)
    assert {path: _columns(row) for path, row in sink.rows.items()} == rows
    assert all(np.array_equal(sink.vectors[path], vectors[path]) for path in rows)
    return summary
