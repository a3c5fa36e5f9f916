"""A benchmark dataset: images, queries, right answers and splits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mascot.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Stamp = tuple[int, int] | None

# BLAS sums equal rows in different orders, so equal images would not tie. This step is far above the rounding error
# and far below any relevant difference.
_SCORE_STEP = 2.0**-40
_BLOCK = 256  # queries whose scores of all images are in memory at once


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A part of a dataset: its queries, and the images they can find."""

    images: Ints  # rows of the dataset's columns and vectors
    queries: Ints


@dataclass(frozen=True, slots=True, eq=False)
class DatasetHits:
    """The candidates of one query, best first; equal scores keep the lower row first."""

    query: int
    images: Ints  # [n], rows of the dataset
    scores: Floats  # [n], never rising
    relevant: Bools  # [n], true for a positive


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """M images with columns and vectors, Q queries with their positives, and splits of both.

    The scores of a query are the dot products of its vector with the image vectors, or come ready-made in `lists` and
    `scores`. Either way a query finds only images of the split it is asked in.

    Examples
    --------
    >>> tiny = Dataset(
    ...     name="tiny",
    ...     columns={"camera": np.array(["a", "b", "b"])},
    ...     positives=[[2]],
    ...     splits={"test": Split(np.arange(3), np.arange(1))},
    ...     lists=[[1, 2]],
    ...     scores=[[0.3, 0.8]],
    ... )
    >>> hits = tiny.candidates(0, n=200)
    >>> hits.images.tolist(), hits.relevant.tolist()
    ([2, 1], [True, False])
    """

    name: str  # for tables; identity is `content_hash`
    columns: Mapping[str, NDArray[Any]]  # M values each
    positives: Sequence[Any]  # Q arrays of rows: the right answers, if any
    splits: Mapping[str, Split]  # for example validation and test. A query may be in several
    vectors: Floats | None = None  # [M, D], unit length for the appearance channel. Beside `lists`, NaN is missing
    query_vectors: Floats | None = None  # [Q, D]; needs `vectors`, excludes `lists`
    lists: Sequence[Any] | None = None  # Q arrays of rows: the candidates, in any order
    scores: Sequence[Any] | None = None  # Q arrays, the scores of `lists`; higher is better

    def __post_init__(self) -> None:
        arrays: dict[str, list[NDArray[Any]]] = {"positives": [np.asarray(rows, np.int64) for rows in self.positives]}
        if self.lists is not None and self.scores is not None:
            arrays |= {"lists": [], "scores": []}
            for rows, scores in zip(self.lists, self.scores, strict=True):
                order = np.lexsort((rows, -np.asarray(scores, float)))
                arrays["lists"].append(np.asarray(rows, np.int64)[order])
                arrays["scores"].append(np.asarray(scores, float)[order])
        for name, value in arrays.items():
            object.__setattr__(self, name, value)

    @property
    def images(self) -> int:
        return len(self.vectors) if self.vectors is not None else len(next(iter(self.columns.values())))

    @property
    def queries(self) -> int:
        return len(self.positives)

    @property
    def positive_counts(self) -> Ints:
        """[Q] the number of positives of each query."""
        return np.array([len(rows) for rows in self.positives], np.int64)

    @property
    def content_hash(self) -> str:
        """SHA-256 of the dataset without its name, in hexadecimal."""
        parts: dict[str, Any] = {"vectors": self.vectors, "query_vectors": self.query_vectors}
        parts |= {f"columns/{name}": column for name, column in self.columns.items()}
        for name, split in self.splits.items():
            parts |= {f"splits/{name}/images": split.images, f"splits/{name}/queries": split.queries}
        for name, rows in (("positives", self.positives), ("lists", self.lists)):
            if rows is not None:
                parts[f"{name}/offsets"] = np.cumsum([0, *map(len, rows)], dtype=np.int64)
                parts[f"{name}/values"] = np.concatenate([np.empty(0, np.int64), *rows])
        if self.scores is not None:
            parts["lists/scores"] = np.concatenate([np.empty(0), *self.scores])
        digest = hashlib.sha256()
        for key, array in sorted(parts.items()):
            if array is not None:
                digest.update(f"{key!r} {array.dtype.str} {array.shape}\n".encode())
                plain = array.dtype != object
                digest.update(np.ascontiguousarray(array).tobytes() if plain else repr(array.tolist()).encode())
        return digest.hexdigest()

    def candidates(self, query: int, n: int, split: str = "test") -> DatasetHits:
        """Return the n best candidates of one query, or all of them if there are fewer."""
        return next(self.hits(n, split, [query]))

    def hits(self, n: int, split: str = "test", queries: ArrayLike | None = None) -> Iterator[DatasetHits]:
        """Yield the n best candidates of each query of a split, or of some of its queries."""
        if split not in self.splits:
            raise InputError(f"Dataset split must be one of {sorted(self.splits)}, got {split!r}")
        part = self.splits[split]
        query_rows = part.queries if queries is None else np.asarray(queries, np.int64)
        stray = query_rows[~np.isin(query_rows, part.queries)]
        if len(stray):
            raise InputError(f"Dataset queries must be of the split {split!r}, got {int(stray[0])}")
        ranked = self._ranked(query_rows, np.sort(part.images), min(n, len(part.images)))
        for query, (images, scores) in zip(query_rows.tolist(), ranked, strict=True):
            yield DatasetHits(query, images, scores, np.isin(images, self.positives[query]))

    def _ranked(self, queries: Ints, pool: Ints, n: int) -> Iterator[tuple[Ints, Floats]]:
        """Yield the n best images of the pool for each query, and their scores."""
        if self.lists is not None and self.scores is not None:
            inside = np.isin(np.arange(self.images), pool)
            for query in queries.tolist():
                selected = inside[self.lists[query]]
                yield self.lists[query][selected][:n], self.scores[query][selected][:n]
            return
        vectors, query_vectors = np.asarray(self.vectors)[pool], np.asarray(self.query_vectors)
        for start in range(0, len(queries), _BLOCK):
            block = query_vectors[queries[start : start + _BLOCK]]
            for scores in np.round((block @ vectors.T) / _SCORE_STEP) * _SCORE_STEP:
                best = _best(scores, n)
                yield pool[best], scores[best]


def grouped(owners: Ints, values: NDArray[Any], count: int) -> list[NDArray[Any]]:
    """Return `count` arrays: the values of each owner, in their order."""
    ends = np.cumsum(np.bincount(owners, minlength=count))
    return np.split(values[np.argsort(owners, kind="stable")], ends[:-1])


def stamp(path: Path) -> Stamp:
    """Return when a file was written and its size, to detect changes, or None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _best(scores: Floats, n: int) -> Ints:
    """Return the positions of the n largest, best first; ties go to the lower position, also at the cut."""
    cut = np.partition(scores, len(scores) - n)[len(scores) - n] if n < len(scores) else -np.inf
    near = np.flatnonzero(scores >= cut)
    return near[np.argsort(-scores[near], kind="stable")][:n]
