"""The candidates of one query, or of many, checked at the door."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Sized
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mascot.attributes.columns import as_array, vectors_of
from mascot.errors import InputError
from mascot.memberships import Floats


class Candidates:
    """What a search returned for one query.

    Parameters
    ----------
    scores
        N numbers, higher is better, finite. Any order; ties go to the earlier position.
    ids
        N hashable names; positions 0..N-1 unless given.
    columns
        Named columns of N values: numpy arrays, lists, or pandas, Polars or Arrow columns; or a whole pandas, Polars
        or Arrow table.
    vectors
        N x D numbers, for `Clusters` and the similarity methods: an array, or a list or column of vectors. None or a
        row of NaN is a missing vector.

    Scores are copied. Arrays given as columns and vectors are kept, not copied: leave them alone while rankings of
    them are in use.

    Examples
    --------
    >>> Candidates(scores=[0.9, 0.4], columns={"camera": ["X100", None]})
    Candidates(2: camera)
    """

    __slots__ = ("columns", "ids", "scores", "vectors")

    def __init__(
        self,
        scores: ArrayLike,
        ids: Sequence[Hashable] | None = None,
        columns: Mapping[str, Any] | None = None,
        vectors: ArrayLike | None = None,
    ) -> None:
        self.scores: Floats = finite_scores(scores, 1)
        if not len(self.scores):
            raise InputError("Candidates.scores must hold at least one candidate, got none")
        count = len(self.scores)
        self.ids: list[Hashable] = list(range(count)) if ids is None else as_ids(ids, count, "Candidates")
        self.columns: dict[str, NDArray[Any]] = as_columns(columns, (count,), "Candidates")
        self.vectors: Floats | None = as_vectors(vectors, (count,), "Candidates")

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        parts = [*self.columns, *(["vectors"] if self.vectors is not None else [])]
        return f"Candidates({len(self)}: {', '.join(parts)})"


class Batch:
    """The candidates of Q queries as Q x N arrays or nested lists: scores, columns, and vectors Q x N x D.

    Arrays are kept, not copied: leave them alone while rankings of them are in use.

    >>> Batch(scores=[[0.9, 0.4], [0.8, 0.7]], columns={"hour": [[9, 17], [3, 4]]})
    Batch(2 x 2: hour)
    """

    __slots__ = ("columns", "scores", "vectors")

    def __init__(
        self, scores: ArrayLike, columns: Mapping[str, Any] | None = None, vectors: ArrayLike | None = None
    ) -> None:
        self.scores: Floats = finite_scores(scores, 2)
        if not self.scores.size:
            raise InputError("Batch.scores must hold at least one candidate, got none")
        shape = (self.scores.shape[0], self.scores.shape[1])
        self.columns: dict[str, NDArray[Any]] = as_columns(columns, shape, "Batch")
        self.vectors: Floats | None = as_vectors(vectors, shape, "Batch")

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        return f"Batch({self.scores.shape[0]} x {self.scores.shape[1]}: {', '.join(self.columns)})"


def as_ids(ids: Any, count: int, owner: str, like: str = "candidates") -> list[Hashable]:
    """Ids of any list or column, as many as there are candidates."""
    plain = ids.tolist() if hasattr(ids, "tolist") else ids.to_pylist() if hasattr(ids, "to_pylist") else ids
    listed: list[Hashable] = list(plain)
    if len(listed) != count:
        raise InputError(f"{owner}.ids must have {count} entries like the {like}, got {len(listed)}")
    hashed(listed, f"{owner}.ids must be hashable")
    return listed


def hashed(ids: Iterable[Any], rule: str) -> set[Hashable]:
    """The ids as a set; one that cannot be in a set breaks the rule."""
    found: set[Hashable] = set()
    for id_ in ids:
        try:
            found.add(id_)
        except TypeError:
            raise InputError(f"{rule}, got {id_!r:.80}") from None
    return found


def finite_scores(scores: ArrayLike, dimensions: int, owner: str = "scores") -> Floats:
    """Scores as float64, finite, of so many dimensions; those of one query are the caller's no more: a copy."""
    given = scores if isinstance(scores, np.ndarray) else as_scores(on_host(scores))
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        at = int(np.flatnonzero(np.ma.getmaskarray(given))[0])
        raise InputError(f"{owner} must all be there, got a masked one at position {at}")
    if isinstance(given, np.ndarray) and given.dtype.kind in "cMm":
        raise InputError(f"{owner} must be numbers, got {given.dtype}")
    try:
        array = np.array(given, np.float64) if dimensions == 1 else np.asarray(given, np.float64)
    except (TypeError, ValueError):
        sizes = {len(row) for row in given if isinstance(row, Sized)} if isinstance(given, (list, tuple)) else set()
        if dimensions == 2 and len(sizes) > 1:
            raise InputError(f"{owner} must have as many values in each query, got {_or(sizes)}") from None
        raise InputError(f"{owner} must be numbers, got {scores!r:.80}") from None
    if array.ndim != dimensions:
        raise InputError(f"{owner} must have {dimensions} dimension(s), got {array.ndim}")
    if array.size:
        _check_finite(array, owner)
    return array


def _check_finite(scores: Floats, owner: str) -> None:
    """Scores, and the range of each query's, of which relevance is a share."""
    low, high = np.atleast_1d(scores.min(axis=-1), scores.max(axis=-1))
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(high - low)  # not where a score is not
    if fine.all():
        return
    bad = ~np.isfinite(scores)
    if bad.any():
        raise InputError(f"{owner} must be finite, got {scores[bad][0]} at position {int(np.flatnonzero(bad)[0])}")
    at = int(np.argmin(fine))
    raise InputError(f"{owner} must have a finite range, got {low[at]} to {high[at]}")


