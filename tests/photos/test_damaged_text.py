"""Damaged text in the database: one line that names the remedy, and a repair that saves the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from bag_of_words import BagOfWords
from jpegs import write_jpeg

from mascot.photos import Library
from mascot.photos.repair import check, repair
from mascot.photos.store import DamagedLibrary


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "photos"
    for name in ("a", "b"):
        write_jpeg(root / f"{name}.jpg", "Sunset", "Lisbon", "2019-07-25T10:00:00")
    with Library.open(root) as library:
        library.index(BagOfWords())
        library.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return root


def _replace(root: Path, old: bytes, new: bytes) -> None:
    database = root / ".mascot" / "library.sqlite"
    content = database.read_bytes()
    assert old in content
    database.write_bytes(content.replace(old, new, 1))


def test_a_schema_that_is_not_utf8(root: Path) -> None:
    """The message of SQLite quotes it, and Python cannot decode the message."""
    _replace(root, b"NOT NULL", b"NOT N\xd5LL")
    for action in (
        lambda library: library.search("sunset", encoder=BagOfWords()),
        lambda library: library.hits(where="camera IS NOT NULL"),
        lambda library: library.index(BagOfWords()),
    ):
        with Library(root) as library, pytest.raises(DamagedLibrary, match="mascot library --repair"):
            action(library)
    with Library(root) as library:
        repair(library)
        library.index(BagOfWords())
        assert library.store.count() == 2
        assert check(library) == ()


def test_a_time_that_is_not_one(root: Path) -> None:
    with Library(root) as library:
        library.store.connection.execute(
            "UPDATE photos SET taken = '\"019-07-25T10:00:00' WHERE id = (SELECT min(id) FROM photos)"
        )
        with pytest.raises(DamagedLibrary, match="mascot library --repair"):
            library.index(BagOfWords())
        repair(library)
    with Library(root) as library:
        library.index(BagOfWords())
        assert check(library) == ()
        assert library.store.count() == 2
