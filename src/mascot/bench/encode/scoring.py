"""The best images of each query: the largest dot product over an image's vectors, in blocks that fit in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mascot.errors import InputError, MissingExtra, require

Vectors = NDArray[np.float32]
Ints = NDArray[np.int64]

_QUERIES = 512  # at once, at most
_SCORES = 64 << 20  # bytes of the scores of a block of queries with all images
_TOKENS = 64 << 20  # bytes of a block of images
_DOTS = {"cpu": 16 << 20, "cuda": 128 << 20}  # bytes of dot products; on a CPU what its cache holds is fastest


@dataclass(frozen=True, slots=True, eq=False)
class BestLists:
    """The images that q queries find, best first; equal scores keep the lower row first."""

    queries: Ints  # [q]
    rows: NDArray[np.int32]  # [q, n], -1 behind the end
    scores: Vectors  # [q, n], -inf behind the end


def best_lists(
    tokens: Any,
    texts: Any,
    rows: ArrayLike,
    queries: ArrayLike,
    n: int,
    *,
    device: str = "cpu",
    report: Callable[[int, int], None] | None = None,
) -> BestLists:
    """The n best images of each query by the largest dot product over the image's vectors.

    Every image is scored fast; those that may belong to the best n are then scored by sums that do not depend on
    where an image stands, and these scores count. So equal images have equal scores, and the lists are the same on
    every device and for every size of the blocks.

    Parameters
    ----------
    tokens
        [M, T, D] or [M, D] image vectors: an array, or a file opened with ``np.load(path, mmap_mode="r")``.
    texts
        [Q, D] query vectors, likewise.
    rows
        The images that can be found.
    queries
        The queries that are asked.
    n
        Images in a list, >= 1.
    device
        ``"cpu"``; ``"cuda"`` scores on the GPU, through torch; ``"auto"`` does where there are both.
    report
        Called with the queries done and the queries in all.

    Examples
    --------
    >>> tokens = np.array([[[0, 1], [1, 0]], [[0, 1], [0, 1]], [[1, 0], [0, 1]]], np.float32)
    >>> found = best_lists(tokens, np.array([[0.5, 0.25]]), rows=[0, 1, 2], queries=[0], n=2)
    >>> found.rows.tolist(), found.scores.tolist()
    ([[0, 2]], [[0.5, 0.5]])
    """
    require(n >= 1, "best_lists.n", "must be >= 1", n)
    if len(tokens.shape) == 2:
        tokens = tokens[:, None, :]
    if len(tokens.shape) != 3 or len(texts.shape) != 2 or tokens.shape[2] != texts.shape[1]:
        raise InputError(
            f"best_lists needs tokens [M, T, D] and texts [Q, D], got shapes {tokens.shape} and {texts.shape}"
        )
    pool = np.unique(_inside("rows", rows, len(tokens)))
    asked = _inside("queries", queries, len(texts))
    fast = _fast(device)
    size = max(1, min(_QUERIES, _SCORES // (4 * max(1, len(pool)))))
    longest = _longest(tokens, pool)
    found = np.full((len(asked), n), -1, np.int32)
    scores = np.full((len(asked), n), -np.inf, np.float32)
    for start in range(0, len(asked), size):
        block = np.asarray(texts[asked[start : start + size]], np.float32)
        rough = _rough(fast, block, tokens, pool)
        # Four times the error of a sum of D products of float32: both scores are off by one, and so is the nth.
        margins = 4 * 2.0**-24 * tokens.shape[2] * longest * np.linalg.norm(block, axis=1)
        for at, (text, values, margin) in enumerate(zip(block, rough, margins, strict=True), start):
            near = pool[_near(values, n, margin)]
            sums = _sums(text, tokens, near)
            best = np.argsort(-sums, kind="stable")[:n]
            found[at, : len(best)], scores[at, : len(best)] = near[best], sums[best]
        if report is not None:
            report(min(start + size, len(asked)), len(asked))
    return BestLists(asked, found, scores)


def _rough(fast: _Fast, texts: Vectors, tokens: Any, pool: Ints) -> Vectors:
    """[q, images of the pool]."""
    scores = np.empty((len(texts), len(pool)), np.float32)
    image = 4 * tokens.shape[1]
    step = max(1, min(fast.dots // (image * len(texts)), _TOKENS // (image * tokens.shape[2])))
    for start in range(0, len(pool), step):
        scores[:, start : start + step] = fast.score(texts, _block(tokens, pool[start : start + step]))
    if not np.isfinite(scores).all():
        raise InputError("best_lists needs finite tokens and texts, got NaN or infinity")
    return scores


def _near(scores: Vectors, n: int, margin: float) -> Ints:
    """Positions of all that may be among the best n, rising."""
    if n >= len(scores):
        return np.arange(len(scores))
    cut = np.partition(scores, len(scores) - n)[len(scores) - n]
    return np.flatnonzero(scores >= cut - margin)


def _sums(text: Vectors, tokens: Any, rows: Ints) -> Vectors:
    """The scores that count, [rows]."""
    step = max(1, _TOKENS // (4 * tokens.shape[1] * tokens.shape[2]))
    blocks = (_block(tokens, rows[start : start + step]) for start in range(0, len(rows), step))
    # Not a matrix product: BLAS sums an image at the edge of a block in another order.
    sums = [np.einsum("itd,d->it", block, text).max(axis=1) for block in blocks]
    return np.concatenate([np.empty(0, np.float32), *sums])


def _longest(tokens: Any, pool: Ints) -> float:
    step = max(1, _TOKENS // (4 * tokens.shape[1] * tokens.shape[2]))
    blocks = (_block(tokens, pool[start : start + step]) for start in range(0, len(pool), step))
    return max((float(np.einsum("itd,itd->it", block, block).max()) for block in blocks), default=0.0) ** 0.5


def _block(tokens: Any, rows: Ints) -> Vectors:
    """Some images' vectors, [i, T, D]; without a copy where the rows follow one another."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return np.ascontiguousarray(tokens[int(rows[0]) : int(rows[-1]) + 1], np.float32)
    return np.ascontiguousarray(tokens[rows], np.float32)


