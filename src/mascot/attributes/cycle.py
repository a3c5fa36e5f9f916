"""Attributes on a circle: hour of day, day of year, weekday, and any cycle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np

from mascot.attributes.attribute import Columns, Missing
from mascot.attributes.columns import ColumnAttribute, numbers
from mascot.attributes.times import hours, remedy_for, times
from mascot.bins import Axis, AxisBins, Floats, SparseBins, one_hot
from mascot.bins.axis import WEEKDAYS
from mascot.errors import check_whole, check_width

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_MOST_BINS = 100_000
_FINEST = 1e6  # widths on the circle: rounding must not decide which bins a value belongs to
_axis = lru_cache(maxsize=64)(Axis)


class _CircleAttribute(ColumnAttribute):
    """Base class of attributes on a circle: `bins` bumps of width `sigma`, the first at 0."""

    __slots__ = ()
    period: float
    bins: Any
    sigma: Any
    unit: str

    def __post_init__(self) -> None:
        check_whole(f"{type(self).__name__}.bins", self.count, 1, _MOST_BINS)
        check_width(f"{type(self).__name__}.sigma", self.width, self.period / _FINEST, self.period * _FINEST)
        ColumnAttribute.__post_init__(self)

    @property
    def count(self) -> int:
        """The number of bins in use."""
        return self.bins

    @property
    def width(self) -> float:
        """The width in use."""
        return self.sigma

    def membership(self, columns: Columns, vectors: Floats | None) -> AxisBins:
        return self._circle_bins(columns, self.count, self.width)

    def _circle_bins(self, columns: Columns, bins: int, width: float) -> AxisBins:
        axis = _axis(0.0, self.period / bins, bins, width, self.period)
        return AxisBins((axis,), (self._values(columns),), self.unit)

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        """Return points on the unit circle; a missing value is a row of zeros."""
        angle = self._values(columns) * (2 * math.pi / self.period)
        return np.nan_to_num(np.stack([np.sin(angle), np.cos(angle)], axis=1), copy=False)


def _named_codes(values: Floats, names: tuple[str, ...]) -> SparseBins:
    """Return one named label per row: the whole part of its value; NaN is missing."""
    codes = np.where(np.isnan(values), -1, np.floor(np.nan_to_num(values)) % len(names)).astype(np.int64)
    return one_hot(codes, len(names), names)


@dataclass(frozen=True, slots=True)
class HourOfDay(_CircleAttribute):
    """Time of day on a 24-hour circle, to the minute. Local time counts: a time zone is ignored.

    Parameters
    ----------
    column
        Column of times, plain hours in 0..24, or text like ``"18:30"``.
    bins
        Number of bins, the first at midnight (default: 24, or 96 for a focus).
    sigma
        Width of a bin in hours (default: 0.75, or 0.2 for a focus; 1.5 if `bins` is given).
    missing, name
        What a candidate without a time gets (``"last"``, ``"neutral"``, ``"drop"``); name in explanations.
    """

    column: str = "taken"
    bins: int | None = None
    sigma: float | None = None
    missing: Missing = "last"
    name: str = "hour"
    period, unit = 24.0, "hour"
    value_names = tuple(f"{hour}:00" for hour in range(24))  # all that limits and shares may name
    read, near = staticmethod(hours), "an hour like 18 or 18:30"

    @property
    def count(self) -> int:
        return 24 if self.bins is None else self.bins

    @property
    def width(self) -> float:
        return self.sigma if self.sigma is not None else 0.75 if self.bins is None else 1.5

    def focus_membership(self, columns: Columns, vectors: Floats | None) -> AxisBins:
        usual = self.bins is None and self.sigma is None
        return self._circle_bins(columns, 96, 0.2) if usual else self.membership(columns, vectors)

    def labels(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        """Return the clock hour of each row, ``"18:00"`` from 18:00 to 18:59: what `limit` and `share` count."""
        return _named_codes(self._values(columns), self.value_names)


@dataclass(frozen=True, slots=True)
class DayOfYear(_CircleAttribute):
    """Time of year on a circle of 366 days.

    Parameters
    ----------
    column
        Column of times.
    bins
        Number of bins, the first on 1 January (default: 24, half-months).
    sigma
        Width of a bin in days (default: 15).
    missing, name
        What a candidate without a time gets (``"last"``, ``"neutral"``, ``"drop"``); name in explanations.
    """

    column: str = "taken"
    bins: int = 24
    sigma: float = 15.0
    missing: Missing = "last"
    name: str = "season"
    period, unit = 366.0, "season"
    value_names = MONTHS
    read, near = staticmethod(times), "a time (ISO, EXIF or datetime)"
    remedy = staticmethod(remedy_for)

    def _since_new_year(self, columns: Columns, unit: str) -> Floats:
        """Return the days ("D") or months ("M") since the year began."""
        moments = times(columns, self.column, "DayOfYear")
        passed = moments.astype(f"datetime64[{unit}]") - moments.astype("datetime64[Y]")
        return np.where(np.isnat(moments), np.nan, passed.astype(f"timedelta64[{unit}]").astype(np.float64))

    def _values(self, columns: Columns) -> Floats:
        return self._since_new_year(columns, "D")

    def labels(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        """Return the month of each row: what `limit` and `share` count."""
        return _named_codes(self._since_new_year(columns, "M"), self.value_names)


@dataclass(frozen=True, slots=True)
class Weekday(_CircleAttribute):
    """Day of the week, Monday 0 to Sunday 6.

    Parameters
    ----------
    column
        Column of times.
    sigma
        Width of a bin in days (default: 0.5, which hardly mixes the days).
    missing, name
        What a candidate without a time gets (``"last"``, ``"neutral"``, ``"drop"``); name in explanations.
    """

    column: str = "taken"
    sigma: float = 0.5
    missing: Missing = "last"
    name: str = "weekday"
    period, bins, unit = 7.0, 7, "weekday"
    value_names = WEEKDAYS
    read, near = staticmethod(times), "a day of the week or a time"
    remedy = staticmethod(remedy_for)

    def _values(self, columns: Columns) -> Floats:
        moments = times(columns, self.column, "Weekday")
        days = moments.astype("datetime64[D]").astype(np.int64) + 3  # 1970-01-01 was a Thursday
        return np.where(np.isnat(moments), np.nan, days % 7)

    def labels(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        """Return the day of the week of each row: what `limit` and `share` count."""
        return _named_codes(self._values(columns), self.value_names)

    def point(self, value: Any) -> dict[str, Any]:
        if isinstance(value, str) and value.capitalize() in WEEKDAYS:
            value = datetime(2024, 1, 1 + WEEKDAYS.index(value.capitalize()))  # 2024 began on a Monday
        return ColumnAttribute.point(self, value)


@dataclass(frozen=True, slots=True)
class Cycle(_CircleAttribute):
    """Numbers on a circle: compass bearings, phases, hues.

    Parameters
    ----------
    column
        Column of numbers; any number is taken modulo `period`.
    period
        Length of the circle in the column's unit: 360 for degrees.
    bins
        Number of bins, the first at 0 (default: 24).
    sigma
        Width of a bin in the column's unit (default: one and a half bins).
    missing, name
        What a candidate without a number gets (``"last"``, ``"neutral"``, ``"drop"``); default name: the column's.
    """

    column: str
    period: float
    bins: int = 24
    sigma: float | None = None
    missing: Missing = "last"
    name: str = ""
    unit = "number"
    read, near = staticmethod(numbers), "a number"

    @property
    def width(self) -> float:
        return self.period / self.bins * 1.5 if self.sigma is None else self.sigma

    def __post_init__(self) -> None:
        check_width("Cycle.period", self.period)
        _CircleAttribute.__post_init__(self)

    def _values(self, columns: Columns) -> Floats:
        return numbers(columns, self.column, "Cycle") % self.period

    def labels(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        """Return the nearest centre of each row: what `limit` and `share` count."""
        step = self.period / self.bins
        values = np.floor(self._values(columns) / step + 0.5) % self.bins
        return _named_codes(values, tuple(f"{step * number:g}" for number in range(self.bins)))
