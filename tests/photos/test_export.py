"""Copies and archives: nothing overwritten, no half file under its name, originals as they were."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import string
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mascot as mc
from mascot.photos import export
from mascot.photos.export import Original, copy_originals, safe_name, unique_names, write_zip
from mascot.photos.photo import COLUMNS, Photo


def _photo(path: str) -> Photo:
    values: dict[str, Any] = dict.fromkeys(COLUMNS)
    return Photo(**values | {"id": 1, "path": path, "size": 0, "mtime_ns": 0, "keywords": (), "problems": ()})


@pytest.fixture
def files(tmp_path: Path) -> list[Original]:
    """Six files, two of which have the same name and two the same name but for case."""
    originals = []
    for count, path in enumerate(("a/1.jpg", "b/1.jpg", "a/2.JPG", "b/2.jpg", "3", "a/ü.jpg")):
        file = tmp_path / "originals" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes([count]) * 300_000)
        os.utime(file, ns=(10**18, 10**18 + count * 10**9))
        originals.append(Original(_photo(path), file))
    return originals


def _state(files: list[Original]) -> list[tuple[bytes, int]]:
    return [(file.path.read_bytes(), file.path.stat().st_mtime_ns) for file in files]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_copies_have_the_bytes_and_the_times(files: list[Original], tmp_path: Path) -> None:
    before, folder = _state(files), tmp_path / "new" / "folder"
    copied = copy_originals(files, folder)
    assert [path.name for path in copied.new] == ["1.jpg", "1 (2).jpg", "2.JPG", "2 (2).jpg", "3", "ü.jpg"]
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in copied.new] == before == _state(files)
    assert len(_names(folder)) == 6
    again = copy_originals(files, folder)
    assert not again.new
    assert again.present == copied.new


def test_nothing_is_overwritten(files: list[Original], tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "1.jpg").write_bytes(b"mine")
    (folder / "2.JPG").symlink_to("nowhere")
    (folder / "3").mkdir()
    copied = copy_originals(files, folder)
    assert (folder / "1.jpg").read_bytes() == b"mine"
    assert (folder / "2.JPG").is_symlink()
    assert len(copied.new) == 6
    assert sorted(path.read_bytes()[:1] for path in copied.new) == [bytes([count]) for count in range(6)]


def _die_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    def half(source: Path, target: Path) -> None:
        Path(target).write_bytes(Path(source).read_bytes()[:1000])
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(shutil, "copyfile", half)


def _die_before_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", lambda *_: os.kill(os.getpid(), signal.SIGKILL))


def _die_after_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def linked(source: Path, target: Path) -> None:
        link(source, target)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(os, "link", linked)


def _killed(work: Callable[[], object]) -> None:
    """Do the work in a process that kills itself."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize("die", [_die_in_the_middle, _die_before_the_name, _die_after_the_name])
def test_a_killed_copy_leaves_whole_files_and_is_continued(
    files: list[Original], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, die: Callable[[pytest.MonkeyPatch], None]
) -> None:
    before, folder = _state(files), tmp_path / "folder"
    copy_originals(files[:2], folder)
    with monkeypatch.context() as patch:
        die(patch)
        _killed(lambda: copy_originals(files, folder))
    contents = {content for content, _ in before}
    for path in folder.iterdir():
        assert path.name.startswith(".") or path.read_bytes() in contents, path
    copied = copy_originals(files, folder)
    assert len(copied.present) in (2, 3)
    assert len(copied.present) + len(copied.new) == 6
    assert len(_names(folder)) == 6
    assert _state(files) == before


@pytest.mark.parametrize("die", [_die_before_the_name, _die_after_the_name])
def test_a_killed_archive_is_whole_or_not_there(
    files: list[Original], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, die: Callable[[pytest.MonkeyPatch], None]
) -> None:
    target = tmp_path / "photos.zip"
    with monkeypatch.context() as patch:
        die(patch)
        _killed(lambda: write_zip(files, target))
    if not target.exists():
        write_zip(files, target)
    with zipfile.ZipFile(target) as archive:
        assert archive.testzip() is None
        assert [archive.read(name) for name in archive.namelist()] == [content for content, _ in _state(files)]
        assert archive.getinfo("1.jpg").date_time == datetime.fromtimestamp(10**9).timetuple()[:6]
    with pytest.raises(mc.InputError, match="never overwritten"):
        write_zip(files, target)


def test_a_file_that_appears_meanwhile_stays(tmp_path: Path) -> None:
    target = tmp_path / "a.zip"
    finishing = export.finished(target)
    finishing.__enter__().write_bytes(b"ours")
    target.write_bytes(b"theirs")
    with pytest.raises(mc.InputError, match="never overwritten"):
        finishing.__exit__(None, None, None)
    assert target.read_bytes() == b"theirs"
    assert _names(tmp_path) == ["a.zip"]


def test_a_file_system_without_links(files: list[Original], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert len(copy_originals(files, tmp_path / "folder").new) == 6
    assert len(_names(tmp_path / "folder")) == 6


def test_a_full_disk_is_said(files: list[Original], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", refuse)
    with pytest.raises(mc.InputError, match="No space left on device"):
        copy_originals(files, tmp_path / "folder")
    assert _names(tmp_path / "folder") == []


@given(
    st.lists(st.text(st.characters(codec=None) | st.sampled_from('/\\:.<> "'), min_size=1, max_size=300), max_size=8)
)
def test_names_are_unique_and_safe(paths: list[str]) -> None:
    names = unique_names(_photo(path) for path in paths)
    assert len({name.casefold() for name in names}) == len(names)
    for name in names:
        assert name == name.strip(" .") != ""
        assert not set(name) & {*'<>:"/\\|?*', *map(chr, range(32))}
        assert len(name.encode()) <= 200


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("CON.jpg", "_CON.jpg"),
        ("..", "photograph"),
        ("a/b: c?.jpg", "a_b_ c_.jpg"),
        ("x" * 400 + ".jpg", "x" * 176 + ".jpg"),
    ],
)
def test_names_that_no_file_may_have(name: str, safe: str) -> None:
    assert safe_name(name) == safe
    assert set(safe) <= set(string.printable)
