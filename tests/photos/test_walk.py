"""Finding files in real folders: links, loops, odd names, closed doors."""

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

from mascot.errors import InputError
from mascot.photos.walk import PictureFile, Skipped, walk

POSIX = os.name == "posix"


def grow(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 3)


def found(root: Path, **options: bool) -> list[str]:
    """Names below the root; complaints are errors here."""
    items = list(walk(root, **options))
    assert all(isinstance(item, PictureFile) for item in items), items
    return [item.path.relative_to(root).as_posix() for item in items]


def test_pictures_in_sorted_order_with_their_size_and_time(tmp_path: Path) -> None:
    grow(tmp_path, "b.JPG", "a/z.jpeg", "a/b/c.heic", "c.tiff", "a.webp", "notes.txt", "movie.mov", "jpg", "c/d.Png")
    assert found(tmp_path) == ["a/b/c.heic", "a/z.jpeg", "a.webp", "b.JPG", "c/d.Png", "c.tiff"]
    first = next(walk(tmp_path))
    assert isinstance(first, PictureFile)
    assert first.path.is_absolute()
    assert (first.size, first.mtime_ns) == (3, (tmp_path / "a/b/c.heic").stat().st_mtime_ns)


def test_a_relative_root_gives_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(tmp_path, "album/a.jpg")
    monkeypatch.chdir(tmp_path)
    assert [item.path for item in walk(Path("album/../album"))] == [tmp_path / "album" / "a.jpg"]


def test_pictures_of_kinds_that_are_not_read_are_counted(tmp_path: Path) -> None:
    grow(tmp_path, "a.jpg", "b.MOV", "c/d.mov", "e.psd", "notes.txt", ".hidden.psd", ".mascot/x.psd")
    unread: Counter[str] = Counter()
    assert len(list(walk(tmp_path, unread=unread))) == 1
    assert unread == {".mov": 2, ".psd": 1}


def test_derivatives_of_other_programs_are_passed_over(tmp_path: Path) -> None:
    derived = [
        "@eaDir/a.jpg/SYNOPHOTO_THUMB_M.jpg",
        ".thumbnails/a.jpg",
        ".picasaoriginals/a.jpg",
        "Cat Previews.lrdata/0/a.jpg",
        "Cat Smart Previews.lrdata/a.dng",
        "Photos Library.photoslibrary/resources/derivatives/a.jpg",
        "Photos Library.photoslibrary/top.jpg",
        "._a.jpg",
    ]
    originals = [
        "Old.photolibrary/Masters/2014/b.jpg",
        "Photos Library.photoslibrary/originals/0/c.heic",
        "a.jpg",
    ]
    grow(tmp_path, *derived, *originals)
    assert found(tmp_path) == found(tmp_path, hidden=True) == originals
    assert found(tmp_path / "Photos Library.photoslibrary") == ["originals/0/c.heic"]


def test_an_empty_folder_gives_nothing(tmp_path: Path) -> None:
    assert list(walk(tmp_path)) == []


def test_hidden_things_are_passed_over_unless_asked_for_and_ours_always(tmp_path: Path) -> None:
    grow(tmp_path, "a.jpg", ".b.jpg", ".trash/c.jpg", ".mascot/thumb.jpg", "x/.mascot/thumb.jpg", "x/d.jpg")
    assert found(tmp_path) == ["a.jpg", "x/d.jpg"]
    assert found(tmp_path, hidden=True) == [".b.jpg", ".trash/c.jpg", "a.jpg", "x/d.jpg"]


def test_a_root_that_cannot_be_walked_is_refused_at_once(tmp_path: Path) -> None:
    grow(tmp_path, "a.jpg")
    with pytest.raises(InputError, match=r"a\.jpg cannot be walked: not a folder"):
        walk(tmp_path / "a.jpg")
    with pytest.raises(InputError, match="nowhere cannot be walked: No such file"):
        walk(tmp_path / "nowhere")


def test_odd_names(tmp_path: Path) -> None:
    names = ["a b.jpg", "new\nline.jpg", "tab\t.jpg", "\N{CAMERA} été 東京.jpg", "'quoted\".jpg", "-r.jpg", "%41.jpg"]
    grow(tmp_path, *names)
    assert found(tmp_path) == sorted(names)


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


# Links


