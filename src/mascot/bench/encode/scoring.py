"""The best images of each query: the largest dot product over an image's vectors, in blocks that fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mascot.errors import InputError, require

Vectors = NDArray[np.float32]
Ints = NDArray[np.int64]
Report = Callable[..., None]  # called with a count and the total, after the stage if there are several

_QUERIES = 512  # at once, at most
_SCORES = 64 << 20  # bytes of the scores of a block of queries with all images
_TOKENS = 64 << 20  # bytes of a block of images
_DOTS = 16 << 20  # bytes of dot products: what the cache holds is fastest


@dataclass(frozen=True, slots=True, eq=False)
class BestLists:
    """The images that q queries find, best first; of equal scores the lower row is first."""

    queries: Ints  # [q]
    rows: NDArray[np.int32]  # [q, n], -1 after the end
    scores: Vectors  # [q, n], -inf after the end


def best_lists(
    tokens: Any, texts: Any, rows: ArrayLike, queries: ArrayLike, n: int, *, report: Report = lambda *_: None
) -> BestLists:
    """Return the n best images of each query by the largest dot product over the image's vectors.

    `tokens` are image vectors [M, T, D] or [M, D], `texts` query vectors [Q, D]: arrays, or files opened with
    ``np.load(path, mmap_mode="r")``. `rows` are the images that can be found, `queries` those that are asked.

    Every image gets a fast score; those that may be among the best n are then scored by sums that do not depend on
    the place of an image in a block. So the lists are the same for every size of the blocks.

    >>> tokens = np.array([[[0, 1], [1, 0]], [[0, 1], [0, 1]], [[1, 0], [0, 1]]], np.float32)
    >>> lists = best_lists(tokens, np.array([[0.5, 0.25]]), rows=[0, 1, 2], queries=[0], n=2)
    >>> lists.rows.tolist(), lists.scores.tolist()
    ([[0, 2]], [[0.5, 0.5]])
    """
    require(n >= 1, "best_lists.n", "must be >= 1", n)
    if len(tokens.shape) == 2:
        tokens = tokens[:, None, :]
    if len(tokens.shape) != 3 or len(texts.shape) != 2 or tokens.shape[2] != texts.shape[1]:
        shapes = f"{tokens.shape} and {texts.shape}"
        raise InputError(f"best_lists needs tokens [M, T, D] and texts [Q, D], got shapes {shapes}")
    pool, questions = np.unique(_inside("rows", rows, len(tokens))), _inside("queries", queries, len(texts))
    size = max(1, min(_QUERIES, _SCORES // (4 * max(1, len(pool)))))
    squares = [np.einsum("itd,itd->it", block, block).max() for block in blocks(tokens, pool)]
    # Four times the error of a sum of D products of float32: both scores are off by one, and so is the nth.
    error = 4 * 2.0**-24 * tokens.shape[2] * float(max(squares, default=0.0)) ** 0.5
    shape = (len(questions), n)
    lists = BestLists(questions, np.full(shape, -1, np.int32), np.full(shape, -np.inf, np.float32))
    for start in range(0, len(questions), size):
        block = np.asarray(texts[questions[start : start + size]], np.float32)
        margins = error * np.linalg.norm(block, axis=1)
        fast = _fast_scores(block, tokens, pool)
        for at, (text, values, margin) in enumerate(zip(block, fast, margins, strict=True), start):
            cut = np.partition(values, len(values) - n)[len(values) - n] if n < len(values) else -np.inf
            near = pool[values >= cut - margin]
            # Not a matrix product: BLAS sums an image at the edge of a block in another order.
            sums = [np.einsum("itd,d->it", part, text).max(axis=1) for part in blocks(tokens, near)]
            scores = np.concatenate([np.empty(0, np.float32), *sums])
            best = np.argsort(-scores, kind="stable")[:n]
            lists.rows[at, : len(best)], lists.scores[at, : len(best)] = near[best], scores[best]
        report(min(start + size, len(questions)), len(questions))
    return lists


def blocks(vectors: Any, rows: Ints | None = None, most: int = 1 << 40) -> Iterator[Vectors]:
    """Yield blocks of at most `most` rows (default: of all); without a copy if the rows are contiguous."""
    rows = np.arange(len(vectors)) if rows is None else rows
    step = max(1, min(most, _TOKENS // (4 * int(np.prod(vectors.shape[1:])))))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        consecutive = part[-1] - part[0] == len(part) - 1
        block = vectors[int(part[0]) : int(part[-1]) + 1] if consecutive else vectors[part]
        yield np.ascontiguousarray(block, np.float32)


def _fast_scores(texts: Vectors, tokens: Any, pool: Ints) -> Vectors:
    """Return scores [q, images of the pool], in an order of sums that depends on the blocks."""
    scores = [np.empty((len(texts), 0), np.float32)]
    for block in blocks(tokens, pool, _DOTS // (4 * len(texts) * tokens.shape[1])):
        # Images before queries: the largest of T rows is found several times as fast as that of T neighbours.
        dots = block.reshape(-1, block.shape[2]) @ np.ascontiguousarray(texts.T)
        scores.append(dots.reshape(len(block), block.shape[1], len(texts)).max(axis=1).T)
    joined = np.concatenate(scores, axis=1)
    if not np.isfinite(joined).all():
        raise InputError("best_lists needs finite tokens and texts, got NaN or infinity")
    return joined


def _inside(name: str, values: ArrayLike, count: int) -> Ints:
    array = np.asarray(values, np.int64)
    outside = array[(array < 0) | (array >= count)]
    if len(outside):
        raise InputError(f"best_lists.{name} must be between 0 and {count - 1}, got {int(outside[0])}")
    return array
