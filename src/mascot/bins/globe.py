"""Gaussian bumps on an even mesh of the globe."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mascot.bins.membership import inliers
from mascot.bins.sparse import SparseBins, from_pairs, ranges
from mascot.kernels.constants import EARTH_KM, REACH, SCALE, SMALLEST_KM, SPACING
from mascot.kernels.native.pack import PackedBins, pack_globe
from mascot.kernels.objective import Bools, Floats, Ints

_RING_SHIFT = 32  # a bin's number is ring * 2**32 + cell


@dataclass(frozen=True, eq=False, slots=True)
class GlobeBins:
    """Bumps of straight-line distance on a mesh of cells of equal size, 1.5 widths across.

    p = exp(-|x - y|^2 / (2 width^2)) for unit vectors x and y, a von Mises-Fisher density. Below 2,000 km the chord and
    the great circle differ by less than 1%. The mesh is rings of constant latitude, each divided into equal cells; a
    bin is a cell. Nothing is special at the antimeridian or the poles. Bins exist only within reach of a row.
    """

    lat: Floats  # radians; NaN is a missing value
    lon: Floats  # radians, in -pi..pi
    sigma_km: float = 0.0  # 0: follow the rows; below 0: follow the rows, at most -sigma_km

    @property
    def rows(self) -> int:
        return len(self.lat)

    @property
    def rings(self) -> int:
        return math.ceil(math.pi / (SPACING * (self.sigma_km / EARTH_KM)))

    def missing(self, rows: Ints | None = None) -> Bools:
        return np.isnan(self.lat + self.lon) if rows is None else np.isnan(self.lat[rows] + self.lon[rows])

    def name(self, bin_: int) -> str:
        ring, cell, rings = bin_ >> _RING_SHIFT, bin_ & 0xFFFFFFFF, self.rings
        lat = -90 + (ring + 0.5) * 180 / rings
        cells = max(math.floor(2 * rings * math.cos(math.radians(lat)) + 0.5), 1)  # `cell_counts` of one ring
        return place_name(lat, -180 + (cell + 0.5) * 360 / cells, 180 / rings)

    def take(self, rows: Ints) -> GlobeBins:
        return replace(self, lat=self.lat[rows], lon=self.lon[rows])

    def resolve(self) -> GlobeBins:
        if self.sigma_km > 0:
            return self
        valued = ~self.missing()
        sigma = rms_chord_km(self.lat[valued], self.lon[valued]) / SCALE
        sigma = max(sigma, SMALLEST_KM)
        return replace(self, sigma_km=min(sigma, -self.sigma_km) if self.sigma_km else sigma)

    def sparse(self) -> SparseBins:
        fixed = self.resolve()
        valued = np.flatnonzero(~self.missing())
        width = fixed.sigma_km / EARTH_KM
        rings, height = fixed.rings, math.pi / fixed.rings
        half_chord = min(REACH * width / 2, 1.0)
        limit, reach = half_chord**2, 2 * math.asin(half_chord)  # the reach as a haversine and as an angle
        lat, lon = self.lat[valued], self.lon[valued]

        first = np.maximum(np.ceil((lat - reach + math.pi / 2) / height - 0.5 - 1e-9), 0).astype(np.int64)
        last = np.minimum(np.floor((lat + reach + math.pi / 2) / height - 0.5 + 1e-9), rings - 1).astype(np.int64)
        owner, ring = ranges(first, np.maximum(last - first + 1, 0))
        centre = (ring + 0.5) * height - math.pi / 2
        across = np.sin((lat[owner] - centre) / 2) ** 2
        along = np.cos(lat[owner]) * np.cos(centre)

        # How far along the ring a cell may lie: limit = across + along * sin(half)^2.
        half = np.arcsin(np.sqrt(np.clip((limit - across) / np.maximum(along, 1e-300), 0.0, 1.0)))
        cells = cell_counts(ring, rings)
        cell_width = 2 * math.pi / cells
        first_cell = np.ceil((lon[owner] - 2 * half + math.pi) / cell_width - 0.5 - 1e-9).astype(np.int64)
        last_cell = np.floor((lon[owner] + 2 * half + math.pi) / cell_width - 0.5 + 1e-9).astype(np.int64)
        pair, cell = ranges(first_cell, np.clip(last_cell - first_cell + 1, 0, cells))

        lon_difference = lon[owner][pair] - ((cell + 0.5) * cell_width[pair] - math.pi)
        haversine = across[pair] + along[pair] * np.sin(lon_difference / 2) ** 2
        bin_ = (ring[pair] << _RING_SHIFT) + cell % cells[pair]
        row = valued[owner[pair]]
        return from_pairs(row, bin_, np.exp(-2 * haversine / width**2), self.rows, 2**62)

    def packed(self) -> PackedBins:
        return pack_globe(self.lat, self.lon, self.sigma_km)


def cell_counts(ring: Ints, rings: int) -> Ints:
    """Return the number of cells in a ring: as wide as the ring is high, at least one."""
    centre = (ring + 0.5) * (math.pi / rings) - math.pi / 2
    return np.maximum(np.floor(2 * rings * np.cos(centre) + 0.5), 1).astype(np.int64)


def unit_vectors(lat: Floats, lon: Floats) -> Floats:
    """Return points [3, n] on the unit sphere, of coordinates in radians."""
    across = np.cos(lat)
    return np.array([across * np.cos(lon), across * np.sin(lon), np.sin(lat)])


def rms_chord_km(lat: Floats, lon: Floats) -> float:
    """Return the root-mean-square straight-line distance between two points of the globe without outliers, in km."""
    return math.sqrt(2.0) * EARTH_KM * inliers(unit_vectors(lat, lon))[1]


def great_circle_km(lat: Floats, lon: Floats, point: tuple[float, float]) -> Floats:
    """Return great-circle distances from a point, all in radians, in kilometres."""
    haversine = np.sin((lat - point[0]) / 2) ** 2
    haversine = haversine + np.cos(lat) * math.cos(point[0]) * np.sin((lon - point[1]) / 2) ** 2
    return 2 * EARTH_KM * np.arcsin(np.sqrt(np.minimum(haversine, 1.0)))


def place_name(lat: float, lon: float, cell: float) -> str:
    """Return `35.7 N 139.7 E`, with as many decimals as cells of `cell` degrees need."""
    digits = max(0, min(5, math.ceil(-math.log10(cell)) + 1))
    return f"{abs(lat):.{digits}f} {'S' if lat < 0 else 'N'} {abs(lon):.{digits}f} {'W' if lon < 0 else 'E'}"
