"""Drives that come and go, names that are not text, disks without writing, libraries of others, wrong clocks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import mascot as mc
from mascot.photos import Library
from mascot.photos.database.conditions import within
from mascot.photos.encoders import hub
from tests.photos.bag_of_words import BagOfWords
from tests.photos.jpegs import write_jpeg

_BYTES = pytest.mark.skipif(
    os.name != "posix" or sys.platform == "darwin", reason="needs a file system whose names are bytes"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An indexed folder in which a drive is mounted."""
    root = tmp_path / "photos"
    for name in ("home.jpg", "drive/2019/a.jpg", "drive/b.jpg"):
        write_jpeg(root / name, f"a boat {name}")
    with Library.open(root) as library:
        library.index(BagOfWords())
    return root


def test_the_photographs_of_a_drive_that_is_not_mounted_are_kept(root: Path, tmp_path: Path) -> None:
    (root / "drive").rename(tmp_path / "aside")
    (root / "drive").mkdir()  # what is left of a mount point
    (root / "copy.jpg").write_bytes((tmp_path / "aside" / "b.jpg").read_bytes())
    with Library.open(root) as library:
        done = library.index(BagOfWords())
        assert (done.copied, done.moved, done.photos) == (1, 0, 4), "a copy does not take the row of the drive"
        for prune in (False, True):
            done = library.index(BagOfWords(), prune=prune)
            assert (done.photos, done.pruned, done.gone) == (4, 0, 0)
            (skipped,) = done.skipped
            assert skipped.path == root / "drive"
            assert "its 2 photographs stay in the library. To remove them, delete the folder" in skipped.reason
        (root / "drive").rmdir()
        (tmp_path / "aside").rename(root / "drive")
        done = library.index(BagOfWords(), prune=True)
        assert (done.unchanged, done.skipped) == (4, ())


def test_files_that_were_deleted_are_pruned(root: Path) -> None:
    with Library.open(root) as library:
        (root / "drive" / "b.jpg").unlink()  # the folder holds others
        assert library.index(BagOfWords(), prune=True).pruned == 1
        shutil.rmtree(root / "drive")
        assert library.index(BagOfWords(), prune=True).pruned == 1
        (root / "home.jpg").unlink()  # the first folder holds the index, so it is mounted
        assert library.index(BagOfWords(), prune=True).photos == 0


_SEARCH = """
import mmap, os, sys
sys.path.insert(0, sys.argv[1])
from tests.photos.bag_of_words import BagOfWords
from mascot.photos import Library
from mascot.photos.indexing import indexer  # now: nobody may read the modules
from mascot.photos.sharing.overview import overview
if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)
for root in sys.argv[2:]:
    with Library.open(root) as library:
        results = library.search('boat', k=5, where='width > 0', encoder=BagOfWords())
        print(len(results), overview(library.root, library.folder, library.store).photos)
library = Library.open(root)
library.index(BagOfWords())
"""


@pytest.mark.skipif(os.name != "posix", reason="needs permission bits")
def test_a_library_that_cannot_be_written_to_is_searched() -> None:
    # Root may write everywhere, so there nobody searches, in a folder that everybody may enter.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        roots = [Path(name) / "fresh", Path(name) / "stale"]
        for root in roots:
            for i in range(3):
                write_jpeg(root / f"img{i}.jpg", f"a boat {i}")
            with Library.open(root) as library:
                library.index(BagOfWords())
                if root.name == "stale":
                    library.store.set_facts({"another": "change"})
        places = [place for root in roots for place in (root / ".mascot", *(root / ".mascot").rglob("*"))]
        for place in places:
            place.chmod(0o555 if place.is_dir() else 0o444)
        command = [sys.executable, "-c", _SEARCH, str(Path(__file__).parent), *map(str, roots)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        finally:
            for place in places:
                place.chmod(0o755)
    if "PermissionError" in done.stderr and "setuid" in done.stderr:
        pytest.skip("runs as root, yet may not become anybody else")
    assert done.stdout.split() == ["3"] * 4, done.stderr
    assert "InputError: cannot write the index to" in done.stderr


@_BYTES
def test_accents_and_capitals_of_folders_are_as_people_type_them(tmp_path: Path) -> None:
    name = "\u00c9t\u00e9 \u00e0 Z\u00fcrich"
    for form in ("NFC", "NFD"):
        write_jpeg(tmp_path / unicodedata.normalize(form, name) / "day 1" / f"{form}.jpg", "a boat")
    write_jpeg(tmp_path / "Ete a Zurich" / "c.jpg", "a boat")
    with Library.open(tmp_path) as library:
        library.index(BagOfWords())
        for form in ("NFC", "NFD"):
            typed = unicodedata.normalize(form, name)
            for said in (typed.upper(), f"{typed}/Day 1"):
                part, values = within(library.folder_named(said))
                assert len(library.hits("boat", where=part, values=values, encoder=BagOfWords())) == 2
            for where in (f"folder = '{typed}/day 1'", f"instr(fold(folder), fold('{typed.upper()}'))"):
                assert len(library.hits("boat", where=where, encoder=BagOfWords())) == 2, where
            assert unicodedata.normalize("NFC", library.focus(f"folder={typed}/DAY 1").near) == f"{name}/day 1"


def test_a_library_cannot_start_a_download_or_bring_its_own_model(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads: list[str] = []

    def download(model: str, *_: Any) -> hub.Model:
        downloads.append(model)
        raise hub.HubError("no network")

    monkeypatch.setattr(hub, "download", download)
    library.store.set_facts({"encoder": "clip:someone/model"})
    with Library.open(library.root) as other:
        for action in (lambda: other.search("boats"), other.index, lambda: other.notice):
            with pytest.raises(
                mc.InputError, match="cannot start a download; allow it with --encoder clip:someone/model"
            ):
                action()
        assert downloads == []
        with pytest.raises(mc.InputError):
            other.search("boats", encoder="clip:someone/model")  # named by a person
        assert downloads == ["someone/model"]
    (library.root / "model").mkdir()
    library.store.set_facts({"encoder": f"clip:{library.root / 'model'}"})
    with Library.open(library.root) as other, pytest.raises(mc.OptionError, match="a model inside its own folder"):
        other.search("boats")


def test_dates_refused_by_a_wrong_clock_come_back(library: Library) -> None:
    """Indexed while the machine's clock stood at 1980, when all dates were in the future."""
    named = write_jpeg(library.root / "IMG_20190704_181512.jpg", "dated by its name")
    write_jpeg(library.root / "far.jpg", "from the far future", taken="2199-01-01T10:00:00")
    library.index(BagOfWords())
    problems = library.store.connection.execute("SELECT problems FROM photos WHERE path = 'far.jpg'").fetchone()[0]
    assert "is in the future" in problems
    truth = dict(library.store.connection.execute("SELECT path, taken FROM photos").fetchall())
    assert truth[named.name] == "2019-07-04T18:15:12"
    with library.store.writing() as connection:
        problem = """'["taken: ''' || replace(substr(taken, 1, 10), '-', ':') || ' 10:00:00'' is in the future"]'"""
        connection.execute(f"UPDATE photos SET problems = {problem}, taken = NULL WHERE taken IS NOT NULL")
        connection.execute("UPDATE photos SET problems = '[]' WHERE path = ?", (named.name,))
    assert library.index(BagOfWords()).changed == sum(taken is not None for taken in truth.values())
    assert dict(library.store.connection.execute("SELECT path, taken FROM photos").fetchall()) == truth
    assert library.index(BagOfWords()).changed == 0
