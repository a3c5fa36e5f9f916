"""Preparations against a server on this machine: run, killed in the middle, and what they leave."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image
from range_server import local_web

from mascot.bench.prepare import recipes

_CODE = """
import json, sys
from mascot.bench.prepare.recipes import prepare
from mascot.bench.prepare.web import Web
name, out, options = json.loads(sys.argv[1])
prepare(name, out, web=Web(retries=2, pause=0.01, allow_private=True), **options)
"""


def prepare(name: str, out: Path, **options: Any) -> None:
    """Prepare with a client that may connect to this machine."""
    recipes.prepare(name, out, web=local_web(), **options)


def kill(name: str, out: Path, when: Callable[[], bool], **options: Any) -> None:
    """Prepare in another process, and kill it when something is the case: it gets no chance to tidy up."""
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
    """All that was made, without the work folder."""
    paths = sorted(path for path in out.rglob("*") if path.is_file())
    names = {path.relative_to(out).as_posix(): path for path in paths}
    return {name: path.read_bytes() for name, path in names.items() if not name.startswith("work/")}


def losses(out: Path) -> dict[str, dict[str, int]]:
    """How many items each step lost, by reason."""
    return {step["step"]: step["lost"] for step in json.loads((out / "dataset.json").read_text())["steps"]}


def jpeg(number: int = 0, size: tuple[int, int] = (50, 40), noise: bool = False, **options: Any) -> bytes:
    """A picture in a colour of its own, or noise, which makes a large file."""
    stream = io.BytesIO()
    image = Image.effect_noise(size, 90).convert("RGB") if noise else Image.new("RGB", size, (number % 256, 90, 60))
    image.save(stream, "JPEG", quality=95, **options)
    return stream.getvalue()
