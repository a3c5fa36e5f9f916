"""The interface of attributes, and checks that they share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mascot.bins import AxisBins, Bins, Floats, GlobeBins, SparseBins, VectorBins
from mascot.errors import InputError, check_one_of, check_width

Columns = Mapping[str, NDArray[Any]]
Missing = Literal["last", "neutral", "drop"]


class Attribute(Protocol):
    """The interface of attributes. Your own attribute needs nothing else.

    An attribute whose default bins differ for a spread or for a focus without a value also has `spread_membership` or
    `focus_membership`, with the same parameters.
    """

    @property
    def name(self) -> str: ...

    def membership(self, columns: Columns, vectors: Floats | None) -> Any:
        """Return an N x bins array, a SciPy sparse matrix or `Bins`, values in 0..1; a row of zeros is missing."""

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
        check_width(owner, sigma)


def as_bins(membership: Any, owner: str, rows: int) -> Bins:
    """Return a membership as bins, checked: N rows, values finite and in 0..1."""
    owner = f"{owner}.membership"
    if isinstance(membership, (AxisBins, GlobeBins, SparseBins, VectorBins)):
        if membership.rows != rows:
            _check_shape((membership.rows, 0), owner, rows)
        return membership
    if hasattr(membership, "tocsr"):
        matrix = membership.tocsr().copy()  # the user's matrix is not changed
        _check_shape(matrix.shape, owner, rows)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        indptr, indices, values = (np.asarray(part) for part in (matrix.indptr, matrix.indices, matrix.data))
    else:
        matrix = as_matrix(membership, owner, rows)
        row, indices = np.nonzero(matrix)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
        values = matrix[row, indices]
    values = values.astype(np.float64)
    wrong = ~((values >= 0) & (values <= 1))  # NaN is wrong too
    if wrong.any():
        raise InputError(f"{owner} must lie in 0..1, got {values[wrong][0]}")
    return SparseBins(indptr.astype(np.int64), indices.astype(np.int64), values, int(matrix.shape[1]))


def as_matrix(values: Any, owner: str, rows: int) -> Floats:
    """Return an N x d array of numbers, checked."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{owner} must be numbers in rows of one length, got {values!r:.60}") from None
    _check_shape(array.shape, owner, rows)
    return array


def _check_shape(shape: tuple[int, ...], owner: str, rows: int) -> None:
    if len(shape) != 2:
        raise InputError(f"{owner} must be an array of two dimensions, got {len(shape)}")
    if shape[0] != rows:
        raise InputError(f"{owner} must have {rows} rows, got {shape[0]}")
