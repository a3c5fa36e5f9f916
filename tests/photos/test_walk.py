"""Finding files in real folders: links, loops, odd names, closed doors, and files that belong together."""

from __future__ import annotations

import errno
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("PIL", reason="needs the extra photos")
pytest.importorskip("pillow_heif", reason="needs the extra photos")

from hypothesis import given
from hypothesis import strategies as st

from mascot.errors import InputError
from mascot.photos.files.file_groups import Companions, companions
from mascot.photos.files.walk import PictureFile, Skipped, walk

POSIX = os.name == "posix"


def grow(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 3)


def walked(root: Path, **options: bool) -> tuple[list[str], dict[str, str]]:
    """Return the names of pictures in their order, and the reasons of skipped files by name."""
    items = list(walk(root, **options))
    names = [item.path.relative_to(root).as_posix() for item in items if isinstance(item, PictureFile)]
    return names, {item.path.name: item.reason for item in items if isinstance(item, Skipped)}


_DERIVED = [
    "@eaDir/a.jpg/SYNOPHOTO_THUMB_M.jpg", ".thumbnails/a.jpg", ".picasaoriginals/a.jpg", "Cat Previews.lrdata/0/a.jpg",
    "Cat Smart Previews.lrdata/a.dng", "Photos Library.photoslibrary/resources/derivatives/a.jpg",
    "Photos Library.photoslibrary/top.jpg", "._a.jpg",
]  # fmt: skip
_ORIGINALS = ["Old.photolibrary/Masters/2014/b.jpg", "Photos Library.photoslibrary/originals/0/c.heic", "a.jpg"]
_HIDDEN = ["a.jpg", ".b.jpg", ".trash/c.jpg", ".mascot/thumb.jpg", "x/.mascot/thumb.jpg", "x/d.jpg"]
_ODD = ["a b.jpg", "new\nline.jpg", "tab\t.jpg", "\N{CAMERA} été 東京.jpg", "'quoted\".jpg", "-r.jpg", "%41.jpg"]


@pytest.mark.parametrize(
    ("files", "hidden", "pictures"),
    [
        (
            ["b.JPG", "a/z.jpeg", "a/b/c.heic", "c.tiff", "a.webp", "notes.txt", "movie.mov", "jpg", "c/d.Png"],
            False,
            ["a/b/c.heic", "a/z.jpeg", "a.webp", "b.JPG", "c/d.Png", "c.tiff"],
        ),
        ([*_DERIVED, *_ORIGINALS], True, _ORIGINALS),
        (_HIDDEN, True, [".b.jpg", ".trash/c.jpg", "a.jpg", "x/d.jpg"]),
        (_ODD, False, sorted(_ODD)),
    ],
    ids=["sorted", "derived", "hidden", "odd names"],
)
def test_pictures_in_sorted_order(files: list[str], hidden: bool, pictures: list[str], tmp_path: Path) -> None:
    grow(tmp_path, *files)
    assert walked(tmp_path, hidden=hidden) == (pictures, {})


def test_sizes_times_absolute_paths_and_kinds_that_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(tmp_path / "album", "a.jpg", "b.MOV", "c/d.mov", "e.psd", "notes.txt", ".hidden.psd", ".mascot/x.psd")
    monkeypatch.chdir(tmp_path)
    unread: Counter[str] = Counter()
    (picture,) = walk(Path("album/../album"), unread=unread)
    assert picture == PictureFile(tmp_path / "album/a.jpg", 3, (tmp_path / "album/a.jpg").stat().st_mtime_ns)
    assert unread == {".mov": 2, ".psd": 1}
    root = tmp_path / "Photos Library.photoslibrary"
    grow(root, "originals/0/c.heic", "top.jpg")
    assert walked(root) == (["originals/0/c.heic"], {})
    with pytest.raises(InputError, match="nowhere cannot be walked: No such file"):
        walk(tmp_path / "nowhere")


@pytest.mark.skipif(not POSIX, reason="needs symbolic links")
def test_links(tmp_path: Path) -> None:
    grow(
        tmp_path, "root/a/b/c.jpg", "root/z/real.jpg", "outside/b.jpg", "outside/deep/c.jpg", "single.jpg", "other.txt"
    )
    links = {
        "a/b/up": "root", "a/self": "root/a", "loop.jpg": "root/loop.jpg", "broken.jpg": "root/gone.jpg",
        "0real.jpg": "root/z/real.jpg", "0z": "root/z",  # a real file has its own path
        "0folder": "outside", "0file.jpg": "single.jpg", "1file.jpg": "single.jpg", "0other.txt": "other.txt",
    }  # fmt: skip
    for name, target in links.items():
        (tmp_path / "root" / name).symlink_to(tmp_path / target)
    real = ["a/b/c.jpg", "z/real.jpg"]
    reasons = {"loop.jpg": "loop of links", "broken.jpg": "broken link: No such file or directory"}
    outside = dict.fromkeys(["0file.jpg", "0folder", "1file.jpg"], "link out of the library (--follow-links)")
    assert walked(tmp_path / "root") == (real, reasons | outside)
    followed = [*real, "0file.jpg", "0folder/b.jpg", "0folder/deep/c.jpg"]
    assert walked(tmp_path / "root", follow_links=True) == (followed, reasons)


