"""Distances of rows to one value, in the attribute's own unit."""

from __future__ import annotations

import numpy as np

from mascot.bins.axis import AxisBins
from mascot.bins.globe import GlobeBins, great_circle_km
from mascot.bins.membership import Bins
from mascot.bins.vector_bins import VectorBins
from mascot.kernels.reference import Floats, Ints

# Distances below which closeness does not rise any further, for each unit of bins.
SMALLEST = {"hour": 0.25, "season": 1.0, "weekday": 0.5, "date": 1.0, "degrees": 5.0, "globe": 5.0, "number": 0.0}
SMALLEST["cosine"] = 0.01
UNITS = {"hour": "hours", "season": "days", "weekday": "days", "date": "days", "degrees": "km", "globe": "km"}


def unit_of(bins: Bins) -> str:
    """Return the key of `SMALLEST` for these bins; "label" if rows either match a value or do not."""
    if isinstance(bins, GlobeBins):
        return "globe"
    if isinstance(bins, VectorBins):
        return "cosine"
    return bins.unit if isinstance(bins, AxisBins) else "label"


def distances(bins: Bins, point: Bins, rows: Ints | None, which: Ints | None = None) -> Floats:
    """Return the distance of rows (default: all) to the one row of `point`; NaN if the value is missing.

    Kilometres on the globe, the shorter way round a circle, 0 or 1 for labels, 1 - cosine for vectors. For vectors,
    `which` are the rows of `point` that the rows are compared with.
    """
    if isinstance(bins, VectorBins) and isinstance(point, VectorBins):
        return 1.0 - bins.cosines(point, rows, which)
    if isinstance(bins, GlobeBins) and isinstance(point, GlobeBins):
        lat, lon = (bins.lat, bins.lon) if rows is None else (bins.lat[rows], bins.lon[rows])
        return great_circle_km(lat, lon, (float(point.lat[0]), float(point.lon[0])))
    if isinstance(bins, AxisBins) and isinstance(point, AxisBins):
        values = [column if rows is None else column[rows] for column in bins.values]
        target = [float(column[0]) for column in point.values]
        if bins.unit == "degrees":
            lat, lon = np.radians(values[0]), np.radians(values[1])
            return great_circle_km(lat, lon, (float(np.radians(target[0])), float(np.radians(target[1]))))
        difference = np.abs(values[0] - target[0])
        period = bins.axes[0].period
        return np.minimum(difference % period, period - difference % period) if period > 0 else difference
    memberships, target_bins = bins.sparse(), point.sparse()
    if memberships.labels is not None and target_bins.labels is not None:
        # Each numbers its labels differently: compare names.
        names = {target_bins.labels[code] for code in target_bins.indices}
        codes = np.array([code for code, label in enumerate(memberships.labels) if label in names], np.int64)
    else:
        codes = target_bins.indices
    picked = memberships if rows is None else memberships.take(rows)
    matches = np.isin(picked.indices, codes)
    hits = np.bincount(np.repeat(np.arange(picked.rows), np.diff(picked.indptr)), matches, minlength=picked.rows) > 0
    return np.where(picked.missing(), np.nan, np.where(hits, 0.0, 1.0))
