"""A model's vectors on disk, written batch by batch; model.json says how many are there."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.bench.datasets.folder import (
    ENCODED,
    MODEL,
    TEXTS,
    TOKENS,
    VECTORS,
    Stored,
    content,
    read_folder,
    slug,
    splits,
)  # fmt: skip
from mascot.bench.encode.scoring import best_lists
from mascot.bench.files import replace_text, replacing
from mascot.errors import require

Vectors = NDArray[np.float32]
Report = Callable[[str, int, int], None]

_BLOCK = 16 << 20  # bytes of stored vectors that are read at once
_SAME = ("fingerprint", "device", "data", "images", "queries", "tokens", "dim")


@dataclass(frozen=True, slots=True)
class EncodedModel:
    """model.json: whose vectors these are, and how many are there."""

    model: str
    fingerprint: str  # of the model's weights and settings, or of ready-made vectors
    device: str  # cpu or cuda (where the model runs in float16), onnx, or given
    data: str  # `mascot.bench.datasets.folder.content`
    images: int
    queries: int
    tokens: int  # vectors of an image
    dim: int
    masked: bool = True  # whether padding is masked in the text encoder
    images_done: int = 0
    texts_done: int = 0
    candidates: int = 0  # of each query's list; 0 before there are lists
    complete: bool = False

    @property
    def whole(self) -> bool:
        """Whether every vector is there."""
        return (self.images_done, self.texts_done) == (self.images, self.queries)

    def done(self, kind: str) -> int:
        """Return how many vectors of the images or texts are there."""
        return self.images_done if kind == "images" else self.texts_done

    def continues(self, other: EncodedModel) -> bool:
        """Whether the vectors of both may be in one file. The name of a model's folder may change."""
        return all(getattr(self, name) == getattr(other, name) for name in _SAME)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        images = {TOKENS: (self.images, self.tokens, self.dim), VECTORS: (self.images, self.dim)}
        return {**images, TEXTS: (self.queries, self.dim)}


def read_encoding(where: Path) -> EncodedModel | None:
    """Return model.json if the vectors it describes are there."""
    try:
        encoding = EncodedModel(**json.loads((where / MODEL).read_text("utf-8")))
        arrays = {name: np.load(where / name, mmap_mode="r", allow_pickle=False) for name in encoding.shapes}
    except (OSError, ValueError, TypeError):
        return None
    right = all(arrays[name].shape == shape for name, shape in encoding.shapes.items())
    return encoding if right and all(array.dtype == np.float32 for array in arrays.values()) else None


