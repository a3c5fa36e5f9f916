"""Converted models in the cache folder of the user, each with a checksum."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from mascot.photos.encoders.fingerprints import fingerprint_of


def converted(source: Path, name: str, version: int, convert: Callable[[], bytes]) -> bytes:
    """Return the content of a converted model: from the cache if its checksum is right, else converted now.

    A cache that cannot be written to costs the conversion (about 0.2 s) each time.
    """
    path = cache_folder() / f"{name}-{fingerprint_of([source], (name, version))}.onnx"
    checksum = path.with_suffix(".sha256")
    with contextlib.suppress(OSError, ValueError):
        model = path.read_bytes()
        if checksum.read_text("ascii") == _line(model, path):
            return model
    model = convert()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, model)
        _write(checksum, _line(model, path).encode("ascii"))
    return model


def cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/mascot`, or `~/.cache/mascot`."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "mascot"


def _line(model: bytes, path: Path) -> str:
    """Return the line that `sha256sum` prints."""
    return f"{hashlib.sha256(model).hexdigest()}  {path.name}\n"


def _write(path: Path, content: bytes) -> None:
    """Replace the file atomically: another process may be reading it."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        try:
            file.write(content)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
