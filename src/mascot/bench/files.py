"""Files that are whole or absent, and their hashes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_BLOCK = 1 << 20


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file to the side; it is moved into place when it is safely on disk, and removed if that fails."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(aside, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def replace_text(path: Path, text: str) -> None:
    """Write a text, all of it or nothing."""
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))


def sha256(path: Path) -> str:
    """The hash of a file of any size."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