def save_encoding(where: Path, encoding: EncodedModel) -> EncodedModel:
    """Write model.json."""
    replace_text(where / MODEL, json.dumps(asdict(encoding), indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    return encoding


def begin(where: Path, encoding: EncodedModel) -> EncodedModel:
    """Make files with room for all vectors."""
    where.mkdir(parents=True, exist_ok=True)
    save_encoding(where, encoding)  # first, so that a count of old rows never stands beside new files
    for name, shape in encoding.shapes.items():
        (where / name).unlink(missing_ok=True)
        try:
            np.lib.format.open_memmap(where / name, mode="w+", dtype=np.float32, shape=shape)
        except OSError as error:
            raise _no_room(where / name, shape, error) from None
    return encoding


def append(where: Path, encoding: EncodedModel, kind: str, rows: Vectors) -> EncodedModel:
    """Write the vectors of the next images, [n, T, D], or texts, [n, D]; they count when they are safely on disk."""
    arrays = {TEXTS: rows}
    if kind == "images":
        mean = rows.mean(axis=1, dtype=np.float64)
        length = np.linalg.norm(mean, axis=-1, keepdims=True)
        if not length.all():
            raise mc.InputError("tokens must not average to zero: such an image looks like nothing")
        arrays = {TOKENS: rows, VECTORS: (mean / length).astype(np.float32)}
    done = encoding.done(kind)
    for name, values in arrays.items():
        _write(where / name, encoding.shapes[name], values, done)
    return save_encoding(where, replace(encoding, **{f"{kind}_done": done + len(rows)}))  # type: ignore[arg-type]


def write_lists(
    where: Path, stored: Stored, encoding: EncodedModel, candidates: int, report: Report | None = None
) -> None:
    """Write the lists of both splits, unless they are there with as many candidates."""
    parts = splits(stored)
    paths = {split: where / f"lists-{split}.npz" for split in parts}
    there = all(_has_lists(paths[split], len(queries), candidates) for split, (_, queries) in parts.items())
    if encoding.complete and encoding.candidates == candidates and there:
        return
    save_encoding(where, replace(encoding, candidates=0, complete=False))
    tokens, texts = (np.load(where / name, mmap_mode="r", allow_pickle=False) for name in (TOKENS, TEXTS))
    total, done = sum(len(queries) for _, queries in parts.values()), 0

    def progress(count: int, _: int) -> None:
        if report is not None:
            report("lists", done + count, total)

    for split, (rows, queries) in parts.items():
        lists = best_lists(tokens, texts, rows, queries, candidates, report=progress)
        try:
            with replacing(paths[split]) as stream:
                np.savez(stream, queries=lists.queries, rows=lists.rows, scores=lists.scores)
        except OSError as error:
            raise mc.InputError(f"{paths[split]} cannot be written ({error.strerror})") from None
        done += len(queries)
    save_encoding(where, replace(encoding, candidates=candidates, complete=True))


def store_vectors(
    folder: Path, model: str, tokens: Any, texts: Any, *, candidates: int = 200, report: Report | None = None
) -> Path:
    """Put vectors of your own beside a prepared folder, as `encode` would have made them; return their folder.

    They are stored as they are, in float32; make both unit length where scores are to be cosines. For `candidates`
    and `report` see `encode`.

    Parameters
    ----------
    model
        Their name: ``mascot bench run`` takes it as ``--model``.
    tokens
        [M, T, D], or [M, D] for one vector an image, in the order of images.parquet: an array, or a file opened with
        ``np.load(path, mmap_mode="r")``.
    texts
        [Q, D], in the order of queries.parquet.
    """
    require(candidates >= 1, "store_vectors.candidates", "must be >= 1", candidates)
    require(bool(slug(model)), "store_vectors.model", "must have a letter or a digit", model)
    stored = read_folder(folder)
    if len(tokens.shape) == 2:
        tokens = tokens[:, None, :]
    images, queries = stored.images, len(stored.queries)
    right = len(tokens.shape) == 3 and min(tokens.shape) >= 1 and tokens.shape[0] == images
    if not right or tuple(texts.shape) != (queries, tokens.shape[2]):
        raise mc.InputError(
            f"store_vectors needs tokens [{images}, T, D] and texts [{queries}, D], "
            f"got shapes {tuple(tokens.shape)} and {tuple(texts.shape)}"
        )
    where = folder / ENCODED / slug(model)
    digest = hashlib.sha256(repr((tuple(tokens.shape), tuple(texts.shape))).encode())
    for rows in chain(_blocks(tokens), _blocks(texts)):
        digest.update(rows.data)
    counts = (images, queries, int(tokens.shape[1]), int(tokens.shape[2]))
    fresh = EncodedModel(model, digest.hexdigest()[:16], "given", content(stored), *counts)
    encoding = read_encoding(where)
    if encoding is None or not encoding.whole or encoding.model != model or not encoding.continues(fresh):
        encoding = begin(where, fresh)
        for kind, vectors in (("images", tokens), ("texts", texts)):
            for rows in _blocks(vectors):
                encoding = append(where, encoding, kind, rows)
                if report is not None:
                    report(kind, encoding.done(kind), len(vectors))
    write_lists(where, stored, encoding, candidates, report)
    return where


def _has_lists(path: Path, queries: int, candidates: int) -> bool:
    try:
        with np.load(path, allow_pickle=False) as stored:
            shapes = [stored[name].shape for name in ("queries", "rows", "scores")]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return False
    return shapes == [(queries,), (queries, candidates), (queries, candidates)]


def _write(path: Path, shape: tuple[int, ...], rows: Vectors, first: int) -> None:
    """Write rows of a stored array, from the row `first` on."""
    if rows.shape[1:] != shape[1:] or first + len(rows) > shape[0]:
        raise mc.InputError(
            f"{path.name} must get rows of shape {shape[1:]} up to {shape[0]}, got {rows.shape} at {first}"
        )
    if not np.isfinite(rows).all():
        raise mc.InputError(
            f"{path.name} must be finite, got NaN or infinity in rows {first} to {first + len(rows) - 1}"
        )
    try:
        start = np.load(path, mmap_mode="r", allow_pickle=False).offset + first * rows[0].nbytes
        with open(path, "r+b") as stream:  # not a memory map: on a full disk it would end the process silently
            stream.seek(start)
            stream.write(np.ascontiguousarray(rows, np.float32).data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise _no_room(path, shape, error) from None


def _blocks(rows: Any) -> Iterator[Vectors]:
    step = max(1, _BLOCK // (4 * int(np.prod(rows.shape[1:]))))
    for start in range(0, rows.shape[0], step):
        yield np.ascontiguousarray(rows[start : start + step], np.float32)


def _no_room(path: Path, shape: tuple[int, ...], error: OSError) -> mc.InputError:
    size = 4 * int(np.prod(shape, dtype=np.int64)) / 1e6
    return mc.InputError(f"{path} cannot be written ({error.strerror}); it needs {size:,.1f} MB")
