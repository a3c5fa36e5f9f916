"""Start `mascot serve` for a benchmark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

MASCOT = (sys.executable, "-m", "mascot.cli")


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of this process without settings of `mascot`, and with these variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MASCOT_")} | variables


@contextmanager
def serving(*options: str, **variables: str) -> Iterator[tuple[int, str]]:
    """Run `mascot serve` on a free port; yield its process id and its address."""
    command = [*MASCOT, "serve", "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment(**variables))
    try:
        assert process.stderr is not None
        words = process.stderr.readline().split()
        yield process.pid, next(word.rstrip("/") for word in words if word.startswith("http://"))
    finally:
        process.terminate()
        process.wait()
