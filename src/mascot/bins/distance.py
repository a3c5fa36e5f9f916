"""Distances of rows to one value, in the attribute's own unit."""

from __future__ import annotations

import numpy as np

from mascot.bins.axis import AxisBins
from mascot.bins.globe import GlobeBins, great_circle_km
from mascot.bins.globe import unit_vectors as points_on_globe
from mascot.bins.membership import Bins
from mascot.bins.vector_bins import VectorBins
from mascot.kernels.constants import EARTH_KM
from mascot.kernels.counters import unit_vectors
from mascot.kernels.objective import Floats, Ints

_BLOCK = 512  # rows that are compared with all others at once

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


def nearest_distances(bins: Bins, rows: Ints) -> Floats:
    """Return the distance of each row to the nearest of the other rows, in the unit of `distances`.

    It is NaN for a row without a value, and infinite if no other row has a value. Labels have no such distance.
    """
    nearest = np.empty(len(rows))
    for start in range(0, len(rows), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(rows)))
        apart = _pair_distances(bins, rows[block], rows)
        apart[block - start, block] = np.nan
        nearest[block] = np.where(np.isnan(apart), np.inf, apart).min(axis=1)
    return np.where(bins.missing(rows), np.nan, nearest)


def _pair_distances(bins: Bins, rows: Ints, others: Ints) -> Floats:
    """Return the distances [rows, others]; NaN if a value is missing."""
    if isinstance(bins, VectorBins):
        unit, targets = unit_vectors(bins.vectors[rows]), unit_vectors(bins.vectors[others])
        comparable = np.outer(unit.any(axis=1), targets.any(axis=1))
        return np.where(comparable, 1.0 - unit @ targets.T, np.nan)
    if isinstance(bins, AxisBins) and bins.unit != "degrees":
        difference, period = np.abs(bins.values[0][rows][:, None] - bins.values[0][others]), bins.axes[0].period
        return np.minimum(difference % period, period - difference % period) if period > 0 else difference
    assert isinstance(bins, (AxisBins, GlobeBins))
    lat, lon = (bins.lat, bins.lon) if isinstance(bins, GlobeBins) else map(np.radians, bins.values)
    points, targets = points_on_globe(lat[rows], lon[rows]), points_on_globe(lat[others], lon[others])
    chord = np.sqrt(((points[:, :, None] - targets[:, None, :]) ** 2).sum(axis=0))
    return np.asarray(2 * EARTH_KM * np.arcsin(np.minimum(chord / 2, 1.0)))
