"""Ctrl-C ends `mascot index` while an encoder computes for minutes without looking at signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from jpegs import small_library

from mascot.photos.indexing.stages import interruptible

_INDEX = """
import hashlib, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what runs in the background ignore it
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


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_does_not_wait_for_the_encoder(tmp_path: Path) -> None:
    root = small_library(tmp_path / "photos")
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", _INDEX, str(root)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "encoding\n"
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "encoded" not in output
    assert process.returncode == 2
    assert errors == "mascot: stopped; what was indexed so far is kept, and the next run continues there\n"


def test_a_call_gives_its_result_or_its_error() -> None:
    assert interruptible(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)
    assert interruptible(threading.current_thread) is not threading.current_thread()
