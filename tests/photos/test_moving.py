"""Files that change their names: each photograph keeps its own row, whatever the others do."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mascot.photos import Library
from mascot.photos.photo import COLUMNS
from tests.photos.bag_of_words import BagOfWords, PathReader
from tests.photos.jpegs import write_jpeg
from tests.photos.libraries import photos_in, rows_of


def indexed(root: Path, encoder: Any, **options: Any) -> tuple[Any, dict[str, tuple]]:
    with Library(root) as library:
        summary = library.index(encoder, **options)
        if summary.photos:
            assert len(library.hits("boat", encoder=encoder)) == summary.photos
        return summary, rows_of(library)


def anew(root: Path, encoder: Any) -> dict[str, tuple]:
    with tempfile.TemporaryDirectory() as folder:
        other = Path(shutil.copytree(root, Path(folder, "other"), ignore=shutil.ignore_patterns(".mascot")))
        return indexed(other, encoder)[1]


_CONTENTS = 8
_PLACES = ["IMG_0001.jpg", "IMG_0002.jpg", "Rome/IMG_0003.jpg", "Rome/IMG_0004.jpg", "Paris/boat.jpg", "Paris/tree.jpg"]


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    indexed(root, PathReader())
    for i, (place, content) in enumerate(zip(_PLACES, now, strict=True)):
        if content is None:
            (root / place).unlink()
        elif content != i:
            shutil.copy(files[content], root / place)
            os.utime(root / place, (i + 1, i + 1))
    done, rows = indexed(root, PathReader(), prune=True)
    assert done.skipped == ()
    assert rows == anew(root, PathReader())


def test_files_that_are_renamed_edited_copied_and_touched_keep_their_rows(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    for i in range(1, 6):
        write_jpeg(root / f"img{i}.jpg", f"boat {i}")
    edited = write_jpeg(root / "edited" / "img1.jpg", "a boat")
    touched = write_jpeg(root / "touched.jpg", "a bridge")
    bare = write_jpeg(root / "IMG_20190704_181512.jpg", "a train")
    dated = write_jpeg(root / "IMG_20200101_120000.jpg", "a tree", taken="2021-05-05T05:05:05")
    with Library(root) as library:
        library.index(BagOfWords())
        ids = {photo.caption: photo.id for photo in photos_in(library)}
        times = {photo.caption: str(photo.taken) for photo in photos_in(library)}
    assert (times["a train"], times["a tree"]) == ("2019-07-04 18:15:12", "2021-05-05 05:05:05")  # EXIF comes first
    shutil.copy(root / "img1.jpg", root / "copy.jpg")
    for i in range(5, 0, -1):
        (root / f"img{i}.jpg").rename(root / f"img{i + 1}.jpg")
    edited.rename(root / "edited" / "img2.jpg")  # its row is written over before its own new place is known
    write_jpeg(edited, "a boat, brighter", colour=(250, 250, 250))
    os.utime(touched, (1, 1))  # as after a backup was put back
    bare.rename(root / "IMG_0001.jpg")  # with its time; that of the next one is in the file itself
    dated.rename(root / "IMG_0002.jpg")
    encoder = BagOfWords()
    done, rows = indexed(root, encoder)
    words = {line.removeprefix("caption: ") for text in encoder.encoded for line in text.splitlines()}
    assert words == {"a boat", "a boat, brighter", "a train"}
    assert (done.photos, done.unchanged, done.copied, done.gone, done.skipped) == (11, 1, 1, 0, ())
    assert rows == anew(root, BagOfWords())
    times = {path: row[COLUMNS.index("taken") - 1] for path, row in rows.items()}
    assert (times["IMG_0001.jpg"], times["IMG_0002.jpg"]) == (None, "2021-05-05T05:05:05")
    with Library(root) as library:
        captions = {photo.id: photo.caption for photo in photos_in(library)}
    assert {captions[ids[f"boat {i}"]] for i in range(1, 6)} == {f"boat {i}" for i in range(1, 6)}


def test_copies_in_the_first_run_are_read_once(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    original = write_jpeg(root / "boat.jpg", "a boat")
    for i in range(5):
        shutil.copy(original, root / f"copy{i}.jpg")
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        (root / name).write_bytes(b"no picture")
    encoder = BagOfWords()
    done, _ = indexed(root, encoder)
    assert len(encoder.encoded) == 1
    assert (done.new, done.copied, done.photos) == (1, 5, 6)
    assert {item.path.name for item in done.skipped} == {"a.jpg", "b.jpg", "c.jpg"}
    assert len({item.reason for item in done.skipped}) == 1
