"""A small library that is indexed once for each test process, and copied by each test."""

from __future__ import annotations

import atexit
import shutil
import sqlite3
import tempfile
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from mascot.photos import Library
from mascot.photos.files.images import open_image
from mascot.photos.metadata.metadata import Metadata, metadata_of
from mascot.photos.photo import COLUMNS, Photo
from tests.photos.bag_of_words import BagOfWords
from tests.photos.jpegs import small_library

# The program of a decoder that crashes at files named "crash".
CRASHING = """
import os, sys
sys.path[:] = sys.argv[1:]
import mascot.photos.files.decoder_pool as process
read = process.read
process.read = lambda file, most, beside: os.abort() if "crash" in file.name else read(file, most, beside)
process.main()
"""


@lru_cache(maxsize=1)
def _indexed() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="mascot-library-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    root = small_library(folder / "photos")
    with Library(root) as library:
        library.index(BagOfWords())
    return root


def indexed_library(root: Path) -> Path:
    """Write a copy of `small_library`, indexed with `BagOfWords`."""
    return Path(shutil.copytree(_indexed(), root))


def opened_copy(root: Path) -> Library:
    """Return an open copy, whose encoder is known by its name."""
    library = Library(indexed_library(root))
    library.vector_of("boat", encoder=BagOfWords())
    return library


def photos_in(library: Library) -> list[Photo]:
    """Return all photographs of a library, by id."""
    return library.store.photos(library.store.ids().tolist())


def read_metadata(source: Path | BinaryIO) -> Metadata:
    """Return the metadata of a picture file."""
    with open_image(source) as image:
        return metadata_of(image)


def bare_photo(**values: Any) -> Photo:
    """Return a photograph without metadata except these values."""
    needed = {"size": 0, "mtime_ns": 0, "width": 1, "height": 1, "keywords": (), "problems": ()}
    return Photo(**dict.fromkeys(COLUMNS) | needed | values)


def count_rows(root: Path) -> int:
    """Return the number of photographs in the database of a folder, which another process may be writing."""
    try:
        with closing(sqlite3.connect(f"file:{root}/.mascot/library.sqlite?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM photos").fetchone()[0])
    except sqlite3.OperationalError:
        return -1


def rows_of(library: Library) -> dict[str, tuple]:
    """Return everything that is in a library except ids, by path."""
    query = (
        "SELECT photos.*, thumbnail, look, stamp, vector FROM photos LEFT JOIN pixels ON pixels.photo = id "
        "LEFT JOIN vectors ON vectors.photo = id"
    )
    return {row["path"]: tuple(row)[1:] for row in library.store.connection.execute(query)}
