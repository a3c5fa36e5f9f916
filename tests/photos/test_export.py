"""Copies and archives: nothing overwritten, no half file under its name, originals as they were."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import zipfile
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mascot as mc
from mascot.photos.sharing import export
from mascot.photos.sharing.export import Original, copy_originals, safe_name, unique_names, write_zip
from tests.photos.libraries import bare_photo


@pytest.fixture
def files(tmp_path: Path) -> list[Original]:
    originals = []
    for count, path in enumerate(("a/1.jpg", "b/1.jpg", "a/2.JPG", "b/2.jpg", "3", "a/ü.jpg")):
        file = tmp_path / "originals" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes([count]) * 300_000)
        os.utime(file, ns=(10**18, 10**18 + count * 10**9))
        originals.append(Original(bare_photo(path=path), file))
    return originals


def _state(paths: list[Path]) -> list[tuple[bytes, int]]:
    return [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths]


def test_copies_have_the_bytes_and_the_times(files: list[Original], tmp_path: Path) -> None:
    paths = [file.path for file in files]
    before, folder = _state(paths), tmp_path / "new" / "folder"
    copied = copy_originals(files, folder)
    assert [path.name for path in copied.new] == ["1.jpg", "1 (2).jpg", "2.JPG", "2 (2).jpg", "3", "ü.jpg"]
    assert _state(copied.new) == before == _state(paths)
    assert len(os.listdir(folder)) == 6
    again = copy_originals(files, folder)
    assert (again.new, again.present) == ([], copied.new)


def test_nothing_is_overwritten(files: list[Original], tmp_path: Path) -> None:
    target, folder = tmp_path / "a.zip", tmp_path / "folder"
    folder.mkdir()
    (folder / "1.jpg").write_bytes(b"mine")
    (folder / "2.JPG").symlink_to("nowhere")
    (folder / "3").mkdir()
    copied = copy_originals(files, folder)
    assert (folder / "1.jpg").read_bytes() == b"mine"
    assert (folder / "2.JPG").is_symlink()
    assert sorted(path.read_bytes()[:1] for path in copied.new) == [bytes([count]) for count in range(6)]
    finishing = export.finished(target)
    finishing.__enter__().write_bytes(b"ours")
    target.write_bytes(b"theirs")  # appears meanwhile
    with pytest.raises(mc.InputError, match="never overwritten"):
        finishing.__exit__(None, None, None)
    assert target.read_bytes() == b"theirs"
    assert sorted(os.listdir(tmp_path)) == ["a.zip", "folder", "originals"]


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _half_a_copy(source: Path, target: Path) -> None:
    Path(target).write_bytes(Path(source).read_bytes()[:1000])
    _die()


def _link_and_die(source: Path, target: Path, link: Callable[..., None] = os.link) -> None:
    link(source, target)
    _die()


def _killed(work: Callable[[], object]) -> None:
    """Do the work in a process that kills itself."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize(("module", "name", "death"), [(shutil, "copyfile", _half_a_copy), (os, "link", _link_and_die)])
def test_a_killed_export_leaves_whole_files_and_is_continued(
    files: list[Original], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, death: Any
) -> None:
    paths = [file.path for file in files]
    before, folder, archive = _state(paths), tmp_path / "folder", tmp_path / "photos.zip"
    copy_originals(files[:2], folder)
    with monkeypatch.context() as patch:
        patch.setattr(module, name, death)
        _killed(lambda: copy_originals(files, folder))
        if module is os:
            _killed(lambda: write_zip(files, archive))
    contents = [content for content, _ in before]
    assert all(path.name.startswith(".") or path.read_bytes() in contents for path in folder.iterdir())
    copied = copy_originals(files, folder)
    assert len(copied.present) in (2, 3)
    assert len(copied.present) + len(copied.new) == len(os.listdir(folder)) == 6
    if not archive.exists():
        write_zip(files, archive)
    with zipfile.ZipFile(archive) as opened:
        assert [opened.read(entry) for entry in opened.namelist()] == contents
        assert opened.getinfo("1.jpg").date_time == datetime.fromtimestamp(10**9).timetuple()[:6]
    with pytest.raises(mc.InputError, match="never overwritten"):
        write_zip(files, archive)
    assert _state(paths) == before


def test_file_systems_without_links_and_full_ones(
    files: list[Original], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(number: int, *_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", partial(fail, errno.EPERM))
    assert len(copy_originals(files, tmp_path / "folder").new) == len(os.listdir(tmp_path / "folder")) == 6
    monkeypatch.setattr(shutil, "copyfile", partial(fail, errno.ENOSPC))
    with pytest.raises(mc.InputError, match="No space left on device"):
        copy_originals(files, tmp_path / "full")
    assert os.listdir(tmp_path / "full") == []


@given(
    st.lists(st.text(st.characters(codec=None) | st.sampled_from('/\\:.<> "'), min_size=1, max_size=300), max_size=8)
)
def test_names_are_unique_and_safe(paths: list[str]) -> None:
    names = unique_names(bare_photo(path=path) for path in paths)
    assert len({name.casefold() for name in names}) == len(names)
    for name in names:
        assert name == name.strip(" .") != ""
        assert not set(name) & {*'<>:"/\\|?*', *map(chr, range(32))}
        assert len(name.encode()) <= 200


def test_names_that_no_file_may_have() -> None:
    names = {"CON.jpg": "_CON.jpg", "..": "photograph", f"{'x' * 400}.jpg": f"{'x' * 176}.jpg"}
    assert {name: safe_name(name) for name in names} == names
