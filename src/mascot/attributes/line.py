"""What lies on a line: dates and numbers. Bins follow the candidates' own range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mascot.attributes.attribute import Columns, Missing, check_missing, check_sigma
from mascot.attributes.columns import near_point, numbers, times
from mascot.errors import require
from mascot.memberships import BEYOND, SPACING, Axis, Floats, Windows
from mascot.values import Value

_DAY = 86_400.0
_MOST_BINS = 4_000_000


def _windows(values: Floats, sigma: float | None, smallest: float, owner: str, date: bool) -> Windows:
    known = values[~np.isnan(values)]
    if sigma is not None and len(known):
        bins = float(known.max() - known.min()) / (SPACING * sigma)
        require(
            bins <= _MOST_BINS,
            owner,
            f"must leave at most {_MOST_BINS:,} bins over the candidates' range",
            sigma,
        )

    def labels(axes: tuple[Axis, ...]) -> Any:
        (axis,) = axes
        unit = "D" if axis.step < 60 else "M" if axis.step < 730 else "Y"
        beyond = BEYOND * axis.sigma

        def text(value: float) -> str:
            return str(np.datetime64(int(value * _DAY), "s").astype(f"M8[{unit}]")) if date else f"{value:.4g}"

        def name(bin_: int) -> str:
            centre = axis.start + axis.step * bin_
            if centre < axis.floor + beyond / 2:
                return f"below {text(axis.floor + beyond)}"
            if centre > axis.ceiling - beyond / 2:
                return f"above {text(axis.ceiling - beyond)}"
            return text(centre)

        return name

    return Windows((Axis(sigma=sigma or 0.0, smallest=smallest),), (values,), labels=labels)


def _standard(values: Floats) -> Floats:
    """Zero mean, unit spread; zeros where the value is missing."""
    known = values[~np.isnan(values)]
    spread = float(known.std()) if len(known) else 0.0
    centre = float(known.mean()) if len(known) else 0.0
    return np.nan_to_num((values - centre) / (spread or 1.0))[:, None]


@dataclass(frozen=True, slots=True)
class Number(Value):
    """Any number: price, altitude, focal length, likes.

    Parameters
    ----------
    column
        Column of numbers.
    sigma
        Width of a bin's bump in the column's unit. Unless given, an eighth of the root-mean-square difference
        between two candidates, outliers aside, so that the scale of the column does not matter; outliers then count
        as just beyond the others.
    missing
        What a candidate without a number gets: ``"last"``, ``"neutral"`` or ``"drop"``.
    name
        What explanations and gains call it; the column's name unless given.
    """

    column: str
    sigma: float | None = None
    missing: Missing = "last"
    name: str = ""

    def __post_init__(self) -> None:
        check_sigma("Number.sigma", self.sigma)
        check_missing("Number", self.missing)
        object.__setattr__(self, "name", self.name or self.column)

    def membership(self, columns: Columns, vectors: Floats | None) -> Windows:
        return _windows(numbers(columns, self.column, "Number"), self.sigma, 0.0, "Number.sigma", date=False)

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        return _standard(numbers(columns, self.column, "Number"))

    def point(self, value: Any) -> dict[str, Any]:
        return near_point(numbers, self.column, value, "Number", "a number")


@dataclass(frozen=True, slots=True)
class Date(Value):
    """A day in history.

    Parameters
    ----------
    column
        Column of times.
    sigma_days
        Width of a bin's bump in days. Unless given it follows the candidates, as that of `Number`; never below an hour.
    missing
        What a candidate without a time gets: ``"last"``, ``"neutral"`` or ``"drop"``.
    name
        What explanations and gains call it.
    """

    column: str = "taken"
    sigma_days: float | None = None
    missing: Missing = "last"
    name: str = "date"

    def __post_init__(self) -> None:
        check_sigma("Date.sigma_days", self.sigma_days)
        check_missing("Date", self.missing)

    def _days(self, columns: Columns) -> Floats:
        moments = times(columns, self.column, "Date")
        return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / _DAY)

    def membership(self, columns: Columns, vectors: Floats | None) -> Windows:
        return _windows(self._days(columns), self.sigma_days, 1 / 24, "Date.sigma_days", date=True)

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        return _standard(self._days(columns))

    def point(self, value: Any) -> dict[str, Any]:
        return near_point(times, self.column, value, "Date", "a time (ISO, EXIF or datetime)")
