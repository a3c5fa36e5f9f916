"""A benchmark dataset: images, queries, right answers and splits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
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

# BLAS sums equal rows in different orders, so equal images would not tie; this step is far above its
# error and far below any difference that means something.
_SCORE_STEP = 2.0**-40


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Lists of different lengths in two arrays: list i is ``values[offsets[i]:offsets[i + 1]]``.

    >>> lists = Ragged.of([[3, 1], [], [2]])
    >>> len(lists), lists[0].tolist(), lists.lengths.tolist()
    (3, [3, 1], [2, 0, 1])
    """

    offsets: Ints  # [L + 1], from 0 to len(values), never falling
    values: Ints

    def __post_init__(self) -> None:
        offsets, values = _ints("Ragged.offsets", self.offsets), _ints("Ragged.values", self.values)
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(values) or (np.diff(offsets) < 0).any():
            raise InputError(f"Ragged.offsets must rise from 0 to {len(values)}, got {offsets.tolist()!r:.80}")
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "values", values)

    @classmethod
    def of(cls, lists: Iterable[ArrayLike]) -> Ragged:
        """Return ragged lists from lists of integers."""
        arrays = [np.asarray(array, dtype=np.int64).reshape(-1) for array in lists]
        offsets = np.cumsum([0, *(len(array) for array in arrays)], dtype=np.int64)
        return cls(offsets, np.concatenate([np.empty(0, np.int64), *arrays]))

    @classmethod
    def grouped(cls, owners: Ints, values: Ints, count: int) -> Ragged:
        """Return `count` lists: of each owner its values, in their order."""
        order = np.argsort(owners, kind="stable")
        return cls(np.cumsum([0, *np.bincount(owners, minlength=count)]), values[order])

    @property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Ints:
        if not 0 <= index < len(self):
            raise IndexError(f"Ragged index must be between 0 and {len(self) - 1}, got {index}")
        return self.values[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A part of a dataset: its queries, and the images they can find."""

    images: Ints  # rows of the dataset's columns and vectors
    queries: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Search results made elsewhere: the images each query found, and their scores."""

    images: Ragged  # Q lists of rows
    scores: Floats  # one for each of `images.values`, higher is better

    @classmethod
    def grouped(cls, owners: Ints, images: Ints, scores: Floats, queries: int) -> Lists:
        """Return the lists of images that belong to each query."""
        return cls(Ragged.grouped(owners, images, queries), scores[np.argsort(owners, kind="stable")])

    def within(self, query: int, inside: Bools, n: int) -> tuple[Ints, Floats]:
        """Return the first n of a query's images that are `inside` [M], and their scores."""
        images = self.images[query]
        scores = self.scores[self.images.offsets[query] : self.images.offsets[query + 1]]
        selected = inside[images]
        return images[selected][:n], scores[selected][:n]


@dataclass(frozen=True, slots=True, eq=False)
class QueryHits:
    """The candidates of one query, best first; equal scores keep the lower row first."""

    images: Ints  # [n], rows of the dataset
    scores: Floats  # [n], never rising
    relevant: Bools  # [n], true for a positive


@dataclass(frozen=True, slots=True, eq=False)
class HitBlock:
    """The candidates of B queries as rectangles; short lists are padded behind their end."""

    queries: Ints  # [B]
    images: Ints  # [B, n], -1 where padded
    scores: Floats  # [B, n], -inf where padded
    relevant: Bools  # [B, n], false where padded
    counts: Ints  # [B], candidates of each query, <= n


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """M images with columns and vectors, Q queries with their positives, and splits of both.

    The scores of a query are the dot products of its vector with the image vectors, or come ready-made
    in `lists`. Either way a query finds only images of the split it is asked in.

    Examples
    --------
    >>> tiny = Dataset(
    ...     name="tiny",
    ...     columns={"camera": np.array(["a", "b", "b"])},
    ...     positives=Ragged.of([[2]]),
    ...     splits={"test": Split(np.arange(3), np.arange(1))},
    ...     lists=Lists(Ragged.of([[1, 2]]), np.array([0.3, 0.8])),
    ... )
    >>> hits = tiny.candidates(0, n=200)
    >>> hits.images.tolist(), hits.relevant.tolist()
    ([2, 1], [True, False])
    """

    name: str  # for tables; identity is `content_hash`
    columns: Mapping[str, NDArray[Any]]  # M values each
    positives: Ragged  # Q lists of rows: the right answers. A list may be empty
    splits: Mapping[str, Split]  # for example validation and test. A query may be in several
    vectors: Floats | None = None  # [M, D], unit length for the appearance channel. Beside `lists`, NaN is missing
    query_vectors: Floats | None = None  # [Q, D]; needs `vectors`, excludes `lists`
    lists: Lists | None = None  # Q ready-made candidate lists, in any order

    def __post_init__(self) -> None:
        columns = {name: _frozen(np.asarray(column)) for name, column in self.columns.items()}
        vectors = _matrix("vectors", self.vectors, missing=self.lists is not None)
        query_vectors = _matrix("query_vectors", self.query_vectors)
        sizes = {f"columns[{name!r}]": len(column) for name, column in columns.items()}
        if vectors is not None:
            sizes["vectors"] = len(vectors)
        if len(set(sizes.values())) != 1:
            raise InputError(f"Dataset images must be as many in every column and in vectors, got {sizes}")
        if (query_vectors is None) == (self.lists is None):
            raise InputError("Dataset must have either query_vectors or lists, got both or neither")
        if query_vectors is not None and (vectors is None or query_vectors.shape[1] != vectors.shape[1]):
            shape = None if vectors is None else vectors.shape
            raise InputError(f"Dataset.query_vectors must be as wide as vectors, got {query_vectors.shape}, {shape}")
        images, queries = next(iter(sizes.values())), len(self.positives)
        _rows("positives", self.positives.values, images)
        if query_vectors is not None and len(query_vectors) != queries:
            raise InputError(f"Dataset.query_vectors must have {queries} rows like positives, got {len(query_vectors)}")
        splits = {}
        for name, split in self.splits.items():
            rows = _rows(f"splits[{name!r}].images", split.images, images)
            splits[name] = Split(rows, _rows(f"splits[{name!r}].queries", split.queries, queries))
        lists = None if self.lists is None else _ordered(self.lists, images, queries)
        checked = {"columns": columns, "splits": splits, "lists": lists}
        for name, value in {**checked, "vectors": vectors, "query_vectors": query_vectors}.items():
            object.__setattr__(self, name, value)

    @property
    def images(self) -> int:
        """How many images there are."""
        return len(self.vectors) if self.vectors is not None else len(next(iter(self.columns.values())))

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return len(self.positives)

    @property
    def content_hash(self) -> str:
        """SHA-256 of everything the dataset holds, its name apart, in hexadecimal."""
        parts: dict[str, Any] = {"positives/offsets": self.positives.offsets, "positives/values": self.positives.values}
        parts |= {"vectors": self.vectors, "query_vectors": self.query_vectors}
        parts |= {f"columns/{name}": column for name, column in self.columns.items()}
        for name, split in self.splits.items():
            parts |= {f"splits/{name}/images": split.images, f"splits/{name}/queries": split.queries}
        if self.lists is not None:
            parts |= {"lists/offsets": self.lists.images.offsets, "lists/values": self.lists.images.values}
            parts["lists/scores"] = self.lists.scores
        digest = hashlib.sha256()
        for key, array in sorted(parts.items()):
            if array is not None:
                digest.update(f"{key!r} {array.dtype.str} {array.shape}\n".encode())
                plain = array.dtype != object
                digest.update(np.ascontiguousarray(array).tobytes() if plain else repr(array.tolist()).encode())
        return digest.hexdigest()

    def candidates(self, query: int, n: int, split: str = "test") -> QueryHits:
        """Return the n best candidates of one query, or all of them where there are fewer."""
        block = next(self.blocks(n, split, queries=np.array([query])))
        count = int(block.counts[0])
        return QueryHits(block.images[0, :count], block.scores[0, :count], block.relevant[0, :count])

    def blocks(
        self, n: int, split: str = "test", *, size: int = 256, queries: ArrayLike | None = None
    ) -> Iterator[HitBlock]:
        """Yield the n best candidates of a split's queries, or of some of them, `size` queries at a time.

        The width of the blocks is n or the number of images of the split. Never more than `size` x (images of the
        split) scores are in memory.
        """
        if n < 1 or size < 1:
            raise InputError(f"Dataset.blocks n and size must be >= 1, got {n}, {size}")
        if split not in self.splits:
            raise InputError(f"Dataset split must be one of {sorted(self.splits)}, got {split!r}")
        part = self.splits[split]
        query_rows = part.queries if queries is None else _rows("queries", queries, self.queries)
        stray = query_rows[~np.isin(query_rows, part.queries)]
        if len(stray):
            raise InputError(f"Dataset queries must be of the split {split!r}, got {int(stray[0])}")
        width = min(n, len(part.images))
        search = self._search(np.sort(part.images), width)
        for start in range(0, len(query_rows), size):
            block = query_rows[start : start + size]
            images = np.full((len(block), width), -1, dtype=np.int64)
            scores = np.full((len(block), width), -np.inf)
            relevant = np.zeros((len(block), width), dtype=np.bool_)
            counts = np.zeros(len(block), dtype=np.int64)
            for i, (query, (rows, values)) in enumerate(zip(block.tolist(), search(block), strict=True)):
                counts[i] = count = len(rows)
                images[i, :count], scores[i, :count] = rows, values
                relevant[i, :count] = np.isin(rows, self.positives[query])
            yield HitBlock(block, images, scores, relevant, counts)

    def _search(self, pool: Ints, n: int) -> Callable[[Ints], Iterable[tuple[Ints, Floats]]]:
        """Return a function that yields of each query the n best images of the pool, and their scores."""
        if self.lists is not None:
            lists, inside = self.lists, np.isin(np.arange(self.images), pool)
            return lambda queries: (lists.within(query, inside, n) for query in queries.tolist())
        vectors, query_vectors = np.asarray(self.vectors)[pool], np.asarray(self.query_vectors)

        def search(queries: Ints) -> Iterator[tuple[Ints, Floats]]:
            for scores in np.round((query_vectors[queries] @ vectors.T) / _SCORE_STEP) * _SCORE_STEP:
                best = _best(scores, n)
                yield pool[best], scores[best]

        return search


def stamp(path: Path) -> Stamp:
    """Return when a file was written and its size, to detect changes; None where it does not exist."""
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


def _ordered(lists: Lists, images: int, queries: int) -> Lists:
    """Return the lists, checked, each best first."""
    values = _rows("lists.images", lists.images.values, images)
    scores = np.asarray(lists.scores, dtype=np.float64)
    if len(lists.images) != queries or scores.shape != values.shape:
        raise InputError(
            f"Dataset.lists must have {queries} lists like positives and {len(values)} scores, "
            f"got {len(lists.images)} and {scores.shape}"
        )
    if not np.isfinite(scores).all():
        raise InputError(f"Dataset.lists.scores must be finite, got {scores[~np.isfinite(scores)][0]}")
    owner = np.repeat(np.arange(queries), lists.images.lengths)
    pairs = owner * images + values
    if len(np.unique(pairs)) != len(pairs):
        raise InputError("Dataset.lists must not name an image twice in one list, got a repetition")
    order = np.lexsort((values, -scores, owner))
    return Lists(Ragged(lists.images.offsets, values[order]), _frozen(scores[order]))


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view; the caller's array is not changed."""
    view: NDArray[Any] = array.view()
    view.flags.writeable = False
    return view


def _ints(owner: str, values: ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise InputError(f"{owner} must be a row of integers, got {array.dtype} of shape {array.shape}")
    return _frozen(array.astype(np.int64, copy=False))


def _rows(owner: str, values: ArrayLike, count: int) -> Ints:
    array = _ints(f"Dataset.{owner}", values)
    outside = (array < 0) | (array >= count)
    if outside.any():
        raise InputError(f"Dataset.{owner} must be between 0 and {count - 1}, got {int(array[outside][0])}")
    return array


def _matrix(owner: str, values: Floats | None, missing: bool = False) -> Floats | None:
    if values is None:
        return None
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise InputError(f"Dataset.{owner} must have two dimensions, got {array.ndim}")
    bad = np.isinf(array) if missing else ~np.isfinite(array)
    if bad.any():
        raise InputError(f"Dataset.{owner} must be finite, got {array[bad][0]}")
    return _frozen(array)
