"""Vectors: results that are unlike one another, alike, or near a vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.attribute import Columns, Missing, check_missing
from mascot.attributes.columns import column_of, vectors_of
from mascot.bins import Floats
from mascot.bins.vector_bins import VectorBins, single_precision
from mascot.errors import InputError, OptionError, check_share, is_number, quoted
from mascot.kernels.counters import unit_vectors
from mascot.serialize import Value


@dataclass(frozen=True, slots=True)
class Vectors(Value):
    """The vectors of the candidates, compared by their cosine.

    `spread(Vectors())` shows results that are unlike one another, `focus(Vectors())` results that are alike, and
    `focus(Vectors(), near=...)` results like one: a vector, or the id of a candidate. `limit(Vectors(), 1)` shows no
    two near-copies. The cost grows linearly with the number of candidates. None, NaN and zeros are missing vectors.

    Parameters
    ----------
    column
        Column of vectors, N x D or a list of vectors (default: the vectors of the candidates).
    copies
        Cosine from which two results are near-copies, which `limit` counts (default: 0.85).
    missing, name
        What a candidate without a vector gets (``"last"``, ``"neutral"``, ``"drop"``); name in explanations.

    Examples
    --------
    >>> import mascot as mc
    >>> hits = mc.Candidates([0.9, 0.8, 0.7], ids=["a", "b", "c"], vectors=[[1, 0], [1, 0.1], [0, 1]])
    >>> mc.rerank(hits, mc.spread(mc.Vectors()), k=2).ids
    ['a', 'c']
    >>> mc.rerank(hits, mc.focus(mc.Vectors(), near="c"), k=1, strength=0.9).ids
    ['c']
    """

    column: str | None = None
    copies: float = 0.85
    missing: Missing = "last"
    name: str = "vectors"

    def __post_init__(self) -> None:
        check_share("Vectors.copies", self.copies)
        check_missing("Vectors", self.missing)

    def _rows(self, columns: Columns, vectors: NDArray[Any] | None) -> NDArray[Any]:
        if self.column is not None:
            owner = f"Vectors column {self.column!r}"
            vectors = vectors_of(column_of(columns, self.column, "Vectors"), owner)
            if vectors.ndim != 2:
                raise InputError(f"{owner} must hold vectors, N x D numbers, got {vectors.ndim} dimension(s)")
        if vectors is None:
            raise InputError("Vectors needs vectors, got none")
        return vectors

    def membership(self, columns: Columns, vectors: NDArray[Any] | None) -> VectorBins:
        return VectorBins(single_precision(self._rows(columns, vectors)), float(self.copies))

    def features(self, columns: Columns, vectors: NDArray[Any] | None) -> Floats:
        return unit_vectors(single_precision(self._rows(columns, vectors)))

    def point(self, value: Any) -> dict[str, Any]:
        """Return a named vector as a column, or an empty dictionary for the id of a candidate."""
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, (list, tuple)):
            return {}
        valid = len(value) > 0 and all(is_number(part) and math.isfinite(part) for part in value)
        if not valid or not any(value):
            rule = "must be finite numbers that are not all 0, or the id of a candidate"
            raise OptionError(f"Vectors near {rule}, got {quoted(value)}")
        return {"": value}

    def near_point(self, value: Any) -> VectorBins | None:
        """Return a named vector; None for the id of a candidate."""
        point = self.point(value)
        vector = np.array([point[""]], np.float64) if point else None
        return None if vector is None else VectorBins(single_precision(vector), float(self.copies))
