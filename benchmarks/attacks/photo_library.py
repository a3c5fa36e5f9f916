"""Attacks on a photo library: hostile files, and a full disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.photos.bag_of_words import BagOfWords
from tests.photos.jpegs import small_library

from benchmarks import hostile
from benchmarks.attacks.frame import NotHere, Trial, attack
from mascot.photos import Library

_SCRIPT = """
import json, sys
from mascot.errors import MascotError
from mascot.photos import Library
from tests.photos.bag_of_words import BagOfWords
try:
    with Library(sys.argv[1]) as library:
        library.index(BagOfWords(), **json.loads(sys.argv[2]))
except MascotError as error:
    sys.exit(str(error))
"""
_Content = dict[str, tuple[object, ...]]


@attack("the run ends by itself, every good photograph is indexed, every bad file has its reason", rounds=1)
def hostile_files(folder: Path, rounds: int) -> Iterator[Trial]:
    for number in range(rounds):
        root = small_library(folder / f"hostile {number}")
        good = {str(path.relative_to(root)) for path in root.rglob("*.jpg")}
        for name, make in hostile.FILES.items():
            (root / name).write_bytes(make())
        hostile.sparse_tiff(root / "sparse.tif")
        run = _index(root, max_seconds=2.0, max_memory_mb=400.0)
        with Library(root) as library:
            paths = {row[0] for row in library.store.connection.execute("SELECT path FROM photos")}
            skipped = {row[0] for row in library.store.connection.execute("SELECT path FROM skipped")}
        yield Trial(run.returncode == 0 and good <= paths, f"good photographs: {run.stderr[-300:]}")
        for name in (*hostile.FILES, "sparse.tif"):
            yield Trial(name in paths or str(root / name) in skipped, name)


@attack("one line that names the disk, never a signal; with space again the index is complete", rounds=9)
def full_disk(folder: Path, rounds: int) -> Iterator[Trial]:
    whole = small_library(folder / "whole")
    _index(whole)
    expected = _content(whole)
    for number in range(rounds):
        with _small_disk(folder / "disk", 8) as disk:
            root = small_library(disk / "photos")
            ballast = disk / "ballast"
            room = 2_000_000 * (2 * number + 1) // (2 * rounds)
            ballast.write_bytes(b"\0" * max(shutil.disk_usage(disk).free - room, 0))
            run = _index(root)
            is_clear = run.returncode == 0 or (run.returncode == 1 and f"Its disk is {disk}" in run.stderr)
            unfinished = list(root.glob(".mascot/nearest-0-*"))
            ballast.unlink()
            is_complete = _index(root).returncode == 0 and _content(root) == expected
            yield Trial(is_clear and not unfinished and is_complete, f"status {run.returncode}, {run.stderr[-300:]}")


def _index(root: Path, **options: float) -> subprocess.CompletedProcess[str]:
    """Index a folder in a process of its own."""
    paths = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
    environment = os.environ | {"XDG_STATE_HOME": str(root.parent), "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", _SCRIPT, str(root), json.dumps(options)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def _content(root: Path) -> _Content:
    """Return every row of a library by its path, without ids; and the scores of a search."""
    query = (
        "SELECT path, hash, taken, caption, moment, thumbnail, look, vector FROM photos "
        "LEFT JOIN pixels ON pixels.photo = id LEFT JOIN vectors ON vectors.photo = id"
    )
    with Library(root) as library:
        rows: _Content = {row["path"]: tuple(row) for row in library.store.connection.execute(query)}
        hits = library.hits("a harbour", candidates=5, encoder=BagOfWords())
        return {**rows, "": tuple(sorted(hits.scores.tolist()))}


@contextmanager
def _small_disk(place: Path, megabytes: int) -> Iterator[Path]:
    """Mount a file system of this size."""
    place.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        raise NotHere("only root can mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
