"""What every kind of bins has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mascot.bins.sparse import SparseBins

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Bins(Protocol):
    """N rows of soft bins."""

    @property
    def rows(self) -> int: ...

    def missing(self, rows: Ints | None = None) -> Bools:
        """Return which of these rows (default: all) have no value."""

    def name(self, bin_: int) -> str:
        """Return a bin's readable name."""

    def take(self, rows: Ints) -> Bins: ...

    def resolve(self) -> Bins: ...

    def sparse(self) -> SparseBins: ...