def on_host(given: Any) -> Any:
    """A tensor, or a list of tensors, as numpy takes it: without gradients, in memory, of a type it has."""
    if hasattr(given, "detach"):
        there = given.detach().cpu()
        return (there.double() if there.is_floating_point() else there).numpy()
    if isinstance(given, (list, tuple)) and given and hasattr(given[0], "detach"):
        return [on_host(part) for part in given]
    return given


def as_scores(scores: Any) -> Any:
    return as_array(scores) if hasattr(scores, "to_numpy") or hasattr(scores, "to_pylist") else scores


def as_columns(columns: Any, shape: tuple[int, ...], owner: str, like: str = "scores") -> dict[str, NDArray[Any]]:
    """Arrays of N values, or of the Q x N of a batch one query after the other; each value may be a row of its own."""
    found: dict[str, NDArray[Any]] = {}
    for name, given in named_columns(columns, owner):
        misfit = partial(_misfit, owner, name, shape, like)
        column = _listed(on_host(given), f"{owner}.columns[{name!r}]")
        array = as_array(column) if len(shape) == 1 else as_array(_flat(column, shape, misfit))
        if array.shape[:1] != (math.prod(shape),):
            raise misfit(_by(array.shape))
        found[name] = array
    return found


def as_corpus(columns: Any, vectors: Any, owner: str) -> tuple[dict[str, NDArray[Any]], Floats | None, int]:
    """The columns and vectors of a corpus, and how many rows it has: as many as the first of them."""
    named = {}
    for name, given in named_columns(columns, owner):
        named[name] = as_array(_listed(on_host(given), f"{owner}.columns[{name!r}]"))
    read = None if vectors is None else vectors_of(_listed(on_host(vectors), f"{owner}.vectors"), f"{owner}.vectors")
    first = next(iter(named.values()), read)
    if first is None:
        raise InputError(f"{owner}.fit needs columns or vectors, got neither")
    count = len(first) if first.ndim else 0
    if not count:
        raise InputError(f"{owner}.fit needs at least one row, got none")
    like = repr(next(iter(named))) if named else "its rows"
    if read is not None:
        _check_vectors(read, (count,), owner, like)
    return as_columns(named, (count,), owner, like), read, count


def _listed(given: Any, owner: str) -> Any:
    """Something with several values in it."""
    if not any(hasattr(given, name) for name in ("__iter__", "__array__", "to_numpy", "to_pylist")):
        raise InputError(f"{owner} must be a list or an array of values, got {given!r:.80}")
    return given


def named_columns(columns: Any, owner: str) -> Iterable[tuple[str, Any]]:
    """The columns of a dictionary, or of a pandas, Arrow or Polars table."""
    if columns is None:
        return ()
    if hasattr(columns, "items"):
        named: Iterable[tuple[str, Any]] = columns.items()
        return named
    if hasattr(columns, "column_names"):
        return zip(columns.column_names, columns.columns, strict=True)
    if hasattr(columns, "get_columns"):
        return [(column.name, column) for column in columns.get_columns()]
    raise InputError(f"{owner}.columns must be a dictionary or a table, got {type(columns).__name__}")


def _misfit(owner: str, name: str, shape: tuple[int, ...], like: str, got: str) -> InputError:
    return InputError(f"{owner}.columns[{name!r}] must have {_by(shape)} values like {like}, got {got}")


def _flat(given: Any, shape: tuple[int, ...], misfit: Callable[[str], InputError]) -> Any:
    """What Q queries have of N each, one query after the other: an array, or a list."""
    if not isinstance(given, (list, tuple)):
        array = as_array(given)
        if array.ndim > 1:
            if array.shape[:2] != shape:
                raise misfit(_by(array.shape))
            return array.reshape(-1, *array.shape[2:])
        given = array
    rows: list[Any] = [row if isinstance(row, (list, tuple)) else _row(row) for row in given]
    sizes = {-1 if row is None else len(row) for row in rows}
    if -1 in sizes:
        raise misfit(str(len(rows)))
    if len(rows) != shape[0] or sizes != {shape[1]}:
        raise misfit(f"{len(rows)} x {_or(sizes)}")
    arrays = [row for row in rows if isinstance(row, np.ndarray)]
    if len(arrays) == len(rows) and len({(row.dtype, row.shape) for row in arrays}) == 1:
        return np.concatenate(arrays)
    return [value for row in rows for value in row]


def _row(given: Any) -> NDArray[Any] | None:
    """What one query has, as an array; None where that is a single value."""
    return as_array(given) if hasattr(given, "__len__") and not isinstance(given, (str, bytes)) else None


def as_vectors(vectors: Any, shape: tuple[int, ...], owner: str) -> Floats | None:
    """An array of N x D numbers, or of the Q * N x D of a batch."""
    if vectors is None:
        return None
    given = _listed(on_host(vectors), f"{owner}.vectors")
    flat = given if len(shape) == 1 else _flat(given, shape, partial(_no_vectors, owner, shape, "scores"))
    array = vectors_of(flat, f"{owner}.vectors")
    _check_vectors(array, shape, owner, "scores")
    return array


def _check_vectors(array: Floats, shape: tuple[int, ...], owner: str, like: str) -> None:
    if array.ndim != 2 or len(array) != math.prod(shape):
        raise _no_vectors(owner, shape, like, _by(array.shape))


def _no_vectors(owner: str, shape: tuple[int, ...], like: str, got: str) -> InputError:
    return InputError(f"{owner}.vectors must be {_by(shape)} x D like {like}, got {got}")


def _or(sizes: Iterable[int]) -> str:
    return " or ".join(map(str, sorted(sizes)))


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
