"""`mascot index --watch`: notices what changes, survives a kill, ends with Ctrl-C."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("PIL", reason="needs the extra photos")
pytest.importorskip("pillow_heif", reason="needs the extra photos")

from jpegs import write_jpeg

from mascot.photos.watching import changes

_PATIENCE_S = 240  # a busy machine


def test_changes_are_noticed_once(tmp_path: Path) -> None:
    write_jpeg(tmp_path / "a.jpg", "a")
    waits: list[float] = []
    steps: list[Callable[[], object]] = [
        lambda: write_jpeg(tmp_path / "b.jpg", "b"),
        lambda: None,
        lambda: (tmp_path / "a.xmp").write_text("<x/>"),
        lambda: (tmp_path / "notes.txt").write_text("not a photograph"),
        lambda: (tmp_path / "b.jpg").unlink(),
        lambda: os.rename(tmp_path, tmp_path.with_name("away")),
    ]

    class Enough(Exception):
        """All steps are done."""

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) > len(steps):
            raise Enough
        steps[len(waits) - 1]()

    seen: list[int] = []

    def watch() -> None:
        for _ in changes(lambda: [tmp_path], 0.5, wait=wait):
            seen.append(len(waits))

    with pytest.raises(Enough):
        watch()
    assert seen == [0, 1, 3, 5, 6]
    assert min(waits) >= 0.5


def count(root: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{root}/.mascot/library.sqlite?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM photos").fetchone()[0])
    except sqlite3.OperationalError:
        return -1


def wait_for(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < limit, "nothing happened"
        time.sleep(0.05)


@contextmanager
def watching(root: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    words = ["index", str(root), "--encoder", "lite", "--watch", "--interval", "0.2"]
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "mascot.cli", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_watching_survives_a_kill_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    write_jpeg(root / "a.jpg", "a")
    with watching(root, tmp_path) as process:
        wait_for(lambda: count(root) == 1)
        write_jpeg(root / "b.jpg", "b")
        wait_for(lambda: count(root) == 2)
        for number in range(20):
            write_jpeg(root / f"more/{number}.jpg", f"photograph {number}")
        process.send_signal(signal.SIGKILL)
        process.wait()
    write_jpeg(root / "c.jpg", "c")
    with watching(root, tmp_path) as process:
        wait_for(lambda: count(root) == 23)
        (root / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
        write_jpeg(root / "d.jpg", "d")
        wait_for(lambda: count(root) == 24)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=_PATIENCE_S)
    assert "stopped; what was indexed so far is kept" in errors
    assert "Traceback" not in errors
