"""Places: on the globe (`Place`), or on the paper's flat grid (`Place.grid`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mascot.attributes.attribute import Columns, Missing, check_missing, check_sigma
from mascot.attributes.category import text_labels
from mascot.attributes.columns import numbers_within, printable
from mascot.bins import Axis, AxisBins, Floats, GlobeBins, SparseBins
from mascot.bins.globe import unit_vectors
from mascot.errors import InputError, OptionError, check_positive, check_whole, require
from mascot.serialize import Value

_NARROWEST_KM = 0.001
_FOCUS_KM = 350.0  # widest default of a focus: narrow bins focus better, wide bins spread better


class NamedPoint(tuple[float, ...]):
    """Latitude and longitude with the name of the place, for `near=` and for explanations."""

    name: str

    def __new__(cls, lat: float, lon: float, name: str) -> NamedPoint:
        point = super().__new__(cls, (lat, lon))
        point.name = name
        return point

    def __getnewargs__(self) -> tuple[float, float, str]:
        return (self[0], self[1], self.name)


class _Located(Value):
    """Base class of places: columns of latitude and longitude, in degrees."""

    __slots__ = ()
    lat: str
    lon: str
    owner = "Place"  # in messages

    def _coordinates(self, columns: Columns, wrap: bool = False) -> tuple[Floats, Floats]:
        """Return latitude and longitude in degrees; a place without either is missing.

        With `wrap`, longitudes are brought to -180..180: 179 degrees and -179 degrees are neighbours.
        """
        north, lowest, highest, missing = numbers_within(columns, self.lat, self.owner)
        east, west_end, east_end, also_missing = numbers_within(columns, self.lon, self.owner)
        if lowest < -90 or highest > 90:
            wrong = north[np.abs(north) > 90][0]
            raise InputError(f"{self.owner} column {self.lat!r} must be a latitude in -90..90, got {wrong}")
        if wrap and (west_end < -180 or east_end >= 180):
            east = (east + 180) % 360 - 180
        if not (missing or also_missing):
            return north, east
        unknown = np.isnan(north + east)
        return np.where(unknown, np.nan, north), np.where(unknown, np.nan, east)

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        """Return points on the unit sphere; a missing place is a row of zeros."""
        lat, lon = self._coordinates(columns)
        points = unit_vectors(np.radians(lat), np.radians(lon))
        return np.nan_to_num(np.ascontiguousarray(points.T), copy=False)

    def point(self, value: Any) -> dict[str, Any]:
        try:
            north, east = (float(part) for part in value)
        except (TypeError, ValueError):
            raise InputError(f"{self.owner}: near must be (latitude, longitude), got {printable(value)!r}") from None
        if not (abs(north) <= 90 and math.isfinite(east)):
            rule = "must be a latitude in -90..90 and a longitude"
            raise InputError(f"{self.owner}: near {rule}, got {printable(value)!r}")
        return {self.lat: north, self.lon: east}


@dataclass(frozen=True, slots=True)
class Grid(_Located):
    """The paper's geography: a flat grid over latitude and longitude, distances in degrees, no wrap.

    p = exp(-d^2 / (2 sigma^2)), and p below 0.01 is 0. `Place.grid` is the same.

    Parameters
    ----------
    lat, lon
        Columns in degrees.
    cells
        Number of evenly spaced centres from -90 to 90, and from -180 to 180, ends included (default: 20).
    sigma
        Width of a bin in degrees (default: 15).
    missing, name
        What a candidate without a place gets (``"last"``, ``"neutral"``, ``"drop"``); name in explanations.
    """

    lat: str = "lat"
    lon: str = "lon"
    cells: int = 20
    sigma: float = 15.0
    missing: Missing = "last"
    name: str = "place"
    owner = "Place.grid"

    def __post_init__(self) -> None:
        check_whole("Place.grid.cells", self.cells, 2)
        check_positive("Place.grid.sigma", self.sigma)
        check_missing("Place.grid", self.missing)

    def membership(self, columns: Columns, vectors: Floats | None) -> AxisBins:
        steps = self.cells - 1
        axes = (
            Axis(-90.0, 180.0 / steps, self.cells, self.sigma),
            Axis(-180.0, 360.0 / steps, self.cells, self.sigma),
        )
        return AxisBins(axes, self._coordinates(columns), "degrees")

    def labels(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        """Return the nearest grid cell of each row: what `limit` and `share` count."""
        cells = self.cells - 1
        lat, lon = self._coordinates(columns)
        code = np.floor((lat + 90) / 180 * cells + 0.5) * self.cells + np.floor((lon + 180) / 360 * cells + 0.5)
        bins = self.membership(columns, vectors)
        return text_labels([None if value != value else bins.name(int(value)) for value in code.tolist()])


@dataclass(frozen=True, slots=True)
class Place(_Located):
    """Points on the globe, without an edge at the antimeridian or the poles.

    Bins use the chord, the straight line through the globe. Below 2,000 km it differs from the great-circle distance by
    less than 1%. The distance to a named value (`near=`) is the great-circle distance.

    Parameters
    ----------
    lat, lon
        Columns in degrees. Any longitude is taken modulo 360.
    sigma_km
        Width of a bin in kilometres (default: an eighth of the candidates' root-mean-square distance, outliers
        ignored, so that one city and the whole world both work; at least 50 m, and for a focus at most 350 km).
    missing, name
        What a candidate without a place gets (``"last"``, ``"neutral"``, ``"drop"``); name in explanations.

    Examples
    --------
    >>> import numpy as np
    >>> Place().membership({"lat": np.array([0.0, 0.0]), "lon": np.array([179.9, -179.9])}, None).rows
    2
    """

    lat: str = "lat"
    lon: str = "lon"
    sigma_km: float | None = None
    missing: Missing = "last"
    name: str = "place"
    grid = staticmethod(Grid)  # the paper's grid

    def __post_init__(self) -> None:
        check_sigma("Place.sigma_km", self.sigma_km)
        thin = self.sigma_km is not None and self.sigma_km < _NARROWEST_KM
        require(not thin, "Place.sigma_km", f"must be >= {_NARROWEST_KM:g}, a metre", self.sigma_km)
        check_missing("Place", self.missing)

    def membership(self, columns: Columns, vectors: Floats | None) -> GlobeBins:
        return self._globe_bins(columns, self.sigma_km or 0.0)

    def focus_membership(self, columns: Columns, vectors: Floats | None) -> GlobeBins:
        return self._globe_bins(columns, self.sigma_km or -_FOCUS_KM)

    def _globe_bins(self, columns: Columns, sigma_km: float) -> GlobeBins:
        lat, lon = self._coordinates(columns, wrap=True)
        return GlobeBins(np.radians(lat), np.radians(lon), sigma_km)

    def labels(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        """Raise: places have no names to count, but a column of cities has."""
        raise OptionError("limit and share count named values: use a column of cities or countries, got Place")
