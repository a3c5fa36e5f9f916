"""Ready-made vectors, put where a model's would be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from mascot.bench.datasets.folder import ENCODED, content, read_folder, slug
from mascot.bench.encode.lists import Report, write_lists
from mascot.bench.encode.progress import Made, Vectors, add_images, add_texts, begin, read_made
from mascot.errors import InputError, require

_BLOCK = 16 << 20  # bytes


def store_vectors(
    folder: Path,
    model: str,
    tokens: Any,
    texts: Any,
    *,
    candidates: int = 200,
    device: str = "cpu",
    report: Report | None = None,
) -> Path:
    """Put vectors of your own beside a prepared folder, as `encode` would have made them.

    They are kept as they are, in float32; the score of an image is the largest dot product of one of its vectors
    with the query's, so both are unit length where cosines are meant.

    Parameters
    ----------
    folder
        As `mascot bench prepare` made it.
    model
        What to call them: ``mascot bench run`` takes it as ``--model``.
    tokens
        [M, T, D], or [M, D] for one vector an image, in the order of images.parquet: an array, or a file opened with
        ``np.load(path, mmap_mode="r")``.
    texts
        [Q, D], in the order of queries.parquet.
    candidates
        Images in each query's list, >= 1.
    device
        Where the lists are made: ``"cpu"``, ``"cuda"`` or ``"auto"``.
    report
        Called with ``"images"``, ``"texts"`` or ``"lists"``, how many are done, and how many there are.

    Returns
    -------
    Path
        The folder they lie in.
    """
    require(candidates >= 1, "store_vectors.candidates", "must be >= 1", candidates)
    require(bool(slug(model)), "store_vectors.model", "must have a letter or a digit", model)
    stored = read_folder(folder)
    if len(tokens.shape) == 2:
        tokens = tokens[:, None, :]
    images, queries = stored.images, len(stored.queries)
    right = len(tokens.shape) == 3 and min(tokens.shape) >= 1 and tokens.shape[0] == images
    if not right or tuple(texts.shape) != (queries, tokens.shape[2]):
        raise InputError(
            f"store_vectors needs tokens [{images}, T, D] and texts [{queries}, D], "
            f"got shapes {tuple(tokens.shape)} and {tuple(texts.shape)}"
        )
    where = folder / ENCODED / slug(model)
    digest = hashlib.sha256(repr((tuple(tokens.shape), tuple(texts.shape))).encode())
    for rows in chain(_blocks(tokens), _blocks(texts)):
        digest.update(rows.data)
    fresh = Made(
        model=model,
        fingerprint=digest.hexdigest()[:16],
        device="given",
        data=content(stored),
        images=images,
        queries=queries,
        tokens=int(tokens.shape[1]),
        dim=int(tokens.shape[2]),
    )
    made = read_made(where)
    if made is None or not made.whole or made.model != model or not made.continues(fresh):
        made = begin(where, fresh)
        for rows in _blocks(tokens):
            made = add_images(where, made, rows)
            _tell(report, "images", made.images_done, images)
        for rows in _blocks(texts):
            made = add_texts(where, made, rows)
            _tell(report, "texts", made.texts_done, queries)
    write_lists(where, stored, made, candidates, device, report)
    return where


def _blocks(rows: Any) -> Iterator[Vectors]:
    step = max(1, _BLOCK // (4 * int(np.prod(rows.shape[1:]))))
    for start in range(0, rows.shape[0], step):
        yield np.ascontiguousarray(rows[start : start + step], np.float32)


def _tell(report: Report | None, stage: str, done: int, total: int) -> None:
    if report is not None:
        report(stage, done, total)
