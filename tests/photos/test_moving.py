"""Files that change their names: each photograph keeps its own row, whatever the others do."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from bag_of_words import BagOfWords
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jpegs import write_jpeg
from libraries import rows_of

from mascot.photos import Library


class Reader(BagOfWords):
    """One that reads the words of paths, as `lite` does."""

    uses_words = True


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def indexed(root: Path, encoder: Any, **options: Any) -> tuple[Any, dict[str, tuple]]:
    """The summary, and everything of each row but its id, by path."""
    with Library(root) as library:
        summary = library.index(encoder, **options)
        if summary.photos:
            assert len(library.hits("boat", encoder=encoder)) == summary.photos
        return summary, rows_of(library)


def anew(root: Path, encoder: Any) -> dict[str, tuple]:
    """The rows of a library made of the folder as it is now."""
    with tempfile.TemporaryDirectory() as folder:
        other = Path(shutil.copytree(root, Path(folder, "other"), ignore=shutil.ignore_patterns(".mascot")))
        return indexed(other, encoder)[1]


_CONTENTS = 8
_PLACES = ["IMG_0001.jpg", "IMG_0002.jpg", "Rome/IMG_0003.jpg", "Rome/IMG_0004.jpg", "Paris/boat.jpg", "Paris/tree.jpg"]


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(now=st.lists(st.none() | st.integers(0, _CONTENTS - 1), min_size=6, max_size=6))
def test_whatever_files_change_places_the_rows_are_those_of_a_new_library(
    tmp_path_factory: pytest.TempPathFactory, now: list[int | None]
) -> None:
    tmp = tmp_path_factory.mktemp("places")
    files = [write_jpeg(tmp / "all" / f"{i}.jpg", f"boat number {i}", "Porto") for i in range(_CONTENTS)]
    root = tmp / "photos"
    for i, place in enumerate(_PLACES):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(files[i], root / place)
    (root / "Rome" / "notes.txt").touch()  # so that the folder never looks like that of a drive
    (root / "Paris" / "notes.txt").touch()
    indexed(root, Reader())
    for i, (place, content) in enumerate(zip(_PLACES, now, strict=True)):
        if content is None:
            (root / place).unlink()
        elif content != i:
            shutil.copy(files[content], root / place)
            os.utime(root / place, (i + 1, i + 1))
    done, rows = indexed(root, Reader(), prune=True)
    assert done.skipped == ()
    assert rows == anew(root, Reader())


def test_renumbered_files_keep_their_rows_and_are_not_encoded_again(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    for i in range(1, 6):
        write_jpeg(root / f"img{i}.jpg", f"boat {i}")
    with Library.open(root) as library:
        library.index(BagOfWords())
        ids = {photo.caption: photo.id for photo in library.store.all_photos()}
    for i in range(5, 0, -1):
        (root / f"img{i}.jpg").rename(root / f"img{i + 1}.jpg")
    encoder = BagOfWords()
    done, rows = indexed(root, encoder)
    assert encoder.encoded == []
    assert (done.moved, done.photos, done.gone, done.skipped) == (5, 5, 0, ())
    assert rows == anew(root, BagOfWords())
    with Library.open(root) as library:
        assert {photo.caption: photo.id for photo in library.store.all_photos()} == ids


def test_an_edited_file_whose_original_was_put_aside(tmp_path: Path) -> None:
    """The row of the original is written over before its own new place is known."""
    root = tmp_path / "photos"
    edited = write_jpeg(root / "img1.jpg", "a boat")
    indexed(root, BagOfWords())
    edited.rename(root / "img2.jpg")
    write_jpeg(edited, "a boat, brighter", colour=(250, 250, 250))
    done, rows = indexed(root, BagOfWords())
    assert (done.photos, done.skipped) == (2, ())
    assert rows == anew(root, BagOfWords())


@pytest.mark.parametrize("copied", [False, True])
def test_the_words_of_the_new_folder_are_found(tmp_path: Path, copied: bool) -> None:
    root = tmp_path / "photos"
    file = write_jpeg(root / "Norway" / "IMG_0001.jpg", "a boat")
    write_jpeg(root / "Norway" / "IMG_0002.jpg", "a tree")
    with Library.open(root) as library:
        library.index(Reader())
        id_ = library.store.connection.execute("SELECT id FROM photos WHERE path LIKE '%0001.jpg'").fetchone()[0]
    (root / "Portugal").mkdir()
    (shutil.copy if copied else shutil.move)(file, root / "Portugal" / "IMG_0001.jpg")
    encoder = Reader()
    done, rows = indexed(root, encoder)
    assert len(encoder.encoded) == 1
    assert (done.moved, done.new, done.gone) == ((0, 1, 0) if copied else (1, 0, 0))
    assert rows == anew(root, Reader())
    with Library.open(root) as library:
        first = library.search("portugal", k=1, encoder=Reader()).photos[0]
        assert first.path == "Portugal/IMG_0001.jpg"
        assert (first.id == id_) is not copied


def test_a_time_in_the_name_goes_with_the_name(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    bare = write_jpeg(root / "IMG_20190704_181512.jpg", "a boat")
    dated = write_jpeg(root / "IMG_20200101_120000.jpg", "a tree", taken="2021-05-05T05:05:05")
    both = write_jpeg(root / "IMG_20220202_020202.jpg", "a house", taken="2022-02-02T02:02:02")
    indexed(root, BagOfWords())
    bare.rename(root / "IMG_0001.jpg")
    dated.rename(root / "IMG_0002.jpg")
    both.rename(root / "IMG_0003.jpg")
    encoder = BagOfWords()
    _, rows = indexed(root, encoder)
    assert len(encoder.encoded) == 1  # the time of the others is in the file itself
    assert rows == anew(root, BagOfWords())


def test_touched_files_are_unchanged(tmp_path: Path) -> None:
    """As after a backup was put back."""
    root = tmp_path / "photos"
    for i in range(3):
        write_jpeg(root / f"img{i}.jpg", f"boat {i}")
    indexed(root, BagOfWords())
    for file in root.glob("*.jpg"):
        os.utime(file, (1, 1))
    encoder = BagOfWords()
    done, _ = indexed(root, encoder)
    assert encoder.encoded == []
    assert (done.unchanged, done.moved, done.copied, done.changed) == (3, 0, 0, 0)


def test_copies_of_a_file_that_is_no_picture_say_why_each(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    write_jpeg(root / "boat.jpg", "a boat")
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        (root / name).write_bytes(b"no picture")
    done, _ = indexed(root, BagOfWords())
    assert {item.path.name for item in done.skipped} == {"a.jpg", "b.jpg", "c.jpg"}
    assert len({item.reason for item in done.skipped}) == 1
    with Library.open(root) as library:
        changes = library.store.changes
        library.index(BagOfWords())
        assert library.store.changes == changes
