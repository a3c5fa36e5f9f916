"""A model's vectors on disk, written batch by batch; model.json says how many are there."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from mascot.bench.datasets import folder as folders
from mascot.bench.datasets.folder import TEXTS, TOKENS, VECTORS, Stored
from mascot.bench.encode.scoring import Report, Vectors, best_lists, blocks
from mascot.bench.files import replace_text, replacing
from mascot.errors import InputError, require

_SAME = ("fingerprint", "device", "data", "images", "queries", "tokens", "dim")


@dataclass(frozen=True, slots=True)
class EncodedModel:
    """model.json: whose vectors these are, and how many are there."""

    model: str
    fingerprint: str  # of the model's weights and settings, or of ready-made vectors
    device: str  # cpu or cuda (where the model runs in float16), or given
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
    def shapes(self) -> dict[str, tuple[int, ...]]:
        images = {TOKENS: (self.images, self.tokens, self.dim), VECTORS: (self.images, self.dim)}
        return {**images, TEXTS: (self.queries, self.dim)}


def read_encoding(where: Path) -> EncodedModel | None:
    """Return model.json if the vectors it describes are there."""
    try:
        encoding = EncodedModel(**json.loads((where / folders.MODEL).read_text("utf-8")))
        arrays = {name: np.load(where / name, mmap_mode="r", allow_pickle=False) for name in encoding.shapes}
    except (OSError, ValueError, TypeError):
        return None
    forms = {name: (np.float32, shape) for name, shape in encoding.shapes.items()}
    return encoding if {name: (array.dtype, array.shape) for name, array in arrays.items()} == forms else None


def resume(where: Path, fresh: EncodedModel) -> EncodedModel:
    """Return the state of the work: as it was left, or at the beginning, with files that have room for all vectors.

    Vectors of the same weights, data and kind of device are continued; those of a model of the same name are refused.
    """
    encoding = read_encoding(where)
    if encoding is not None:
        if all(getattr(encoding, name) == getattr(fresh, name) for name in _SAME):
            if encoding.masked != fresh.masked:
                encoding = replace(encoding, masked=fresh.masked, texts_done=0, complete=False)
            return _save(where, replace(encoding, model=fresh.model))
        if encoding.images_done and encoding.fingerprint != fresh.fingerprint and encoding.model != fresh.model:
            clash = f"{where} holds the vectors of {encoding.model}, and {fresh.model} would have the same name there"
            raise InputError(f"{clash}: remove it, or give this model's folder another name")
    where.mkdir(parents=True, exist_ok=True)
    _save(where, fresh)  # first, so that a count of old rows never stands beside new files
    for name, shape in fresh.shapes.items():
        (where / name).unlink(missing_ok=True)
        np.lib.format.open_memmap(where / name, mode="w+", dtype=np.float32, shape=shape)
    return fresh


def append(where: Path, encoding: EncodedModel, kind: str, batches: Iterable[Vectors], report: Report) -> EncodedModel:
    """Write the vectors of the next images, [n, T, D], or texts, [n, D]; they count when they are safely on disk."""
    for rows in batches:
        arrays = {TEXTS: rows}
        if kind == "images":
            mean = rows.mean(axis=1, dtype=np.float64)
            length = np.linalg.norm(mean, axis=-1, keepdims=True)
            if not length.all():
                raise InputError("tokens must not average to zero: such an image looks like nothing")
            arrays = {TOKENS: rows, VECTORS: (mean / length).astype(np.float32)}
        first = encoding.images_done if kind == "images" else encoding.texts_done
        end = first + len(rows)
        for name, values in arrays.items():
            if not np.isfinite(values).all():
                raise InputError(f"{name} must be finite, got NaN or infinity in rows {first} to {end - 1}")
            offset = np.load(where / name, mmap_mode="r", allow_pickle=False).offset
            with open(where / name, "r+b") as stream:  # a memory map would end the process on a full disk
                stream.seek(offset + first * values[0].nbytes)
                stream.write(np.ascontiguousarray(values, np.float32).data)
                stream.flush()
                os.fsync(stream.fileno())
        encoding = _save(where, replace(encoding, **{f"{kind}_done": end}))  # type: ignore[arg-type]
        report(kind, end, encoding.images if kind == "images" else encoding.queries)
    return encoding


def write_lists(where: Path, stored: Stored, encoding: EncodedModel, candidates: int, report: Report) -> None:
    """Write the lists of both splits, unless they are there with as many candidates."""
    splits = folders.splits(stored)
    paths = {split: where / f"lists-{split}.npz" for split in splits}
    stale = not encoding.complete or encoding.candidates != candidates
    if not stale and all(_has_lists(paths[split], len(splits[split][1]), candidates) for split in splits):
        return
    _save(where, replace(encoding, candidates=0, complete=False))
    tokens, texts = (np.load(where / name, mmap_mode="r", allow_pickle=False) for name in (TOKENS, TEXTS))
    start, total = 0, sum(len(queries) for _, queries in splits.values())
    for split, (rows, queries) in splits.items():
        progress = partial(lambda start, count, _: report("lists", start + count, total), start)
        lists = best_lists(tokens, texts, rows, queries, candidates, report=progress)
        with replacing(paths[split]) as stream:
            np.savez(stream, queries=lists.queries, rows=lists.rows, scores=lists.scores)
        start += len(queries)
    _save(where, replace(encoding, candidates=candidates, complete=True))


def store_vectors(
    folder: Path, model: str, tokens: Any, texts: Any, *, candidates: int = 200, report: Report = lambda *_: None
) -> Path:
    """Put vectors of your own beside a prepared folder, as `encode` would have made them; return their folder.

    `model` is their name, which ``mascot bench run`` takes as ``--model``. `tokens` are [M, T, D], or [M, D] for one
    vector an image, in the order of images.parquet, `texts` [Q, D], in the order of queries.parquet: arrays, or files
    opened with ``np.load(path, mmap_mode="r")``. They are stored as they are, in float32; make both unit length where
    scores are to be cosines. For `candidates` and `report` see `encode`.
    """
    require(candidates >= 1, "store_vectors.candidates", "must be >= 1", candidates)
    require(bool(folders.slug(model)), "store_vectors.model", "must have a letter or a digit", model)
    stored = folders.read_folder(folder)
    if len(tokens.shape) == 2:
        tokens = tokens[:, None, :]
    images, queries = stored.images, len(stored.queries)
    right = len(tokens.shape) == 3 and min(tokens.shape) >= 1 and tokens.shape[0] == images
    if not right or texts.shape != (queries, tokens.shape[2]):
        needed = f"tokens [{images}, T, D] and texts [{queries}, D]"
        raise InputError(f"store_vectors needs {needed}, got shapes {tokens.shape} and {texts.shape}")
    where = folder / folders.ENCODED / folders.slug(model)
    digest = hashlib.sha256(repr((tokens.shape, texts.shape)).encode())
    for rows in chain(blocks(tokens), blocks(texts)):
        digest.update(rows.data)
    counts = (images, queries, int(tokens.shape[1]), int(tokens.shape[2]))
    encoding = resume(where, EncodedModel(model, digest.hexdigest()[:16], "given", folders.content(stored), *counts))
    encoding = append(where, encoding, "images", blocks(tokens[encoding.images_done :]), report)
    encoding = append(where, encoding, "texts", blocks(texts[encoding.texts_done :]), report)
    write_lists(where, stored, encoding, candidates, report)
    return where


def _save(where: Path, encoding: EncodedModel) -> EncodedModel:
    text = json.dumps(asdict(encoding), indent=2, sort_keys=True, ensure_ascii=False)
    replace_text(where / folders.MODEL, f"{text}\n")
    return encoding


def _has_lists(path: Path, queries: int, candidates: int) -> bool:
    try:
        with np.load(path, allow_pickle=False) as stored:
            shapes = [stored[name].shape for name in ("queries", "rows", "scores")]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return False
    return shapes == [(queries,), (queries, candidates), (queries, candidates)]
