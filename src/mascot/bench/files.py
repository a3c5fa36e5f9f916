"""Atomic writes of files, and hashes of files."""

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
    """Write a temporary file that is synced to disk and renamed to `path` at the end, or removed after an error."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def replace_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file of any size."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