@pytest.mark.skipif(not POSIX, reason="needs links and pipes")
def test_hard_links_linked_roots_and_pipes(tmp_path: Path) -> None:
    grow(tmp_path, "real/a.jpg")
    os.link(tmp_path / "real/a.jpg", tmp_path / "real/b.jpg")
    os.mkfifo(tmp_path / "real/pipe.jpg")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert walked(tmp_path / "link") == (["a.jpg"], {"pipe.jpg": "not a regular file"})


@pytest.mark.parametrize("name", ["b.jpg", "b"])
def test_what_vanishes_or_may_not_be_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "photos"
    grow(root, "a.jpg", name if name == "b.jpg" else "b/x.jpg", "c.jpg", "closed/d.jpg", "e.jpg")
    scandir = os.scandir

    def denied(folder: Path) -> Any:
        if Path(folder).name == "closed":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", denied)
    items = walk(root)
    next(items)
    shutil.move(root / name, tmp_path / "away")
    second, third, fourth, fifth = items
    assert second == Skipped(root / name, "vanished during the walk")
    assert fourth == Skipped(root / "closed", "folder cannot be read: Permission denied")
    assert isinstance(third, PictureFile)
    assert isinstance(fifth, PictureFile)


# Files that belong to a photograph, by their names

SUFFIXES = frozenset({".jpg", ".heic", ".png", ".cr2", ".dng"})


def test_sidecars_are_recognised_by_their_names() -> None:
    for picture, sidecar in (
        ("IMG_1.jpg", "IMG_1.xmp"),
        ("IMG_1.JPG", "img_1.XMP"),
        ("IMG_1.jpg", "IMG_1.jpg.suppl.json"),
        ("IMG_1(1).jpg", "IMG_1.jpg(1).json"),
        ("IMG_1(2).jpg", "IMG_1.jpg.supplemental-metadata(2).json"),
        ("IMG_1-edited.jpg", "IMG_1.jpg.json"),
        ("Screenshot_2019-07-04-18-15-12-1234_com.exampl.jpg", "Screenshot_2019-07-04-18-15-12-1234_com.exampl.j.json"),
    ):
        assert companions([picture, sidecar, "notes.json"], SUFFIXES) == {picture: Companions((sidecar,))}
    for picture, other in (
        ("IMG_1.jpg", "IMG_10.jpg.json"),
        ("IMG_1.jpg", "IMG_1.jpg(1).json"),
        ("IMG_1(1).jpg", "IMG_1.jpg.json"),
    ):
        assert companions([picture, other], SUFFIXES) == {picture: Companions()}


def test_live_photographs_and_raw_pairs_are_one() -> None:
    names = "a.HEIC a.MOV b.jpg b.CR2 b.CR2.xmp c.cr2 d.MP.jpg d.MP MVIMG_1.jpg MVIMG_1.MP4"
    assert companions(names.split(), SUFFIXES) == {
        "a.HEIC": Companions(media=("a.MOV",)),
        "b.jpg": Companions(("b.CR2.xmp",), ("b.CR2",)),
        "c.cr2": Companions(),
        "d.MP.jpg": Companions(media=("d.MP",)),
        "MVIMG_1.jpg": Companions(media=("MVIMG_1.MP4",)),
    }
    assert companions(["film.mov", "x.xmp"], SUFFIXES) == {}


NAMES = st.lists(
    st.builds(
        lambda *parts: "".join(parts),
        st.sampled_from(["a", "b", "a(1)", "x" * 45]),
        st.sampled_from([".jpg", ".heic", ".cr2", ".mov", ".xmp", ".jpg.json", ".jpg(1).json", ".txt"]),
    ),
    unique=True,
    max_size=12,
)


@given(NAMES)
def test_each_picture_leads_or_belongs_to_one_that_does(names: list[str]) -> None:
    families = companions(names, SUFFIXES)
    owned = [other for family in families.values() for other in family.media]
    pictures = {name for name in names if name.endswith((".jpg", ".heic", ".cr2"))}
    assert pictures == set(families) | (set(owned) & pictures)
    assert not set(families) & set(owned)
    assert {name for family in families.values() for name in (*family.sidecars, *family.media)} <= set(names)
