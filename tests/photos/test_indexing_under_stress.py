"""Killed, interrupted, doubled, searched: the index is as if nothing had happened. Full disks: `benchmarks.torture`."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mascot.photos import Library
from mascot.photos.indexing.stages import interruptible
from tests.photos.bag_of_words import BagOfWords
from tests.photos.jpegs import small_library, write_jpeg
from tests.photos.libraries import count_rows, rows_of
from tests.retelling import wait_for

_SCRIPT = f"""
import hashlib, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what runs in the background ignore it
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
"""
_INDEX = """
import time
from tests.photos.bag_of_words import BagOfWords
from mascot.photos import Library
class Hanging(BagOfWords):
    def pictures(self, pictures):
        if len(self.encoded) >= int(sys.argv[2]):
            time.sleep(3600)
        return super().pictures(pictures)
with Library.open(sys.argv[1]) as library:
    done = library.index(Hanging())
    print(done.photos, done.new, flush=True)
"""
_COMMAND = """
from mascot.cli import main
from mascot.photos.encoders.lite import Lite

def pictures(self, pictures):
    print("encoding", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 1_000_000_000)  # minutes, and signals wait for its end
    print("encoded", flush=True)

Lite.pictures = pictures
sys.argv = ["mascot", "index", sys.argv[1], "--encoder", "lite"]
main()
"""


def _index(root: Path, hang_after: int = 1_000_000, script: str = _INDEX) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _SCRIPT + script, str(root), str(hang_after)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _content(root: Path) -> dict[str, tuple]:
    with Library.open(root) as library:
        assert library.store.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return rows_of(library)


def _content_of_new(root: Path) -> dict[str, tuple]:
    with Library(root) as library:
        library.index(BagOfWords())
    return _content(root)


def _folder(root: Path, count: int) -> Path:
    for i in range(count):
        write_jpeg(root / f"{i % 7}" / f"{i}.jpg", f"photograph {i}", "Lisbon", f"2019-07-{i % 28 + 1:02d}T10:00:00")
    return root


def test_killed_in_the_middle_and_resumed(tmp_path: Path) -> None:
    root = _folder(tmp_path / "killed", 60)
    shutil.copytree(root, tmp_path / "whole")
    process = _index(root, hang_after=8)  # after the first batch
    wait_for(lambda: count_rows(root) >= 8)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    partly = _content(root)
    assert 8 <= len(partly) < 60
    with Library(root) as library:
        summary = library.index(BagOfWords())
    assert (summary.photos, summary.new) == (60, 60 - len(partly))
    content = _content(root)
    assert content == _content_of_new(tmp_path / "whole")
    assert all(content[path][-2:] == row[-2:] for path, row in partly.items())


def test_two_processes_index_while_a_third_searches_and_a_file_vanishes(tmp_path: Path) -> None:
    root = _folder(tmp_path / "photos", 8)

    def report(step: str, count: int, total: int) -> None:
        if step == "indexing" and count == 0:
            (root / "1" / "1.jpg").unlink(missing_ok=True)

    with Library.open(root) as library:
        skipped = library.index(BagOfWords(), report=report).skipped
        assert {item.path.name: item.reason for item in skipped} == {
            "1.jpg": "cannot be read: No such file or directory"
        }
        for i in range(30):
            write_jpeg(root / "later" / f"{i}.jpg", f"later photograph {i}")
        shutil.copytree(root, tmp_path / "whole", ignore=shutil.ignore_patterns(".mascot"))
        processes = [_index(root) for _ in range(2)]
        while any(process.poll() is None for process in processes):
            assert len(library.search("later photograph", k=5, encoder=BagOfWords())) == 5
        outputs = [process.communicate() for process in processes]
        assert [process.returncode for process in processes] == [0, 0], outputs
        assert sorted(int(output.split()[1]) for output, _ in outputs) == [0, 30]  # the second had nothing to do
    assert _content(root) == _content_of_new(tmp_path / "whole")


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_does_not_wait_for_an_encoder_that_computes_for_minutes(tmp_path: Path) -> None:
    process = _index(small_library(tmp_path / "photos"), script=_COMMAND)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "encoding\n"
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "encoded" not in output
    assert process.returncode == 130
    assert errors == "mascot: stopped; what was indexed so far is kept, and the next run continues there\n"


def test_a_call_gives_its_result_or_its_error() -> None:
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)
    assert interruptible(threading.current_thread) is not threading.current_thread()
