"""The candidates of one query, or of many, checked at the door."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mascot.attributes.columns import as_array
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
        Named columns of N values: numpy arrays, lists, or pandas, Polars or Arrow columns.
    vectors
        N x D numbers, for `Clusters` and the similarity methods. A row of NaN is a missing vector.

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
        self.ids: list[Hashable] = list(range(count)) if ids is None else list(_listed(ids))
        if len(self.ids) != count:
            raise InputError(f"Candidates.ids must have {count} entries like scores, got {len(self.ids)}")
        self.columns: dict[str, NDArray[Any]] = as_columns(columns, (count,), "Candidates")
        self.vectors: Floats | None = as_vectors(vectors, (count,), "Candidates")

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        parts = [*self.columns, *(["vectors"] if self.vectors is not None else [])]
        return f"Candidates({len(self)}: {', '.join(parts)})"


class Batch:
    """The candidates of Q queries as Q x N arrays: scores, columns, and vectors Q x N x D.

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
        self.columns = {name: column.reshape(-1) for name, column in as_columns(columns, shape, "Batch").items()}
        stacked = as_vectors(vectors, shape, "Batch")
        self.vectors: Floats | None = None if stacked is None else stacked.reshape(-1, stacked.shape[-1])

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        return f"Batch({self.scores.shape[0]} x {self.scores.shape[1]}: {', '.join(self.columns)})"


def _listed(ids: Any) -> Any:
    return ids.tolist() if hasattr(ids, "tolist") else ids.to_pylist() if hasattr(ids, "to_pylist") else ids


def finite_scores(scores: ArrayLike, dimensions: int, owner: str = "scores") -> Floats:
    """Scores as float64, finite, of so many dimensions; the caller's array is never written to."""
    given = scores if isinstance(scores, np.ndarray) else as_scores(scores)
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{owner} must be numbers, got {scores!r:.80}") from None
    if array.ndim != dimensions:
        raise InputError(f"{owner} must have {dimensions} dimension(s), got {array.ndim}")
    bad = ~np.isfinite(array)
    if bad.any():
        raise InputError(f"{owner} must be finite, got {array[bad][0]} at position {int(np.flatnonzero(bad)[0])}")
    return array


def as_scores(scores: Any) -> Any:
    return as_array(scores) if hasattr(scores, "to_numpy") or hasattr(scores, "to_pylist") else scores


def as_columns(columns: Mapping[str, Any] | None, shape: tuple[int, ...], owner: str) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for name, column in (columns or {}).items():
        array = as_array(column) if len(shape) == 1 else np.asarray(column)
        if array.shape[: len(shape)] != shape:
            raise InputError(
                f"{owner}.columns[{name!r}] must have {' x '.join(map(str, shape))} values like scores, "
                f"got {' x '.join(map(str, array.shape))}"
            )
        found[name] = array
    return found


def as_vectors(vectors: ArrayLike | None, shape: tuple[int, ...], owner: str) -> Floats | None:
    if vectors is None:
        return None
    array = np.asarray(vectors, dtype=np.float64)
    if array.ndim != len(shape) + 1 or array.shape[: len(shape)] != shape:
        raise InputError(
            f"{owner}.vectors must be {' x '.join(map(str, shape))} x D like scores, "
            f"got {' x '.join(map(str, array.shape))}"
        )
    if np.isinf(array).any():
        raise InputError(f"{owner}.vectors must be finite, got {array[np.isinf(array)][0]}")
    return array
