"""Damage is found when it is read, named, and repaired."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

import mascot as mc
from mascot.photos import Library
from mascot.photos.database.repair import DAMAGED, check, repair
from mascot.photos.database.store import DamagedLibrary
from mascot.photos.sharing.overview import overview
from tests.photos.bag_of_words import BagOfWords
from tests.photos.libraries import indexed_library
from tests.retelling import run_command


def _opened(root: Path) -> Library:
    return Library(root)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return indexed_library(tmp_path / "photos")


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def test_a_damaged_schema_gives_one_clear_error_and_is_repaired(root: Path) -> None:
    """The message of SQLite quotes the schema, and Python cannot decode the message."""
    with _opened(root) as library:
        library.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database = root / ".mascot" / "library.sqlite"
    database.write_bytes(database.read_bytes().replace(b"NOT NULL", b"NOT N\xd5LL", 1))
    for place in root.glob(".mascot/nearest-*"):
        place.unlink()
    for action in (
        lambda library: library.search("sunset", encoder=BagOfWords()),
        lambda library: library.hits(where="country IS NOT NULL"),
        lambda library: library.index(BagOfWords()),
        lambda library: overview(library.root, library.folder, library.store),
    ):
        with _opened(root) as library, pytest.raises(DamagedLibrary, match="--repair"):
            action(library)
    with _opened(root) as library:
        repair(library)
        assert check(library) == ()
        assert library.index(BagOfWords()).photos == 30
        assert len(library.search("sunset", encoder=BagOfWords())) == 24
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
        assert 15 <= done.photos == 30 - done.lost
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
    assert (damaged.returncode, "file is not a database" in damaged.stdout) == (1, True)
    assert "--repair" in damaged.stderr
    repaired = run_command("library", str(root), "--repair")
    assert repaired.returncode == 0
    assert re.search(r"0 photographs saved, an unknown number lost.*Next: mascot index", repaired.stdout, re.S)


def test_a_limit_on_the_size_of_files(root: Path) -> None:
    for place in root.glob(".mascot/nearest-*"):
        place.unlink()
    script = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from tests.photos.bag_of_words import BagOfWords
from mascot.photos import Library
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
Library(sys.argv[2]).index(BagOfWords())
"""
    command = [sys.executable, "-c", script, str(Path(__file__).parents[2]), str(root)]
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert re.search(r"InputError: cannot write to .*File too large", failed.stderr)
    assert not list(root.glob(".mascot/building-*"))


@pytest.mark.parametrize("name", ["", ".gitignore", "library.sqlite", "choices.sqlite", "nearest-x"])
def test_links_inside_an_index_are_refused(root: Path, tmp_path: Path, name: str) -> None:
    """`mascot index` wrote through a link at .gitignore, and `mascot library` into any linked database."""
    link, target = root / ".mascot" / name, tmp_path / "target"
    if name:
        target.write_bytes(b"")
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
    else:
        link.rename(target)
    before = sorted(target.iterdir()) if target.is_dir() else target.read_bytes()
    link.symlink_to(target)
    for use in (
        lambda library: library.index(BagOfWords()),
        lambda library: library.store,
        lambda library: library.choices,
    ):
        with (
            Library(root) as library,
            pytest.raises(mc.InputError, match=r"is a link, and an index must not contain any"),
        ):
            use(library)
    assert before == (sorted(target.iterdir()) if target.is_dir() else target.read_bytes())


def test_a_schema_version_that_is_too_low_is_corrected(root: Path) -> None:
    """SQLite said "duplicate column name"."""
    with _opened(root) as library:
        library.store.connection.execute("PRAGMA user_version = 1")
    with _opened(root) as library:
        assert (library.store.count(), check(library)) == (30, ())


@pytest.mark.parametrize("version", [0, 7])
def test_a_damaged_schema_version_is_named_with_its_remedy(root: Path, version: int) -> None:
    with _opened(root) as library:
        library.store.connection.execute(f"PRAGMA user_version = {version}")
    for use in (lambda library: library.index(BagOfWords()), lambda library: library.store):
        with _opened(root) as library, pytest.raises(DamagedLibrary, match="mascot library --repair"):
            use(library)
    with _opened(root) as library:
        done = repair(library)
        assert (done.photos, done.lost, check(library)) == (30, 0, ())


@pytest.mark.parametrize("name", ["dim", "tokens", "epoch", "fingerprint", "next_encoding", "folders", "changes"])
@pytest.mark.parametrize("value", ["abc", b"\xff\xfe"])
def test_damaged_facts_are_found_and_repaired(root: Path, name: str, value: object) -> None:
    """`--check` found nothing, `--repair` kept the fact, and `mascot index` raised a traceback."""
    with _opened(root) as library:
        connection = library.store.connection
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))
    with _opened(root) as library, suppress(mc.MascotError):
        library.index(BagOfWords())
    with _opened(root) as library:
        assert check(library)
        assert repair(library).photos == 30
    with _opened(root) as library:
        assert library.index(BagOfWords()).photos == 30
        assert (check(library), len(library.search("sunset", encoder=BagOfWords()))) == ((), 24)


