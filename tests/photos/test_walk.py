"""Finding files in real folders: links, loops, odd names, closed doors, and files that belong together."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("PIL", reason="needs the extra photos")
pytest.importorskip("pillow_heif", reason="needs the extra photos")

from hypothesis import given
from hypothesis import strategies as st

from mascot.errors import InputError
from mascot.photos.companions import Companions, companions
from mascot.photos.walk import PictureFile, Skipped, walk

POSIX = os.name == "posix"
_OUT = "link out of the library (--follow-links)"


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
        ([*_DERIVED, *_ORIGINALS], False, _ORIGINALS),
        ([*_DERIVED, *_ORIGINALS], True, _ORIGINALS),
        ([], False, []),
        (_HIDDEN, False, ["a.jpg", "x/d.jpg"]),
        (_HIDDEN, True, [".b.jpg", ".trash/c.jpg", "a.jpg", "x/d.jpg"]),
        (_ODD, False, sorted(_ODD)),
    ],
    ids=["sorted", "derived", "derived and hidden", "empty", "hidden", "hidden shown", "odd names"],
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


def test_a_root_that_cannot_be_walked_is_refused_at_once(tmp_path: Path) -> None:
    grow(tmp_path, "a.jpg")
    with pytest.raises(InputError, match=r"a\.jpg cannot be walked: not a folder"):
        walk(tmp_path / "a.jpg")
    with pytest.raises(InputError, match="nowhere cannot be walked: No such file"):
        walk(tmp_path / "nowhere")


@pytest.mark.skipif(not POSIX or sys.platform == "darwin", reason="needs a file system whose names are bytes")
def test_names_that_are_no_text_are_skipped_with_a_reason(tmp_path: Path) -> None:
    grow(tmp_path, "good.jpg")
    root = os.fsencode(tmp_path)
    Path(os.fsdecode(root + b"/caf\xe9.jpg")).write_bytes(b"x")
    Path(os.fsdecode(root + b"/caf\xe9.txt")).write_bytes(b"x")
    folder = Path(os.fsdecode(root + b"/\xff"))
    folder.mkdir()
    grow(folder, "inside.jpg")
    items = list(walk(tmp_path))
    assert [type(item) for item in items] == [Skipped, PictureFile, Skipped]
    assert [item.reason for item in items if isinstance(item, Skipped)] == ["its name is not valid text"] * 2
    assert [type(item) for item in walk(folder)] == [PictureFile]  # below it every name is one


@pytest.mark.skipif(not POSIX, reason="needs symbolic links")
@pytest.mark.parametrize(
    ("files", "links", "follow_links", "pictures", "reasons"),
    [
        (["root/a/b/c.jpg"], {"a/b/up": "root", "a/self": "root/a"}, False, ["a/b/c.jpg"], {}),
        ([], {"x.jpg": "root/x.jpg"}, False, [], {"x.jpg": "loop of links"}),
        ([], {"x.jpg": "root/gone.jpg"}, False, [], {"x.jpg": "broken link: No such file or directory"}),
        (
            ["root/a.jpg", "outside/b.jpg", "outside/deep/c.jpg", "single.jpg", "outside.txt"],
            {"0folder": "outside", "0file.jpg": "single.jpg", "0other.txt": "outside.txt"},
            True,
            ["a.jpg", "0file.jpg", "0folder/b.jpg", "0folder/deep/c.jpg"],
            {},
        ),
        (
            ["root/a.jpg", "outside/b.jpg", "single.jpg", "outside.txt"],
            {"0folder": "outside", "0file.jpg": "single.jpg", "0other.txt": "outside.txt"},
            False,
            ["a.jpg"],
            {"0file.jpg": _OUT, "0folder": _OUT},
        ),
        (  # a real file has its own path
            ["root/z/real.jpg", "root/z/more.jpg"],
            {"a.jpg": "root/z/real.jpg", "b.jpg": "root/z/real.jpg", "c": "root/z"},
            False,
            ["z/more.jpg", "z/real.jpg"],
            {},
        ),
        (
            ["outside/real.jpg", "root/x.jpg"],
            {"a.jpg": "outside/real.jpg", "b.jpg": "root/a.jpg", "c": "outside"},
            True,
            ["x.jpg", "a.jpg"],
            {},
        ),
    ],
    ids=["loop", "link to itself", "broken", "followed", "not followed", "once", "two links to one file outside"],
)
def test_links(
    files: list[str],
    links: dict[str, str],
    follow_links: bool,
    pictures: list[str],
    reasons: dict[str, str],
    tmp_path: Path,
) -> None:
    (tmp_path / "root").mkdir()
    grow(tmp_path, *files)
    for name, target in links.items():
        (tmp_path / "root" / name).symlink_to(tmp_path / target)
    assert walked(tmp_path / "root", follow_links=follow_links) == (pictures, reasons)


@pytest.mark.skipif(not POSIX, reason="needs links and pipes")
def test_hard_links_linked_roots_and_pipes(tmp_path: Path) -> None:
    grow(tmp_path, "real/a.jpg")
    os.link(tmp_path / "real/a.jpg", tmp_path / "real/b.jpg")
    os.mkfifo(tmp_path / "real/pipe.jpg")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert walked(tmp_path / "link") == (["a.jpg"], {"pipe.jpg": "not a regular file"})


@pytest.mark.parametrize("name", ["b.jpg", "b"])
def test_what_vanishes_during_the_walk(name: str, tmp_path: Path) -> None:
    root = tmp_path / "photos"
    grow(root, "a.jpg", name if name == "b.jpg" else "b/x.jpg", "c.jpg")
    items = walk(root)
    next(items)
    shutil.move(root / name, tmp_path / "away")
    second, third = items
    assert second == Skipped(root / name, "vanished during the walk")
    assert isinstance(third, PictureFile)


@pytest.mark.skipif(not POSIX, reason="needs permission bits")
def test_a_folder_that_may_not_be_read() -> None:
    # Root may read everything, so there the walk is done by nobody, in a folder that everybody may enter.
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        grow(root, "a.jpg", "closed/b.jpg", "d.jpg")
        (root / "closed").chmod(0)
        code = (
            "import os, sys; from pathlib import Path; from mascot.photos.walk import walk\n"
            "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
            "for item in walk(Path(sys.argv[1])): print(item.path.name, getattr(item, 'reason', 'found'))"
        )
        try:
            done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True)
        finally:
            (root / "closed").chmod(0o755)
    if "PermissionError" in done.stderr and "setuid" in done.stderr:
        pytest.skip("runs as root, yet may not become anybody else")
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "a.jpg found",
        "closed folder cannot be read: Permission denied",
        "d.jpg found",
    ]


def test_a_tree_deeper_than_python_s_recursion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    depth = sys.getrecursionlimit() + 100
    monkeypatch.chdir(tmp_path)
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    Path("deep.jpg").write_bytes(b"x")
    try:
        (item,) = walk(tmp_path)
    finally:  # nor could the folder be removed as a whole
        os.unlink("deep.jpg")
        for _ in range(depth):
            os.chdir("..")
            os.rmdir("d")
    if isinstance(item, Skipped):
        assert "too long" in item.reason  # the system's longest path may be shorter
    else:
        assert item.path.name == "deep.jpg"


# Files that belong to a photograph, by their names

SUFFIXES = frozenset({".jpg", ".heic", ".png", ".cr2", ".dng"})


def test_sidecars_are_recognised_by_their_names() -> None:
    screenshot = "Screenshot_2019-07-04-18-15-12-123_com.example"
    for picture, sidecar in (
        ("IMG_1.jpg", "IMG_1.xmp"),
        ("IMG_1.jpg", "IMG_1.jpg.xmp"),
        ("IMG_1.JPG", "img_1.XMP"),
        ("IMG_1.jpg", "IMG_1.jpg.json"),
        ("IMG_1.jpg", "IMG_1.jpg.supplemental-metadata.json"),
        ("IMG_1.jpg", "IMG_1.jpg.suppl.json"),
        ("IMG_1(1).jpg", "IMG_1.jpg(1).json"),
        ("IMG_1(1).jpg", "IMG_1(1).jpg.json"),
        ("IMG_1(2).jpg", "IMG_1.jpg.supplemental-metadata(2).json"),
        ("IMG_1-edited.jpg", "IMG_1.jpg.json"),
        (f"{screenshot}.jpg", f"{screenshot}.json"),
        ("Screenshot_2019-07-04-18-15-12-1234_com.exampl.jpg", "Screenshot_2019-07-04-18-15-12-1234_com.exampl.j.json"),
    ):
        assert companions([picture, sidecar, "notes.json"], SUFFIXES) == {picture: Companions((sidecar,))}
    for picture, other in (
        ("IMG_1.jpg", "IMG_10.jpg.json"),
        ("IMG_1.jpg", "IMG_1.jpg(1).json"),
        ("IMG_1(1).jpg", "IMG_1.jpg.json"),
        ("IMG_1.jpg", "IMG_1.jpg.notes.json"),
        ("IMG_1.jpg", "IMG.xmp"),
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
