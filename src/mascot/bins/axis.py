"""Gaussian bumps on even axes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from mascot.bins.globe import place_name
from mascot.bins.membership import inliers
from mascot.bins.sparse import SparseBins, from_pairs, ranges
from mascot.kernels.constants import BEYOND, MARGIN, REACH, SCALE, SPACING
from mascot.kernels.native.pack import PackedBins, pack_axes
from mascot.kernels.objective import Bools, Floats, Ints

SECONDS_A_DAY = 86_400.0
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FAR = 2.0**60  # bins; the largest that fits an int64 with room to add


@dataclass(frozen=True, slots=True)
class Axis:
    """Evenly spaced bin centres `origin + start + step * j`, j < count, each a bump of width `sigma`.

    `period` > 0 closes the axis to a circle. An axis with step 0 follows its rows: centres are 1.5 widths apart, and a
    width of 0 stands for an eighth of the root-mean-square distance between two rows, and a width below 0 for the same
    but at most -`sigma`. Outliers do not influence the width. They count as `floor` or `ceiling`, so that one wrong
    date does not make every bin a decade wide.
    """

    start: float = 0.0
    step: float = 0.0
    count: int = 0
    sigma: float = 0.0
    period: float = 0.0
    smallest: float = 0.0  # least self-scaled width, in the unit of the axis
    floor: float = -math.inf  # lower values count as this
    ceiling: float = math.inf  # higher values count as this
    origin: float = 0.0  # lowest value of a self-scaled axis: differences from it keep the digits of dates

    def resolve(self, values: Floats) -> Axis:
        """Return the axis with its width fixed by these values."""
        if self.step > 0:
            return self
        valued = values[~np.isnan(values)]
        low = float(valued.min()) if len(valued) else 0.0
        high = float(valued.max()) if len(valued) else 0.0
        sigma, floor, ceiling = self.sigma, self.floor, self.ceiling
        if sigma <= 0:
            inlier, deviation = inliers(valued[None])
            sigma = max(math.sqrt(2.0) * deviation / SCALE, self.smallest) or 1.0  # all equal: any width will do
            sigma = min(sigma, -self.sigma) if self.sigma else sigma
            if not inlier.all():
                first, last = valued[inlier].min() - BEYOND * sigma, valued[inlier].max() + BEYOND * sigma
                floor, low = (float(first), float(first)) if low < first else (floor, low)
                ceiling, high = (float(last), float(last)) if high > last else (ceiling, high)
        step = SPACING * sigma
        count = math.ceil((high - low) / step) + 1 + 2 * MARGIN
        return Axis(-MARGIN * step, step, count, sigma, self.period, self.smallest, floor, ceiling, origin=low)

    def positions(self, values: Floats) -> Floats:
        """Return where values lie among the bins, 0 at the first centre, rounded as in C."""
        return (np.clip(values, self.floor, self.ceiling) - self.origin - self.start) * (1 / self.step)

    def window(self, values: Floats) -> tuple[Ints, Ints]:
        """Return the first bin (possibly outside the axis) and the number of bins within reach of each value."""
        positions, reach = self.positions(values), REACH * self.sigma / self.step + 1e-9
        first = np.clip(np.ceil(positions - reach), -_FAR, _FAR).astype(np.int64)
        last = np.clip(np.floor(positions + reach), -_FAR, _FAR).astype(np.int64)
        if self.period > 0:
            last = np.minimum(last, first + self.count - 1)
        else:
            first, last = np.maximum(first, 0), np.minimum(last, self.count - 1)
        return first, np.maximum(last - first + 1, 0)

    def squared(self, values: Floats, bins: Ints) -> Floats:
        """Return the squared distance to the centres of `bins`, in widths."""
        distance = self.positions(values) - bins
        if self.period > 0:
            distance = np.abs(distance) % self.count
            distance = np.minimum(distance, self.count - distance)
        return np.asarray((distance * (self.step / self.sigma)) ** 2)


@dataclass(frozen=True, eq=False, slots=True)
class AxisBins:
    """Gaussian bumps on one or two axes: p = exp(-(sum of squared distances in widths) / 2)."""

    axes: tuple[Axis, ...]
    values: tuple[Floats, ...]  # one array per axis; NaN is a missing value
    unit: str = "number"  # how bins are named: number, hour, season, weekday, date or degrees

    @property
    def rows(self) -> int:
        return len(self.values[0])

    @property
    def count(self) -> int:
        return math.prod(axis.count for axis in self.axes)

    def missing(self, rows: Ints | None = None) -> Bools:
        values, *further = self.values if rows is None else tuple(values[rows] for values in self.values)
        return np.isnan(sum(further, start=values))

    def name(self, bin_: int) -> str:
        if self.unit == "degrees":
            rows, columns = self.axes
            lat = rows.start + bin_ // columns.count * rows.step
            return place_name(lat, columns.start + bin_ % columns.count * columns.step, rows.step)
        (axis,) = self.axes
        return _value_name(self.unit, axis, axis.origin + axis.start + axis.step * bin_)

    def take(self, rows: Ints) -> AxisBins:
        return replace(self, values=tuple(values[rows] for values in self.values))

    def resolve(self) -> AxisBins:
        return replace(self, axes=tuple(axis.resolve(v) for axis, v in zip(self.axes, self.values, strict=True)))

    def sparse(self) -> SparseBins:
        fixed = self.resolve()
        row = np.flatnonzero(~self.missing())
        bin_, squared = np.zeros(len(row), np.int64), np.zeros(len(row))
        for axis, values in zip(fixed.axes, fixed.values, strict=True):
            owner, along = ranges(*axis.window(values[row]))
            row, bin_ = row[owner], bin_[owner]
            squared = squared[owner] + axis.squared(values[row], along)
            bin_ = bin_ * axis.count + (along % axis.count if axis.period > 0 else along)
        return from_pairs(row, bin_, np.exp(-squared / 2), self.rows, fixed.count)

    def packed(self) -> PackedBins:
        numbers: tuple[float, ...] = ()
        for a in self.axes:
            numbers += (a.start, a.step, a.count, a.sigma, a.period, a.smallest, a.floor, a.ceiling, a.origin)
        return pack_axes(numbers, self.values)


def _value_name(unit: str, axis: Axis, value: float) -> str:
    """Name the bin whose centre is `value`."""
    if unit == "hour":
        return f"{value:g} h"
    if unit == "weekday":
        return WEEKDAYS[round(value) % 7]
    if unit == "season":
        day = date.fromordinal(date(2000, 1, 1).toordinal() + int(value))
        return f"{day:%d} {day:%b}"
    beyond = BEYOND * axis.sigma
    if value < axis.floor + beyond / 2:
        return f"below {_text(unit, axis, axis.floor + beyond)}"
    if value > axis.ceiling - beyond / 2:
        return f"above {_text(unit, axis, axis.ceiling - beyond)}"
    return _text(unit, axis, value)


def _text(unit: str, axis: Axis, value: float) -> str:
    if unit != "date":
        return f"{value:g}" if axis.period > 0 else f"{value:.4g}"
    precision = "D" if axis.step < 60 else "M" if axis.step < 730 else "Y"
    return str(np.datetime64(int(value * SECONDS_A_DAY), "s").astype(f"M8[{precision}]"))
