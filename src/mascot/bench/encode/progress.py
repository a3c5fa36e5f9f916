"""A model's vectors on disk, written batch by batch, and how many of them are there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mascot.bench.datasets.folder import MODEL, TEXTS, TOKENS, VECTORS
from mascot.bench.files import replace_text
from mascot.errors import InputError

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Made:
    """model.json: whose vectors these are, and how far they have come."""

    model: str
    fingerprint: str  # of the model's weights and settings, or of ready-made vectors
    device: str  # cpu or cuda (where the model runs in float16), onnx, or given
    data: str  # `mascot.bench.datasets.folder.content`
    images: int
    queries: int
    tokens: int  # vectors of an image
    dim: int
    images_done: int = 0
    texts_done: int = 0
    candidates: int = 0  # of each query's list; 0 before there are lists
    complete: bool = False

    @property
    def whole(self) -> bool:
        """Whether every vector is there."""
        return (self.images_done, self.texts_done) == (self.images, self.queries)

    def continues(self, other: Made) -> bool:
        """Whether the vectors of both may stand in one file. The name of a model's folder may change."""
        fields = ("fingerprint", "device", "data", "images", "queries", "tokens", "dim")
        return all(getattr(self, field) == getattr(other, field) for field in fields)


def read_made(where: Path) -> Made | None:
    """What model.json says, where the vectors it speaks of are there; otherwise None."""
    try:
        told = json.loads((where / MODEL).read_text("utf-8"))
        made = Made(**told)
        found = {name: np.load(where / name, mmap_mode="r", allow_pickle=False) for name in _shapes(made)}
    except (OSError, ValueError, TypeError):
        return None
    right = all(found[name].shape == shape and found[name].dtype == np.float32 for name, shape in _shapes(made).items())
    return made if right else None


def save_made(where: Path, made: Made) -> Made:
    """Write model.json, all of it or nothing."""
    replace_text(where / MODEL, json.dumps(asdict(made), indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    return made


def begin(where: Path, made: Made) -> Made:
    """Files with room for all vectors, in the place of any others."""
    where.mkdir(parents=True, exist_ok=True)
    # First, so that a count of old rows never stands beside new files.
    save_made(where, made)
    for name, shape in _shapes(made).items():
        (where / name).unlink(missing_ok=True)
        try:
            np.lib.format.open_memmap(where / name, mode="w+", dtype=np.float32, shape=shape)
        except OSError as error:
            raise _no_room(where / name, shape, error) from None
    return made


def add_images(where: Path, made: Made, tokens: Vectors) -> Made:
    """The next images' vectors [n, T, D]; they count when they are safely on disk."""
    _write(where, made, {TOKENS: tokens, VECTORS: _means(tokens)}, made.images_done)
    return save_made(where, replace(made, images_done=made.images_done + len(tokens)))


def add_texts(where: Path, made: Made, texts: Vectors) -> Made:
    """The next queries' vectors [n, D]."""
    _write(where, made, {TEXTS: texts}, made.texts_done)
    return save_made(where, replace(made, texts_done=made.texts_done + len(texts)))


def _shapes(made: Made) -> dict[str, tuple[int, ...]]:
    return {
        TOKENS: (made.images, made.tokens, made.dim),
        VECTORS: (made.images, made.dim),
        TEXTS: (made.queries, made.dim),
    }


def _write(where: Path, made: Made, arrays: Mapping[str, Vectors], row: int) -> None:
    for name, rows in arrays.items():
        shape = _shapes(made)[name]
        if rows.shape[1:] != shape[1:] or row + len(rows) > shape[0]:
            raise InputError(f"{name} must get rows of shape {shape[1:]} up to {shape[0]}, got {rows.shape} at {row}")
        if not np.isfinite(rows).all():
            raise InputError(f"{name} must be finite, got NaN or infinity in rows {row} to {row + len(rows) - 1}")
        path = where / name
        start = np.load(path, mmap_mode="r", allow_pickle=False).offset + row * rows[0].nbytes
        # Not through a memory map: on a full disk it would end the process without a word.
        try:
            with open(path, "r+b") as stream:
                stream.seek(start)
                stream.write(np.ascontiguousarray(rows, np.float32).data)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise _no_room(path, shape, error) from None


def _means(tokens: Vectors) -> Vectors:
    """The mean of each image's vectors, made unit length."""
    mean = tokens.mean(axis=1, dtype=np.float64)
    length = np.linalg.norm(mean, axis=-1, keepdims=True)
    if not length.all():
        raise InputError("tokens must not average to zero: such an image looks like nothing")
    return (mean / length).astype(np.float32)


def _no_room(path: Path, shape: tuple[int, ...], error: OSError) -> InputError:
    size = 4 * int(np.prod(shape, dtype=np.int64)) / 1e6
    return InputError(f"{path} cannot be written ({error.strerror}); it needs {size:,.1f} MB")
