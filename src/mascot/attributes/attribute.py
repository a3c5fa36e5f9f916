"""What an attribute is, and what all of ours share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mascot.bins import Bins, Floats, SparseBins
from mascot.errors import InputError, check_one_of, check_positive

Columns = Mapping[str, NDArray[Any]]
Missing = Literal["last", "neutral", "drop"]


class Attribute(Protocol):
    """The interface of an attribute: all that an attribute of your own needs."""

    @property
    def name(self) -> str: ...

    def membership(self, columns: Columns, vectors: Floats | None) -> Any:
        """Return an N x bins array, a SciPy sparse matrix or `Bins`; values in 0..1, zeros: missing."""

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        """Return an N x d array of points, compared by distance; a missing value is a row of zeros."""


def missing_rule(attribute: Attribute) -> Missing:
    """Return what a candidate without a value gets: the last place, a neutral gain, or removal."""
    return getattr(attribute, "missing", "last")


def check_missing(owner: str, rule: str) -> None:
    check_one_of(f"{owner}.missing", rule, "last", "neutral", "drop")


def check_sigma(owner: str, sigma: float | None) -> None:
    """Check a width; None follows the candidates."""
    if sigma is not None:
        check_positive(owner, sigma)


def as_bins(membership: Any, owner: str, rows: int) -> Bins:
    """Return a membership as bins, checked: N rows, values finite and in 0..1."""
    if hasattr(membership, "resolve") and hasattr(membership, "sparse"):
        bins: Bins = membership
        if bins.rows != rows:
            raise InputError(f"{owner}.membership must have {rows} rows, got {bins.rows}")
        return bins
    if hasattr(membership, "tocsr"):
        matrix = membership.tocsr().copy()  # the user's matrix is not changed
        shape = _two_dimensions(matrix.shape, owner)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        indptr, indices, values = (np.asarray(part) for part in (matrix.indptr, matrix.indices, matrix.data))
    else:
        try:
            array = np.asarray(membership, dtype=np.float64)
        except (TypeError, ValueError):
            rule = "must be numbers in rows of one length"
            raise InputError(f"{owner}.membership {rule}, got {membership!r:.60}") from None
        shape = _two_dimensions(array.shape, owner)
        row, indices = np.nonzero(array)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=shape[0]))])
        values = array[row, indices]
    if shape[0] != rows:
        raise InputError(f"{owner}.membership must have {rows} rows, got {shape[0]}")
    values = values.astype(np.float64)
    wrong = ~((values >= 0) & (values <= 1))  # NaN is wrong too
    if wrong.any():
        raise InputError(f"{owner}.membership must lie in 0..1, got {values[wrong][0]}")
    indptr = indptr.astype(np.int64)
    return SparseBins(indptr, indices.astype(np.int64), values, int(shape[1]))


def _two_dimensions(shape: tuple[int, ...], owner: str) -> tuple[int, ...]:
    if len(shape) != 2:
        raise InputError(f"{owner}.membership must be an array of two dimensions, got {len(shape)}")
    return shape