def test_an_unreadable_encoding_in_progress_names_the_repair(root: Path) -> None:
    """The message named `--again`, which failed with the same message."""
    with _opened(root) as library:
        library.store.set_facts({"next_encoding": "{"})
        with pytest.raises(DamagedLibrary, match="mascot library --repair"):
            library.index(BagOfWords(), again=True)
        repair(library)
    with _opened(root) as library:
        assert library.index(BagOfWords(), again=True).photos == 30


def test_an_empty_database_is_damage(root: Path) -> None:
    """`--check` said "no damage found: 0 photographs"."""
    (root / ".mascot" / "library.sqlite").write_bytes(b"")
    checked = run_command("library", str(root), "--check")
    assert (checked.returncode, "is damaged" in checked.stdout) == (1, True)
    assert run_command("search", "sunset", "--library", str(root)).stderr.count("\n") == 1
    with _opened(root) as library:
        assert library.index(BagOfWords()).photos == 30
        assert check(library) == ()


def _update(assignment: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"UPDATE choices SET {assignment} WHERE name = 'wall'")
            connection.commit()

    return run


_HARMS: dict[str, Callable[[Path], None]] = {
    "empty": lambda path: os.truncate(path, 0),
    "gone": Path.unlink,
    "cut": _cut,
    "not a database": lambda path: path.write_bytes(b"no database" * 100) and None,
    "bytes": lambda path: path.write_bytes(path.read_bytes().replace(b"boats", b"\xff\xfe\x00\x01\xff")) and None,
    "query": _update("query = '{{{'"),
    "photos": _update("""photos = '[["a.jpg"]]'"""),
    "rejected": _update("rejected = 7"),
    "nesting": _update(f"query = '{'[' * 9000}'"),
    "name": _update("name = x'ff00'"),
    "text": _update("photos = replace(photos, 'jpg', 'jpe')"),
}


@pytest.mark.parametrize("with_backup", [True, False])
@pytest.mark.parametrize("harm", _HARMS)
def test_damaged_choices_are_found_and_restored(root: Path, harm: str, with_backup: bool) -> None:
    """`--check` found no damage in any of these files, and `mascot choices` raised a traceback."""
    with _opened(root) as library:
        saved = [
            library.choices.put("prints", [1, 2]),
            library.choices.put("wall", [3, 4], [5], {"text": "boats", "k": 4}),
        ]
        assert check(library) == ()
        if not with_backup:
            (library.folder / "choices.json").unlink()
        _HARMS[harm](library.folder / "choices.sqlite")
        if with_backup or harm not in ("empty", "gone", "text"):
            assert check(library)
        with suppress(DamagedLibrary):
            library.choices.all()
        with suppress(DamagedLibrary):
            library.choices.put("new", [1])
            library.choices.delete("new")
        repair(library)
        assert check(library) == ()
        choices = library.choices.all()
        assert choices == saved if with_backup else len(choices) <= 2
        if harm in ("query", "photos", "rejected", "nesting", "name"):
            assert choices[:1] == saved[:1]


def test_a_damaged_backup_is_found_and_restored(root: Path) -> None:
    with _opened(root) as library:
        saved = [library.choices.put("wall", [3, 4])]
        backup = library.folder / "choices.json"
        backup.write_text(backup.read_text("utf-8").replace("wall", "hall"), "utf-8")
        assert "does not match its checksum" in check(library)[0]
        repair(library)
        assert (check(library), library.choices.all()) == ((), saved)


def test_choices_are_exported_and_imported(root: Path, tmp_path: Path) -> None:
    file, place = tmp_path / "choices.json", ("--library", str(root))
    with _opened(root) as library:
        saved = [library.choices.put("prints", [1, 2]), library.choices.put("wall", [3], [5], {"text": "boats"})]
        assert "2 choices in" in run_command("choices", "--export", str(file), *place).stderr
        assert "never overwritten" in run_command("choices", "--export", str(file), *place).stderr
        library.choices.delete("prints")
        assert library.choices.add_json(file) == 2
        assert library.choices.all() == saved
        other = library.choices.put("wall", [4])
        refused = run_command("choices", "--import", str(file), *place)
        assert (refused.returncode, "another choice called 'wall'" in refused.stderr) == (2, True)
        assert library.choices.get("wall") == other
        for content in ("{", "[]", '{"choices": [{"name": "x"}]}', '{"choices": [7]}', '{"choices": null}'):
            file.write_text(content, "utf-8")
            with pytest.raises(mc.InputError, match="is not a file of choices, or is damaged"):
                library.choices.add_json(file)
