"""Damage is named when it is read, with the command that indexes again; nothing is lost of the choices."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

import mascot as mc
from mascot.photos import Library
from mascot.photos.database.store import DamagedLibrary
from mascot.photos.locations import DAMAGED
from mascot.photos.sharing.overview import overview
from tests.photos.bag_of_words import BagOfWords
from tests.photos.libraries import indexed_library
from tests.retelling import environment, run_command


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return indexed_library(tmp_path / "photos")


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _index_again(root: Path) -> None:
    """Index a damaged library again, and search it."""
    with Library(root) as library:
        assert library.index(BagOfWords(), again=True).photos == 30
        assert len(library.search("sunset", encoder=BagOfWords())) == 24
        library.check()


def test_a_damaged_schema_gives_one_clear_error(root: Path) -> None:
    """The message of SQLite quotes the schema, and Python cannot decode the message."""
    with Library(root) as library:
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
        with Library(root) as library, pytest.raises(DamagedLibrary, match=r"mascot index .* --again"):
            action(library)
    _index_again(root)


def test_indexing_again_sets_a_damaged_database_aside_and_keeps_the_choices(root: Path) -> None:
    with Library(root) as library:
        saved = library.choices.put("wall", [3, 4], [5])
        library.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'photos_by_hash'"
        page = library.store.connection.execute(query).fetchone()[0]
        paths = [photo.path for photo in library.store.photos(saved.photos)]
    database = root / ".mascot" / "library.sqlite"
    content = bytearray(database.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\x5a" * 4096
    database.write_bytes(content)
    with Library(root) as library, pytest.raises(DamagedLibrary):
        library.check()
    _index_again(root)
    assert (root / ".mascot" / DAMAGED).read_bytes() == content
    with Library(root) as library:
        assert [photo.path for photo in library.store.photos(library.choices.get("wall").photos)] == paths


def test_values_that_cannot_be_right_are_named(root: Path) -> None:
    harms = (
        "UPDATE photos SET taken = '\"019-07-25T10:00:00' WHERE id = 6",
        "UPDATE vectors SET vector = x'00' WHERE photo = 8",
    )
    for harm, reason in zip(harms, ("photograph 6: ", "the vector of photograph 8 has the wrong length"), strict=True):
        with Library(root) as library:
            with library.store.writing() as connection:
                connection.execute(harm)
            with pytest.raises(DamagedLibrary, match=reason):
                library.check()
        _index_again(root)


def test_the_commands(root: Path, tmp_path: Path) -> None:
    variables = environment(XDG_STATE_HOME=str(tmp_path / "state"))
    sound = run_command("library", "check", str(root), variables=variables)
    assert (sound.returncode, sound.stdout) == (0, "no damage found: 30 photographs\n")
    (root / ".mascot" / "library.sqlite").write_bytes(b"this is not a database at all " * 500)
    for words in (("library", "check", str(root)), ("search", "sunset", "--library", str(root)), ("index", str(root))):
        damaged = run_command(*words, variables=variables)
        assert (damaged.returncode, damaged.stderr.count("\n")) == (2, 1)
        assert "file is not a database" in damaged.stderr
        command = re.search("`mascot (index .* --again)`", damaged.stderr)
    assert command
    again = run_command(*command[1].split(), "--encoder", "lite", variables=variables)
    assert again.returncode == 0
    assert run_command("library", "check", str(root), variables=variables).returncode == 0


@pytest.mark.parametrize("name", ["", ".gitignore", "library.sqlite", "choices", "choices/x.json", "nearest-x"])
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


@pytest.mark.parametrize("version", [0, 1, 99])
def test_a_damaged_schema_version_is_named_with_its_remedy(root: Path, version: int) -> None:
    with Library(root) as library:
        library.store.connection.execute(f"PRAGMA user_version = {version}")
    for use in (lambda library: library.index(BagOfWords()), lambda library: library.store):
        with Library(root) as library, pytest.raises(DamagedLibrary, match=r"mascot index .* --again"):
            use(library)
    _index_again(root)


@pytest.mark.parametrize("name", ["dim", "tokens", "epoch", "fingerprint", "next_encoding", "folders", "changes"])
@pytest.mark.parametrize("value", ["abc", b"\xff\xfe"])
def test_damaged_facts_are_replaced(root: Path, name: str, value: object) -> None:
    """`mascot index` raised a traceback, or named `--again`, which failed with the same message."""
    with Library(root) as library:
        connection = library.store.connection
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))
    with Library(root) as library, suppress(mc.MascotError):
        library.index(BagOfWords())
    _index_again(root)


def test_an_empty_database_is_damage(root: Path) -> None:
    """The check said "no damage found: 0 photographs"."""
    (root / ".mascot" / "library.sqlite").write_bytes(b"")
    assert "is damaged" in run_command("library", "check", str(root)).stderr
    assert run_command("search", "sunset", "--library", str(root)).stderr.count("\n") == 1
    with Library(root) as library:
        assert library.index(BagOfWords()).photos == 30
        library.check()


_CHOICE: dict[str, object] = {"name": "wall", "photos": [["a.jpg", "h"]], "rejected": [], "query": None}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[]", b"7", b"[" * 9000, b"{}"]
    + [json.dumps(_CHOICE | harm).encode() for harm in ({"name": 7}, {"photos": 1}, {"query": {"more": 1}})],
)
def test_damaged_choices_are_named(root: Path, content: bytes) -> None:
    """`mascot choices` raised a traceback."""
    with Library(root) as library:
        library.choices.put("wall", [3, 4], [5], {"text": "boats", "k": 4})
        (file,) = (library.folder / "choices").glob("*.json")
        file.write_bytes(content)
        with pytest.raises(mc.InputError, match="is not a choice, or is damaged"):
            library.check()
        assert file.read_bytes() == content


def test_choices_are_copied_as_files(root: Path, tmp_path: Path) -> None:
    other = indexed_library(tmp_path / "other")
    with Library(root) as library, Library(other) as copy:
        saved = [library.choices.put("prints", [1, 2]), library.choices.put("wall", [3], [5], {"text": "boats"})]
        shutil.copytree(root / ".mascot" / "choices", other / ".mascot" / "choices")
        assert copy.choices.all() == saved
