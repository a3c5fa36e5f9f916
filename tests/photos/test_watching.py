"""`mascot index --watch`: notices what changes, ends with Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mascot.photos.files.watching import changes
from tests.photos.jpegs import write_jpeg
from tests.photos.libraries import count_rows
from tests.retelling import COMMAND, PATIENCE_S, environment, wait_for


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

    def wait(seconds: float) -> None:
        waits.append(seconds)
        steps[len(waits) - 1]()  # IndexError when all are done

    seen: list[int] = []
    with pytest.raises(IndexError):
        seen.extend(len(waits) for _ in changes(lambda: [tmp_path], 0.5, wait=wait))
    assert seen == [0, 1, 3, 5, 6]
    assert min(waits) >= 0.5


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_watching_survives_a_broken_file_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    write_jpeg(root / "a.jpg", "a")
    words = ["index", str(root), "--encoder", "lite", "--watch", "--interval", "0.2"]
    process = subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment()
    )
    try:
        wait_for(lambda: count_rows(root) == 1)
        (root / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
        write_jpeg(root / "b.jpg", "b")
        wait_for(lambda: count_rows(root) == 2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.communicate()
    assert "stopped; what was indexed so far is kept" in errors
    assert "Traceback" not in errors
