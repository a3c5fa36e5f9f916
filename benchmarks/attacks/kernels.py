"""Attacks on the compiled kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.attacks.frame import Arena, NotHere, Trial, attack


@attack("address and undefined-behaviour sanitizers find nothing in the kernel", rounds=3, short=0, limit_s=180)
def sanitized_kernel(arena: Arena) -> Iterator[Trial]:
    tests = Path(__file__).parents[2] / "tests"
    if arena.rounds == 0:
        raise NotHere("tests/kernels/test_sanitizers.py is one of the slow tests")
    if sys.platform != "linux" or not (shutil.which("cc") or shutil.which("gcc")) or not tests.is_dir():
        raise NotHere("needs a compiler, Linux and the tests")
    paths = os.pathsep.join([str(tests.parent / "src"), *filter(None, sys.path)])
    command = [sys.executable, str(tests / "sanitize.py")]
    options: dict[str, Any] = {"capture_output": True, "text": True, "env": os.environ | {"PYTHONPATH": paths}}
    names = subprocess.run([*command, "--list"], check=True, **options).stdout.split()
    for name in names[: arena.rounds]:
        done = subprocess.run([*command, name], **options)
        yield Trial(name, done.returncode == 0, done.stdout[-300:], done.stdout.splitlines()[-1])
