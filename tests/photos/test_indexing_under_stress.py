"""Killed, doubled, searched: the index is as if nothing had happened. Full disks are in `benchmarks.torture`."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from bag_of_words import BagOfWords
from jpegs import small_library, write_jpeg

from mascot.photos import Library

_HERE = Path(__file__).parent
_SLOW = """
import sys
sys.path.insert(0, {here!r})
from bag_of_words import BagOfWords
from mascot.photos import Library
with Library.open(sys.argv[1]) as library:
    done = library.index(BagOfWords(pause_s=float(sys.argv[2])))
    print(done.photos, done.new, flush=True)
"""


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def _index(root: Path, pause_s: float = 0.0) -> subprocess.Popen[str]:
    script = _SLOW.format(here=str(_HERE))
    command = [sys.executable, "-c", script, str(root), str(pause_s)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _content(root: Path) -> dict[str, tuple]:
    with Library.open(root) as library:
        assert library.store.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        query = (
            "SELECT path, hash, lat, lon, taken, city, moment, caption, thumbnail, look, stamp, vector FROM photos "
            "LEFT JOIN pixels ON pixels.photo = id LEFT JOIN vectors ON vectors.photo = id"
        )
        return {row["path"]: tuple(row) for row in library.store.connection.execute(query)}


def _content_of_new(root: Path) -> dict[str, tuple]:
    with Library(root) as library:
        library.index(BagOfWords())
    return _content(root)


def _folder(root: Path, count: int) -> Path:
    for i in range(count):
        write_jpeg(
            root / f"{i % 7}" / f"{i}.jpg", f"photograph number {i}", "Lisbon", f"2019-07-{i % 28 + 1:02d}T10:00:00"
        )
    return root


def test_killed_in_the_middle_and_resumed(tmp_path: Path) -> None:
    root = _folder(tmp_path / "killed", 80)
    shutil.copytree(root, tmp_path / "whole")
    process = _index(root, pause_s=0.03)
    until = time.monotonic() + 240
    while _count(root / ".mascot" / "library.sqlite") < 8 and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL
    partly = _content(root)
    assert 8 <= len(partly) < 80
    with Library(root) as library:
        summary = library.index(BagOfWords())
    assert (summary.photos, summary.new) == (80, 80 - len(partly))
    content = _content(root)
    assert content == _content_of_new(tmp_path / "whole")
    assert all(content[path][-2:] == row[-2:] for path, row in partly.items())


def _count(database: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)) as connection:
            return int(connection.execute("SELECT count(*) FROM photos").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_two_processes_at_once(tmp_path: Path) -> None:
    root = _folder(tmp_path / "both", 24)
    shutil.copytree(root, tmp_path / "one")
    processes = [_index(root, pause_s=0.005) for _ in range(2)]
    outputs = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert sorted(int(output.split()[1]) for output, _ in outputs) == [0, 24]  # the second had nothing to do
    assert _content(root) == _content_of_new(tmp_path / "one")


def test_searching_while_another_process_indexes(tmp_path: Path) -> None:
    root = _folder(tmp_path / "photos", 30)
    with Library.open(root) as library:
        library.index(BagOfWords())
        for i in range(60):
            write_jpeg(root / "later" / f"{i}.jpg", f"later photograph {i}")
        process = _index(root, pause_s=0.04)
        sizes = set()
        while process.poll() is None:
            found = library.search("later photograph", k=5, encoder=BagOfWords())
            assert len(found) == 5
            sizes.add(library.store.count())
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        assert library.store.count() == 90
        assert len(sizes) > 1


def test_a_file_that_vanishes_while_indexing(tmp_path: Path) -> None:
    root = small_library(tmp_path / "photos")

    def report(step: str, count: int, total: int) -> None:
        if step == "indexing" and count == 0:
            (root / "Tokyo" / "t3.jpg").unlink(missing_ok=True)

    with Library.open(root) as library:
        done = library.index(BagOfWords(), report=report)
    assert done.photos == 29
    assert [(item.path.name, item.reason) for item in done.skipped] == [
        ("t3.jpg", "cannot be read: No such file or directory")
    ]


def test_bad_files_are_skipped_with_reasons(tmp_path: Path) -> None:
    root = small_library(tmp_path / "photos")
    (root / "zero.jpg").touch()
    (root / "text.jpg").write_text("not an image")
    whole = (root / "plain0.jpg").read_bytes()
    (root / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    with Library.open(root) as library:
        done = library.index(BagOfWords())
        reasons = {item.path.name: item.reason for item in done.skipped}
        assert set(reasons) == {"zero.jpg", "text.jpg", "cut.jpg"}
        assert "empty" in reasons["zero.jpg"]
        assert "not an image" in reasons["text.jpg"]
        assert done.photos == 30