@dataclass(frozen=True, slots=True)
class _Fast:
    score: Callable[[Vectors, Vectors], Vectors]  # [q, D] and [i, T, D] to [q, i]
    dots: int  # bytes of dot products that are best made at once


def _fast(device: str) -> _Fast:
    where = _place(device)
    if where == "cpu":
        return _Fast(_on_cpu, _DOTS["cpu"])
    import torch

    def score(texts: Vectors, tokens: Vectors) -> Vectors:
        with torch.inference_mode():
            given = torch.from_numpy(tokens.reshape(-1, tokens.shape[2]).copy()).to(where)
            dots = given @ torch.from_numpy(texts).to(where).T
            found: Vectors = dots.view(len(tokens), tokens.shape[1], len(texts)).amax(1).T.cpu().numpy()
            return found

    return _Fast(score, _DOTS["cuda"])


def _on_cpu(texts: Vectors, tokens: Vectors) -> Vectors:
    # Images before queries: the largest of T rows is found several times as fast as that of T neighbours.
    dots = tokens.reshape(-1, tokens.shape[2]) @ np.ascontiguousarray(texts.T)
    best: Vectors = dots.reshape(len(tokens), tokens.shape[1], len(texts)).max(axis=1).T
    return best


def _place(device: str) -> str:
    """`cpu`, which needs numpy alone, or the GPU as torch calls it."""
    known = device in ("auto", "cpu") or device.partition(":")[0] == "cuda"
    require(known, "device", "must be auto, cpu or cuda", device)
    if device == "cpu" or (device == "auto" and find_spec("torch") is None):
        return "cpu"
    try:
        import torch
    except ImportError:
        raise MissingExtra(f"device {device} needs the package torch: pip install 'mascot[clip]'") from None
    gpu = torch.cuda.is_available()
    require(gpu or device == "auto", "device", "must be auto or cpu where torch finds no GPU", device)
    return device if device != "auto" else "cuda" if gpu else "cpu"


def _inside(name: str, values: ArrayLike, count: int) -> Ints:
    array = np.asarray(values, np.int64)
    outside = array[(array < 0) | (array >= count)]
    if len(outside):
        raise InputError(f"best_lists.{name} must be between 0 and {count - 1}, got {int(outside[0])}")
    return array