@pytest.mark.skipif(not POSIX, reason="needs symbolic links")
class TestLinks:
    def test_a_loop_ends(self, tmp_path: Path) -> None:
        grow(tmp_path, "a/b/c.jpg")
        (tmp_path / "a" / "b" / "up").symlink_to(tmp_path)
        (tmp_path / "a" / "self").symlink_to(tmp_path / "a")
        assert found(tmp_path) == ["a/b/c.jpg"]

    def test_a_link_that_leads_only_to_itself(self, tmp_path: Path) -> None:
        (tmp_path / "x.jpg").symlink_to(tmp_path / "x.jpg")
        assert list(walk(tmp_path)) == [Skipped(tmp_path / "x.jpg", "loop of links")]

    def test_a_broken_link_says_so(self, tmp_path: Path) -> None:
        (tmp_path / "x.jpg").symlink_to(tmp_path / "gone.jpg")
        assert list(walk(tmp_path)) == [Skipped(tmp_path / "x.jpg", "broken link: No such file or directory")]

    def test_links_lead_out_of_the_root(self, tmp_path: Path) -> None:
        grow(tmp_path, "root/a.jpg", "outside/b.jpg", "outside/deep/c.jpg", "single.jpg", "outside.txt")
        (tmp_path / "root" / "0folder").symlink_to(tmp_path / "outside")
        (tmp_path / "root" / "0file.jpg").symlink_to(tmp_path / "single.jpg")
        (tmp_path / "root" / "0other.txt").symlink_to(tmp_path / "outside.txt")
        names = ["a.jpg", "0file.jpg", "0folder/b.jpg", "0folder/deep/c.jpg"]
        assert found(tmp_path / "root", follow_links=True) == names
        items = list(walk(tmp_path / "root"))
        assert [item.path.name for item in items if isinstance(item, PictureFile)] == ["a.jpg"]
        reasons = {item.path.name: item.reason for item in items if isinstance(item, Skipped)}
        assert reasons == dict.fromkeys(["0file.jpg", "0folder"], "link out of the library (--follow-links)")

    def test_a_real_file_comes_once_and_by_its_own_path(self, tmp_path: Path) -> None:
        grow(tmp_path, "z/real.jpg", "z/more.jpg")
        (tmp_path / "a.jpg").symlink_to(tmp_path / "z" / "real.jpg")
        (tmp_path / "b.jpg").symlink_to(tmp_path / "z" / "real.jpg")
        (tmp_path / "c").symlink_to(tmp_path / "z")
        assert found(tmp_path) == ["z/more.jpg", "z/real.jpg"]

    def test_two_links_to_one_file_outside_give_one(self, tmp_path: Path) -> None:
        grow(tmp_path, "outside/real.jpg", "root/x.jpg")
        (tmp_path / "root" / "a.jpg").symlink_to(tmp_path / "outside" / "real.jpg")
        (tmp_path / "root" / "b.jpg").symlink_to(tmp_path / "root" / "a.jpg")
        (tmp_path / "root" / "c").symlink_to(tmp_path / "outside")
        assert found(tmp_path / "root", follow_links=True) == ["x.jpg", "a.jpg"]

    def test_hard_links_are_one_file(self, tmp_path: Path) -> None:
        grow(tmp_path, "a.jpg")
        os.link(tmp_path / "a.jpg", tmp_path / "b.jpg")
        assert found(tmp_path) == ["a.jpg"]

    def test_a_root_that_is_a_link(self, tmp_path: Path) -> None:
        grow(tmp_path, "real/a.jpg")
        (tmp_path / "link").symlink_to(tmp_path / "real")
        assert found(tmp_path / "link") == ["a.jpg"]

    def test_what_is_no_file_is_skipped_and_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.jpg")
        assert list(walk(tmp_path)) == [Skipped(tmp_path / "pipe.jpg", "not a regular file")]


# Things that change or refuse


def test_a_file_that_vanishes_during_the_walk(tmp_path: Path) -> None:
    grow(tmp_path, "a.jpg", "b.jpg", "c.jpg")
    items = walk(tmp_path)
    next(items)
    (tmp_path / "b.jpg").unlink()
    second, third = items
    assert second == Skipped(tmp_path / "b.jpg", "vanished during the walk")
    assert isinstance(third, PictureFile)


def test_a_folder_that_vanishes_during_the_walk(tmp_path: Path) -> None:
    grow(tmp_path, "a.jpg", "b/x.jpg", "c.jpg")
    items = walk(tmp_path)
    next(items)
    shutil.rmtree(tmp_path / "b")
    second, third = items
    assert second == Skipped(tmp_path / "b", "vanished during the walk")
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
