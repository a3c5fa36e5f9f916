"""Attributes on a line: dates and numbers. Bins follow the range of the candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from mascot.attributes.attribute import Columns, Missing, check_sigma
from mascot.attributes.category import text_labels
from mascot.attributes.columns import LARGEST_NUMBER, ColumnAttribute, numbers
from mascot.attributes.times import instants, remedy_for
from mascot.bins import Axis, AxisBins, Floats, SparseBins, one_hot
from mascot.bins.axis import SECONDS_A_DAY
from mascot.errors import InputError, OptionError, check_one_of, is_number, require
from mascot.kernels.constants import SPACING

_MOST_BINS = 4_000_000
_FOCUS_DAYS = 0.3  # widest default of a focus
_FOCUS_RANGE = 20_000  # days, 55 years: over a longer range there would be too many bins
_INTERVALS = 9  # of a skewed column and of a logarithmic scale
_LEAST_SKEWED = 12  # numbers; the skewness of fewer is chance
# Even bins show lognormal prices of skewness .19, .31 and .56 with 4.7, 5.3 and 6.3 of nine from the dearest third.
_SKEWED = 0.25


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

    If the column is skewed, as prices are, a spread has nine intervals with equally many candidates, so that cheap,
    middle and dear are shown alike. A column is skewed if the quantiles at 10%, 50% and 90% of at least twelve
    candidates have ``abs(q90 + q10 - 2 * q50) > 0.25 * (q90 - q10)``. `sigma`, `edges` and `scale` replace this rule.

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
    edges
        Ascending bounds of intervals, which are the bins and what `limit`, `share` and `at_least` count. An interval
        has its lower bound (default: None).
    scale
        ``"linear"``: even bins, also of a skewed column. ``"log"``: nine intervals whose bounds have equal ratios; all
        numbers must be above 0. `near` compares the numbers themselves (default: None, the rule above).

    Examples
    --------
    >>> Number("price", edges=[10, 20]).value_names
    ('below 10', '10 to 20', '20 and more')
    """

    column: str
    sigma: float | None = None
    missing: Missing = "last"
    name: str = ""
    edges: Sequence[float] | None = None
    scale: Literal["linear", "log"] | None = None
    read, near = staticmethod(numbers), "a number"

    def __post_init__(self) -> None:
        check_sigma("Number.sigma", self.sigma)
        check_one_of("Number.scale", self.scale, None, "linear", "log")
        if self.edges is not None:
            object.__setattr__(self, "edges", _checked_edges(self.edges))
        log = "log" if self.scale == "log" else None
        options = {
            name: value for name, value in (("sigma", self.sigma), ("edges", self.edges), ("scale", log)) if value
        }
        require(len(options) < 2, "Number", "takes one of sigma, edges and scale='log'", options)
        ColumnAttribute.__post_init__(self)

    @property
    def local(self) -> bool:
        """Whether the intervals of a spread depend on the candidates."""
        return self.sigma is None and self.edges is None and self.scale != "linear"

    @property
    def value_names(self) -> tuple[str, ...]:
        """The names of the intervals; empty without `edges`."""
        return () if self.edges is None else interval_names(self.edges)

    def membership(self, columns: Columns, vectors: Floats | None) -> AxisBins:
        return _line_bins(self._values(columns), self.sigma, 0.0, "Number.sigma", "number")

    def spread_membership(self, columns: Columns, vectors: Floats | None) -> AxisBins | SparseBins:
        """Return the intervals of a skewed column; otherwise as for a focus."""
        if not self.local or self.scale == "log":
            return self.focus_membership(columns, vectors)
        values = self._values(columns)
        ordered = np.sort(values[~np.isnan(values)])
        if not is_skewed(ordered):
            return self.membership(columns, vectors)
        return _intervals(values, np.unique(_quantiles(ordered, np.arange(1, _INTERVALS) / _INTERVALS)))

    def focus_membership(self, columns: Columns, vectors: Floats | None) -> AxisBins | SparseBins:
        """Return the intervals of `edges` or of a logarithmic scale; otherwise even bins."""
        if self.edges is not None:
            return self.labels(columns, vectors)
        if self.scale != "log":
            return self.membership(columns, vectors)
        values = self._values(columns)
        ordered = np.sort(self._logarithms(values[~np.isnan(values)]))
        low, high = np.exp(_quantiles(ordered, np.array([0.05, 0.95]))) if len(ordered) else (1.0, 1.0)
        edges = {float(f"{edge:.3g}") for edge in np.geomspace(low, high, _INTERVALS - 1).tolist()}
        return _intervals(values, np.array(sorted(edges)))

    def _logarithms(self, values: Floats) -> Floats:
        if (values <= 0).any():
            rule = f"must hold numbers above 0 for scale='log', got {values[values <= 0][0]:g}: use edges=[...]"
            raise InputError(f"Number column {self.column!r} {rule}")
        return np.log(values)

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        values = self._values(columns)
        return _standard(self._logarithms(values) if self.scale == "log" else values)

    def labels(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        """Return the intervals: what `limit`, `share` and `at_least` count."""
        if self.edges is None:
            rule = f"need intervals: use Number({self.column!r}, edges=[...])"
            raise OptionError(f"limit, share and at_least of Number({self.column!r}) {rule}")
        return _intervals(self._values(columns), np.array(self.edges))


def _quantiles(ordered: Floats, shares: Floats) -> Floats:
    """Return the smallest of these ascending numbers at or above each quantile."""
    return ordered[np.ceil(shares * (len(ordered) - 1)).astype(np.int64)]  # faster than np.quantile


def is_skewed(ordered: Floats) -> bool:
    """Return whether even bins of these ascending numbers would favour one end of them."""
    if len(ordered) < _LEAST_SKEWED:
        return False
    low, middle, high = _quantiles(ordered, np.array([0.1, 0.5, 0.9])).tolist()
    return bool(abs((high - middle) - (middle - low)) > _SKEWED * (high - low))


def interval_names(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the intervals between these edges and beyond them.

    >>> interval_names([0.5, 20])
    ('below 0.5', '0.5 to 20', '20 and more')
    """
    texts = [f"{edge:.15g}" for edge in edges]
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    return (f"below {texts[0]}", *between, f"{texts[-1]} and more")


def _intervals(values: Floats, edges: Floats) -> SparseBins:
    """Return one whole bin per number: the interval between two edges that holds it."""
    codes = np.where(np.isnan(values), -1, np.searchsorted(edges, values, side="right"))
    return one_hot(codes, len(edges) + 1, interval_names(edges.tolist()))


def _checked_edges(edges: Any) -> tuple[float, ...]:
    """Return ascending numbers as a tuple."""
    values = edges.tolist() if isinstance(edges, np.ndarray) else edges
    is_list = isinstance(values, (list, tuple)) and len(values) > 0 and all(map(is_number, values))
    valid = is_list and all(abs(value) <= LARGEST_NUMBER for value in values)
    valid = valid and all(low < high for low, high in pairwise(values))
    require(valid, "Number.edges", "must be ascending numbers, such as [10, 20]", values)
    return tuple(values)


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
