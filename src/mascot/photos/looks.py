"""The visual descriptors of a library as a source of vectors, searched like those of an encoder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from mascot.photos.look import DIM
from mascot.photos.store import Space, Store

LOOK_SPACE = Space("look", DIM, 1)


@dataclass(frozen=True, slots=True)
class Looks:
    """The descriptors as vectors, by photograph."""

    store: Store

    @property
    def path(self) -> Path:
        return self.store.path

    @property
    def changes(self) -> int:
        return self.store.changes

    def snapshot(self) -> AbstractContextManager[None]:
        return self.store.snapshot()

    def count_vectors(self, fingerprint: str) -> int:
        return int(self.store.connection.execute("SELECT count(*) FROM pixels").fetchone()[0])

    def vectors_of(self, fingerprint: str) -> Iterator[tuple[int, bytes]]:
        for row in self.store.connection.execute("SELECT photo, look FROM pixels ORDER BY photo"):
            yield row[0], row[1]
