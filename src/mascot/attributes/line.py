"""Attributes on a line: dates and numbers. Bins follow the range of the candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mascot.attributes.attribute import Columns, Missing, check_sigma
from mascot.attributes.category import text_labels
from mascot.attributes.columns import ColumnAttribute, numbers
from mascot.attributes.times import instants, remedy_for
from mascot.bins import Axis, AxisBins, Floats, SparseBins
from mascot.bins.axis import SECONDS_A_DAY
from mascot.errors import require
from mascot.kernels.constants import SPACING

_MOST_BINS = 4_000_000
_FOCUS_DAYS = 0.3  # widest default of a focus
_FOCUS_RANGE = 20_000  # days, 55 years: over a longer range there would be too many bins


def _line_bins(values: Floats, sigma: float | None, smallest: float, owner: str, unit: str) -> AxisBins:
    valued = values[~np.isnan(values)]
    if sigma is not None and len(valued):
        bins = float(valued.max() - valued.min()) / (SPACING * sigma)
        rule = f"must leave at most {_MOST_BINS:,} bins over the candidates' range"
        require(bins <= _MOST_BINS, owner, rule, sigma)
    return AxisBins((Axis(sigma=sigma or 0.0, smallest=smallest),), (values,), unit)


def _standard(values: Floats) -> Floats:
    """Return the values with mean 0 and deviation 1; missing values are 0."""
    valued = values[~np.isnan(values)]
    spread = float(valued.std()) if len(valued) else 0.0
    centre = float(valued.mean()) if len(valued) else 0.0
    return np.nan_to_num((values - centre) / (spread or 1.0))[:, None]


@dataclass(frozen=True, slots=True)
class Number(ColumnAttribute):
    """Any number: price, altitude, focal length, likes.

    Parameters
    ----------
    column
        Column of numbers.
    sigma
        Width of a bin in the column's unit (default: an eighth of the root-mean-square difference between two
        candidates, outliers ignored, so that the unit of the column does not matter; outliers then count as just
        beyond the other values).
    missing, name
        What a candidate without a number gets (``"last"``, ``"neutral"``, ``"drop"``); default name: the column's.
    """

    column: str
    sigma: float | None = None
    missing: Missing = "last"
    name: str = ""
    read, near = staticmethod(numbers), "a number"

    def __post_init__(self) -> None:
        check_sigma("Number.sigma", self.sigma)
        ColumnAttribute.__post_init__(self)

    def membership(self, columns: Columns, vectors: Floats | None) -> AxisBins:
        return _line_bins(self._values(columns), self.sigma, 0.0, "Number.sigma", "number")

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        return _standard(self._values(columns))

    def labels(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        """Return the number itself as text: what `limit` and `share` count."""
        return text_labels([None if value != value else f"{value:g}" for value in self._values(columns).tolist()])


@dataclass(frozen=True, slots=True)
class Date(ColumnAttribute):
    """A day in history. Instants count: times with a time zone are converted to UTC.

    Parameters
    ----------
    column
        Column of times.
    sigma_days
        Width of a bin in days (default: follows the candidates, as for `Number`; at least an hour, and for a focus at
        most 0.3 days).
    missing, name
        What a candidate without a time gets (``"last"``, ``"neutral"``, ``"drop"``); name in explanations.
    """

    column: str = "taken"
    sigma_days: float | None = None
    missing: Missing = "last"
    name: str = "date"
    read, near = staticmethod(instants), "a time (ISO, EXIF or datetime)"
    remedy = staticmethod(remedy_for)

    def __post_init__(self) -> None:
        check_sigma("Date.sigma_days", self.sigma_days)
        ColumnAttribute.__post_init__(self)

    def _values(self, columns: Columns) -> Floats:
        moments = instants(columns, self.column, "Date")
        return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / SECONDS_A_DAY)

    def membership(self, columns: Columns, vectors: Floats | None) -> AxisBins:
        return _line_bins(self._values(columns), self.sigma_days, 1 / 24, "Date.sigma_days", "date")

    def focus_membership(self, columns: Columns, vectors: Floats | None) -> AxisBins:
        bins = self.membership(columns, vectors)
        values = bins.values[0]
        days = float(np.nanmax(values) - np.nanmin(values)) if np.isfinite(values).any() else 0.0
        if self.sigma_days is not None or days > _FOCUS_RANGE:
            return bins
        return replace(bins, axes=(replace(bins.axes[0], sigma=-_FOCUS_DAYS),))

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        return _standard(self._values(columns))

    def labels(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        """Return the calendar day of each row, ``"2019-07-14"``: what `limit` and `share` count."""
        days = instants(columns, self.column, "Date").astype("datetime64[D]")
        return text_labels([None if day is None else day.isoformat() for day in days.tolist()])
