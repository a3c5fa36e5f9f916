"""A preparation in a process of its own, killed in the middle; and what it leaves, file by file."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CODE = """
import json, sys
from mascot.bench.prepare.recipes import prepare
from mascot.bench.prepare.web import Web
name, out, options = json.loads(sys.argv[1])
prepare(name, out, web=Web(timeout=5.0, retries=2, pause=0.01, allow_private=True), **options)
"""


def kill(name: str, out: Path, when: Callable[[], bool], **options: Any) -> None:
    """Until something is the case; then it gets no chance to tidy up."""
    words = json.dumps([name, str(out), options])
    process = subprocess.Popen([sys.executable, "-c", _CODE, words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 180
        while not when():
            assert process.poll() is None, f"ended before the kill: {process.communicate()[1].decode()}"
            assert time.monotonic() < until
            time.sleep(0.001)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL


def files(out: Path) -> dict[str, bytes]:
    """All that was made, but for the notes in between."""
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.relative_to(out).parts[0] != "work"
    }
