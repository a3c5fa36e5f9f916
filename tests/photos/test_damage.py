"""Damage is found when it is read, named, and repaired."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from bag_of_words import BagOfWords
from jpegs import small_library
from libraries import GRAPH_FROM, indexed_library

import mascot as mc
from mascot.photos import Library
from mascot.photos.overview import overview
from mascot.photos.repair import DAMAGED, check, repair
from mascot.photos.store import DamagedLibrary
from retelling import run_command


def _opened(root: Path) -> Library:
    return Library(root, exact=GRAPH_FROM)


def _answers(root: Path) -> list[tuple[str, float]]:
    with _opened(root) as library:
        return _answers_of(library)


def _answers_of(library: Library) -> list[tuple[str, float]]:
    hits = library.hits("sunset over the harbour", candidates=5, encoder=BagOfWords())
    newest = library.hits(candidates=5)
    names = [photo.path for photo in (*hits.photos, *newest.photos)]
    return list(zip(names, [*hits.scores.tolist(), *newest.candidates.vectors[:, 0].tolist()], strict=True))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return indexed_library(tmp_path / "photos")


def _flip(path: Path, chance: random.Random, count: int = 1) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(count):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def test_flipped_bits_in_the_index_never_change_an_answer(root: Path) -> None:
    """Flipped bits changed the hits in 39 of 100 cases, and a damaged graph ended the process."""
    truth = _answers(root)
    for name in ("vectors.npy", "ids.npy", "sums.npy", "graph.usearch", "about.json"):
        for seed in range(4):
            chance = random.Random(seed)
            _flip(next(root.glob(f".mascot/nearest-*/{name}")), chance, chance.choice([1, 1, 8]))
            assert _answers(root) == truth, f"{name}, seed {seed}"


@pytest.mark.parametrize("name", ["vectors.npy", "graph.usearch"])
def test_an_open_library_notices_damage_and_files_that_are_cut(root: Path, name: str) -> None:
    """A process that had verified its index never looked again, and ended with SIGBUS where a file was cut."""
    truth = _answers(root)
    with _opened(root) as library:
        for seed in range(3):
            path = next(root.glob(f".mascot/nearest-*/{name}"))
            if seed % 3:
                _flip(path, random.Random(seed), 8)
            else:
                os.truncate(path, path.stat().st_size // 2)
            assert _answers_of(library) == truth, f"seed {seed}"


def test_damage_that_is_not_read_is_not_looked_for_but_checked(root: Path) -> None:
    with _opened(root) as library:
        assert check(library) == ()
        for name in ("vectors.npy", "ids.npy", "graph.usearch"):
            _flip(next(root.glob(f".mascot/nearest-*/{name}")), random.Random(1), 8)
            assert len(check(library)) == 1
            done = repair(library)
            assert (done.photos, done.encoded, done.lost, done.damaged) == (30, 30, 0, None)
            assert check(library) == ()


def test_a_read_only_library_with_a_damaged_index_is_searched(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = _answers(root)
    _flip(next(root.glob(".mascot/nearest-*/vectors.npy")), random.Random(3), 8)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("mascot.photos.nearest._write_vectors", refuse)
    assert [name for name, _ in _answers(root)[:5]] == [name for name, _ in truth[:5]]


def test_a_damaged_lock_file_is_no_obstacle(root: Path) -> None:
    (root / ".mascot" / "indexing.lock").write_bytes(b"\xffgarbage" * 1000)
    with _opened(root) as library:
        assert library.index(BagOfWords()).unchanged == 30


def _lose_a_page(content: bytearray, chance: random.Random) -> None:
    first = chance.randrange(len(content) // 4096) * 4096
    content[first : first + 4096] = chance.randbytes(4096)


def _cut(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


def _scatter(content: bytearray, chance: random.Random) -> None:
    for _ in range(20):
        content[chance.randrange(len(content))] = chance.randrange(256)


def _spoil_the_schema(content: bytearray, _: random.Random) -> None:
    """The message of SQLite quotes it, and Python cannot decode the message."""
    at = content.index(b"NOT NULL")
    content[at : at + 8] = b"NOT N\xd5LL"


@pytest.mark.parametrize(
    ("harm", "seed", "is_noticed"),
    [(_lose_a_page, 0, False), (_cut, 1, False), (_scatter, 2, False), (_spoil_the_schema, 0, True)],
)
def test_a_damaged_database_gives_one_clear_error_or_is_repaired(
    root: Path, harm: Callable[[bytearray, random.Random], None], seed: int, is_noticed: bool
) -> None:
    with _opened(root) as library:
        library.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database = root / ".mascot" / "library.sqlite"
    content = bytearray(database.read_bytes())
    harm(content, random.Random(seed))
    database.write_bytes(content)
    for place in root.glob(".mascot/nearest-*"):
        shutil.rmtree(place)
    for action in (
        lambda library: library.search("sunset", encoder=BagOfWords()),
        lambda library: library.hits(where="country IS NOT NULL"),
        lambda library: library.index(BagOfWords()),
        lambda library: overview(library.root, library.folder, library.store),
    ):
        # Any other error is a traceback for the user.
        expected = pytest.raises(DamagedLibrary, match="--repair") if is_noticed else suppress(mc.MascotError)
        with _opened(root) as library, expected:
            action(library)
    with _opened(root) as library:
        repair(library)
        assert check(library) == ()
        library.index(BagOfWords())
        assert library.store.count() == 30
        assert len(library.search("sunset", encoder=BagOfWords())) == 20
        assert check(library) == ()


def test_a_repair_saves_what_can_be_read_and_says_what_was_lost(root: Path) -> None:
    with _opened(root) as library:
        before = {row["path"]: tuple(row) for row in library.store.connection.execute("SELECT * FROM photos")}
        library.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'photos_by_hash'"
        with suppress(mc.InputError):  # where SQLite was built with dbstat
            library.store.connection.execute("SELECT 1 FROM dbstat LIMIT 1").fetchone()
            query = "SELECT pageno FROM dbstat WHERE name = 'pixels' AND pagetype = 'leaf' LIMIT 1 OFFSET 1"
        page = library.store.connection.execute(query).fetchone()[0]
    database = root / ".mascot" / "library.sqlite"
    content = bytearray(database.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\x5a" * 4096
    database.write_bytes(content)
    with _opened(root) as library:
        assert check(library)
        done = repair(library)
        assert done.damaged == root / ".mascot" / DAMAGED
        assert done.damaged.is_file()
        assert done.photos >= 15
        assert done.lost == 30 - done.photos
        rows = {row["path"]: tuple(row) for row in library.store.connection.execute("SELECT * FROM photos")}
        assert rows == {path: before[path] for path in rows}
        again = library.index(BagOfWords())
        assert (again.photos, again.unchanged) == (30, done.photos)


def test_values_that_cannot_be_right_are_found_and_made_again(root: Path) -> None:
    with _opened(root) as library:
        with library.store.writing() as connection:
            connection.execute("UPDATE photos SET taken = '\"019-07-25T10:00:00' WHERE id = 6")
            connection.execute("UPDATE vectors SET vector = zeroblob(length(vector)) WHERE photo = 7")
            connection.execute("UPDATE vectors SET vector = x'00' WHERE photo = 8")
        damages = [line.partition(": ")[2] for line in check(library)]
        assert damages == [f"photograph {id_} is damaged" for id_ in (6, 7, 8)]
        with pytest.raises(mc.InputError, match="vector of photograph 8 has the wrong length"):
            library.search("sunset", encoder=BagOfWords())
        with pytest.raises(DamagedLibrary, match="mascot library --repair"):
            library.index(BagOfWords())
        done = repair(library)
        assert (done.photos, done.encoded, done.lost) == (29, 27, 1)
        summary = library.index(BagOfWords())
        assert (summary.changed, summary.new) == (2, 1)
        assert check(library) == ()


def test_the_commands(root: Path) -> None:
    sound = run_command("library", str(root), "--check")
    assert (sound.returncode, sound.stdout) == (0, "no damage found: 30 photographs\n")
    (root / ".mascot" / "library.sqlite").write_bytes(b"this is not a database at all " * 500)
    with _opened(root) as library, pytest.raises(DamagedLibrary, match=r"`mascot library --repair \S+/photos` saves"):
        library.search("x")
    damaged = run_command("library", str(root), "--check")
    assert damaged.returncode == 1
    assert "file is not a database" in damaged.stdout
    assert "--repair" in damaged.stderr
    assert "Traceback" not in damaged.stderr + run_command("library", str(root)).stderr
    repaired = run_command("library", str(root), "--repair")
    assert repaired.returncode == 0
    assert "0 photographs saved, an unknown number lost" in repaired.stdout
    assert "Next: mascot index" in repaired.stdout


def test_a_full_disk_ends_with_a_message_that_names_it(tmp_path: Path) -> None:
    """A small file system, really full: writing through a mapping ended the process with SIGBUS."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"needs to mount a small file system: {mounted.stderr.strip()}")
    try:
        root = small_library(disk / "photos")
        with Library(root) as library:
            library.index(BagOfWords(dim=40_000))
        for place in root.glob(".mascot/nearest-*"):
            shutil.rmtree(place)
        ballast = disk / "ballast"
        ballast.write_bytes(b"\0" * (shutil.disk_usage(disk).free - 1_000_000))
        failed = _index_in_process(root)
        assert failed.returncode == 1, failed.returncode
        assert f"Its disk is {disk}, with" in failed.stderr
        assert "No space left on device" in failed.stderr
        assert not list(root.glob(".mascot/building-*"))
        with Library(root) as library:  # a search needs no disk
            assert len(library.search("sunset", encoder=BagOfWords(dim=40_000))) == 20
        ballast.unlink()
        with Library(root) as library:
            library.index(BagOfWords(dim=40_000))
        assert list(root.glob(".mascot/nearest-*"))
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_limit_on_the_size_of_files(root: Path) -> None:
    for place in root.glob(".mascot/nearest-*"):
        shutil.rmtree(place)
    failed = _index_in_process(root, dim=512, limit=40_000)
    assert failed.returncode == 1
    assert "cannot write to" in failed.stderr
    assert "File too large" in failed.stderr
    assert not list(root.glob(".mascot/building-*"))


def _index_in_process(root: Path, dim: int = 40_000, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import resource
from bag_of_words import BagOfWords
from mascot.errors import MascotError
from mascot.photos import Library
if {limit!r}:
    resource.setrlimit(resource.RLIMIT_FSIZE, ({limit!r}, {limit!r}))
try:
    with Library({str(root)!r}) as library:
        library.index(BagOfWords(dim={dim}))
except MascotError as error:
    sys.exit(str(error))
"""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def test_sqlite_errors_name_the_file(root: Path) -> None:
    with _opened(root) as library:
        with pytest.raises(mc.InputError, match=r"library\.sqlite is damaged \(no such table: missing\)"):
            library.store.connection.execute("SELECT * FROM missing")
        with pytest.raises(sqlite3.IntegrityError), library.store.writing() as connection:
            connection.execute("INSERT INTO facts VALUES ('encoder', 'again')")
