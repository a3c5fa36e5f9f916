"""Places: on the globe (`Place`), or on the paper's flat grid (`Place.grid`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.attribute import Columns, Missing, check_missing
from mascot.attributes.category import text_labels
from mascot.attributes.columns import as_array, cells, column_of, is_missing, numbers_within, printable
from mascot.attributes.nested import as_mapping
from mascot.bins import Axis, AxisBins, Floats, GlobeBins, SparseBins
from mascot.bins.globe import unit_vectors
from mascot.errors import InputError, OptionError, check_positive, check_whole, check_width, quoted, require
from mascot.serialize import Value

_NARROWEST_KM, _WIDEST_KM = 0.001, 100_000
_POINT_KEYS = (("lat", "latitude"), ("lon", "lng", "longitude"))
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
    lon: str | None
    owner = "Place"  # in messages

    def __post_init__(self) -> None:
        if self.lon is None and self.lat == "lat":
            object.__setattr__(self, "lon", "lon")

    def _coordinates(self, columns: Columns, wrap: bool = False) -> tuple[Floats, Floats]:
        """Return latitude and longitude in degrees; a place without either is missing.

        With `wrap`, longitudes are brought to -180..180: 179 degrees and -179 degrees are neighbours.
        """
        lat, lon = self.lat, self.lon
        if lon is None:
            columns, lon = split_points(column_of(columns, lat, self.owner), lat, self.owner), "longitude"
        north, lowest, highest, missing = numbers_within(columns, lat, self.owner)
        east, west_end, east_end, also_missing = numbers_within(columns, lon, self.owner)
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

    def pair(self, value: Any) -> Any:
        """Return a point that is a dictionary, as in a column, as latitude and longitude; other values unchanged."""
        return _point_of(value, "near", self.owner) if isinstance(value, Mapping) else value

    def point(self, value: Any) -> dict[str, Any]:
        with suppress(TypeError, ValueError):
            north, east = (float(part) for part in value)
            if abs(north) <= 90 and math.isfinite(east):
                point = {"lat": north, "lon": east}
                return {self.lat: point} if self.lon is None else {self.lat: north, self.lon: east}
        rule = "must be (latitude, longitude) in degrees, with a latitude in -90..90"
        raise InputError(f"{self.owner}: near {rule}, got {printable(value)!r}")


def split_points(column: NDArray[Any], name: str, owner: str) -> dict[str, NDArray[Any]]:
    """Return a column of points as two columns, the latitude under the name of the column, and "longitude"."""
    if column.ndim == 2 and column.shape[1] == 2:
        return {"longitude": column[:, 0], name: column[:, 1]}
    pairs = [_point_of(value, name, owner) for value in cells(column)]
    return {name: as_array([lat for lat, _ in pairs]), "longitude": as_array([lon for _, lon in pairs])}


def _point_of(value: Any, name: str, owner: str) -> tuple[Any, Any]:
    """Return the latitude and longitude of a point; None for a missing one."""
    fields = as_mapping(value)
    if fields is None:
        if is_missing(value):
            return None, None
        parts = value.split(",") if isinstance(value, str) else value
        if isinstance(parts, (list, tuple, np.ndarray)) and len(parts) == 2:
            return tuple(parts) if isinstance(value, str) else (parts[1], parts[0])
    elif not fields:
        return None, None
    elif "coordinates" in fields and fields.get("type") == "Point":
        position = fields["coordinates"]  # whose third number is the altitude
        return _point_of(position[:2] if isinstance(position, (list, tuple, np.ndarray)) else position, name, owner)
    else:
        lat, lon = ([fields[key] for key in keys if key in fields] for keys in _POINT_KEYS)
        if len(lat) == len(lon) == 1:
            return lat[0], lon[0]
    rule = 'must hold points such as {"lat": 41.1, "lon": -8.6}, "41.1,-8.6" or [-8.6, 41.1]'
    raise InputError(f"{owner} column {name!r} {rule}, got {quoted(printable(value))}")


@dataclass(frozen=True, slots=True)
class Grid(_Located):
    """The paper's geography: a flat grid over latitude and longitude, distances in degrees, no wrap at its edges.

    p = exp(-d^2 / (2 sigma^2)), and p below 0.01 is 0. `Place.grid` is the same.

    Parameters
    ----------
    lat, lon
        Columns in degrees, or one column of points; see `Place`.
    cells
        Number of evenly spaced centres from -90 to 90, and from -180 to 180, ends included (default: 20).
    sigma
        Width of a bin in degrees (default: 15).
    missing, name
        What a candidate without a place gets (``"last"``, ``"neutral"``, ``"drop"``); name in explanations.
    """

    lat: str = "lat"
    lon: str | None = None
    cells: int = 20
    sigma: float = 15.0
    missing: Missing = "last"
    name: str = "place"
    owner = "Place.grid"

    def __post_init__(self) -> None:
        _Located.__post_init__(self)
        check_whole("Place.grid.cells", self.cells, 2, 1000)
        check_width("Place.grid.sigma", self.sigma, 0.001, 10_000)
        check_missing("Place.grid", self.missing)

    def _coordinates(self, columns: Columns, wrap: bool = False) -> tuple[Floats, Floats]:
        """Return latitude and longitude in degrees; only longitudes outside -180..180 are wrapped."""
        lat, lon = _Located._coordinates(self, columns)
        return lat, np.where(np.abs(lon) > 180, (lon + 180) % 360 - 180, lon)

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
        Columns in degrees (default: "lat" and "lon"). Any longitude is taken modulo 360. A single name is a column of
        points: ``{"lat": 41.1, "lon": -8.6}`` (also `lng`, `latitude`, `longitude`), text ``"41.1,-8.6"`` (latitude
        first), ``[-8.6, 41.1]`` (longitude first, as in GeoJSON), or a GeoJSON Point.
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
    lon: str | None = None
    sigma_km: float | None = None
    missing: Missing = "last"
    name: str = "place"
    grid = staticmethod(Grid)  # the paper's grid

    def __post_init__(self) -> None:
        _Located.__post_init__(self)
        if self.sigma_km is not None:
            check_positive("Place.sigma_km", self.sigma_km)
            narrow, wide = self.sigma_km < _NARROWEST_KM, self.sigma_km > _WIDEST_KM
            require(not narrow, "Place.sigma_km", f"must be >= {_NARROWEST_KM:g}, a metre", self.sigma_km)
            require(not wide, "Place.sigma_km", f"must be at most {_WIDEST_KM:,}", self.sigma_km)
        check_missing("Place", self.missing)

    def membership(self, columns: Columns, vectors: Floats | None) -> GlobeBins:
        lat, lon = self._coordinates(columns, wrap=True)
        return GlobeBins(np.radians(lat), np.radians(lon), self.sigma_km or 0.0)

    def focus_membership(self, columns: Columns, vectors: Floats | None) -> GlobeBins:
        return replace(self.membership(columns, vectors), sigma_km=self.sigma_km or -_FOCUS_KM)

    def labels(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        """Raise an error: coordinates have no values that `limit` and `share` could count."""
        raise OptionError("limit and share count named values: use a column of cities or countries, got Place")
