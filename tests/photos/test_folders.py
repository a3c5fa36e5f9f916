"""Several folders in one library, and an index that is elsewhere."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import mascot as mc
from mascot.photos import Library
from tests.photos.bag_of_words import BagOfWords
from tests.photos.jpegs import write_jpeg
from tests.photos.libraries import photos_in
from tests.retelling import run_command


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("MASCOT_LIBRARY", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "Pictures", tmp_path / "Archive"
    write_jpeg(first / "2019" / "a.jpg", "an old boat")
    write_jpeg(second / "boxes" / "b.jpg", "a red kite")
    return first, second


def paths(library: Library) -> list[str]:
    return sorted(photo.path for photo in photos_in(library))


def test_several_folders_are_one_library(folders: tuple[Path, Path]) -> None:
    first, second = folders
    with Library.open(first) as library:
        library.index(BagOfWords(), folders=[second])
        there = (second / "boxes" / "b.jpg").as_posix()
        assert paths(library) == sorted(["2019/a.jpg", there])
        assert library.folder_named(second / "boxes") == (second / "boxes").as_posix()
        write_jpeg(second / "boxes" / "c.jpg", "a blue kite")
        assert library.index(BagOfWords()).new == 1  # without naming it again


def test_a_row_follows_its_file_to_another_folder_and_back(folders: tuple[Path, Path]) -> None:
    first, second = folders
    write_jpeg(second / "boxes" / "c.jpg", "a blue kite")  # so that the folder is never empty
    with Library.open(first) as library:
        library.index(BagOfWords(), folders=[second])
        os.rename(second / "boxes" / "b.jpg", first / "b.jpg")
        assert library.index(BagOfWords()).moved == 1
        os.rename(first / "b.jpg", second / "boxes" / "b.jpg")
        assert library.index(BagOfWords()).moved == 1


def test_the_photographs_of_an_added_folder_stay_until_it_is_removed(folders: tuple[Path, Path]) -> None:
    first, second = folders
    with Library.open(first) as library:
        library.index(BagOfWords(), folders=[second])
        os.rename(second, second.with_name("away"))  # as a drive that is not mounted: missing, then an empty folder
        for _ in range(2):
            summary = library.index(BagOfWords(), prune=True)
            assert (summary.pruned, summary.photos) == (0, 2)
            assert [item.path for item in summary.skipped] == [second]
            second.mkdir(exist_ok=True)
        assert library.remove_folder(second) == 1
        assert paths(library) == ["2019/a.jpg"]
        assert library.folders == [first]


def test_folders_that_overlap_or_are_not_there_are_refused(folders: tuple[Path, Path]) -> None:
    first, second = folders
    with Library.open(first) as library:
        with pytest.raises(mc.OptionError, match=r"2019 is inside .*Pictures: index .*Pictures alone"):
            library.index(BagOfWords(), folders=[first / "2019"])
        library.index(BagOfWords(), folders=[first, second, second])
        assert library.folders == [first, second]
        with pytest.raises(mc.OptionError, match=r"was not added to the library .*: folders that were are .*Archive"):
            library.remove_folder(first.parent)
    with Library.open(first, index=second) as library, pytest.raises(mc.InputError, match="holds other files"):
        library.index(BagOfWords())
    assert not (second / ".gitignore").exists()


def test_an_index_elsewhere_leaves_the_folder_alone(folders: tuple[Path, Path], tmp_path: Path) -> None:
    first, _ = folders
    index = tmp_path / "indexes" / "card"
    before = sorted(first.rglob("*"))
    with Library.open(first, index=index) as library:
        library.index(BagOfWords())
    assert sorted(first.rglob("*")) == before
    assert (index / "library.sqlite").is_file()
    for opened in (Library.open(first), Library.open(index), Library.open()):
        with opened as library:
            assert (library.root, library.folder, library.location) == (first, index, index)
            assert library.search("boat", encoder=BagOfWords()).paths == [first / "2019" / "a.jpg"]
    # The card is away: its photographs stay, can be searched, and are recognised at another place.
    shutil.move(first, tmp_path / "elsewhere")
    with Library.open(index) as library:
        assert len(library.search("boat", encoder=BagOfWords()).gone) == 1
        with pytest.raises(mc.InputError, match=r"does not exist \(drive not mounted\?\); its photographs stay"):
            library.index(BagOfWords(), prune=True)
    first.mkdir()
    with Library.open(first) as library:
        summary = library.index(BagOfWords(), prune=True)
        assert (summary.photos, summary.pruned) == (1, 0)
    first.rmdir()
    with Library.open(tmp_path / "elsewhere", index=index) as library:
        assert library.index(BagOfWords()).unchanged == 1


def test_a_library_from_elsewhere_does_not_open_other_folders(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = folders
    with Library.open(first, index=tmp_path / "i") as library:
        library.index(BagOfWords(), folders=[second])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state of another user"))
    with Library.open(tmp_path / "i") as library:
        assert len(library.search("kite", encoder=BagOfWords())) == 2
        with pytest.raises(mc.OptionError, match="was not made here: if you mean that folder"):
            library.index(BagOfWords())
    write_jpeg(second / "new.jpg", "a new kite")
    with Library.open(first, index=tmp_path / "i") as library:
        summary = library.index(BagOfWords(), prune=True)
        assert (summary.photos, summary.new) == (2, 0)
        assert [item.path for item in summary.skipped] == [second]
        assert library.index(BagOfWords(), folders=[second]).new == 1
        assert library.index(BagOfWords()).unchanged == 3


def test_the_commands(folders: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = map(str, folders)

    def run(*words: str) -> str:
        done = run_command(*words)
        return done.stdout + done.stderr * bool(done.returncode)

    assert "2 photographs: 2 new" in run("index", first, second, "--encoder", "lite", "--index", str(tmp_path / "i"))
    assert f"{first}\n  and {second}\n" in run("library")
    assert json.loads(run("search", "kite", "-k", "1", "--library", first))["path"] == f"{second}/boxes/b.jpg"
    assert "--library takes one folder, got 2" in run("search", "kite", "--library", first, "--library", second)
    assert run("library", "--remove-folder", second) == "1 photograph forgotten; no file was touched\n"
