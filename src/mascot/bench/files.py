"""Atomic writes of files, JSON files, hashes of files, and a lock file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from mascot.errors import InputError
from mascot.extras import package


@contextmanager
def alone(lock: Path, busy: str) -> Iterator[None]:
    """Hold the lock file, or raise `InputError(busy)`. The lock of a killed process is released."""
    filelock = package("filelock", "photos", "preparing and encoding datasets")
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = filelock.FileLock(lock).acquire(timeout=0)
    except filelock.Timeout:
        raise InputError(busy) from None
    with handle:
        yield


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


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or an empty dictionary if it is absent or unreadable."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file of any size."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
