"""Soft bins: which bins each row belongs to, and how much.

A `Bins` object describes N rows (candidates, or a whole corpus) without ever being an N x bins matrix. There are
four kinds, and every attribute makes one of them:

- `AxisBins`: Gaussian bumps on one or two even axes (grids, hours, dates, numbers);
- `GlobeBins`: Gaussian bumps on an even mesh of the globe;
- `SparseBins`: explicit (bin, value) pairs (labels, clusters, anything a user brings);
- `VectorBins`: vectors, which have no bins and are compared with one another.

`AxisBins` and `GlobeBins` may leave their width open. It then follows the rows at hand, without outliers;
`resolve()` fixes it.
"""

from mascot.bins.axis import Axis, AxisBins
from mascot.bins.globe import GlobeBins
from mascot.bins.membership import Bins
from mascot.bins.sparse import SparseBins, one_hot
from mascot.bins.vector_bins import VectorBins
from mascot.kernels.objective import Bools, Floats, Ints

__all__ = ["Axis", "AxisBins", "Bins", "Bools", "Floats", "GlobeBins", "Ints", "SparseBins", "VectorBins", "one_hot"]
