"""Soft bins: who belongs to which bin, and how much.

A membership describes N rows (candidates, or a whole corpus) without ever being an N x bins matrix.
There are three shapes, and every attribute is one of them:

- `Windows`: Gaussian bumps on one or two even axes (grids, hours, dates, numbers);
- `Sphere`: Gaussian bumps on an even mesh of the globe;
- `Sparse`: explicit (bin, value) pairs (categories, clusters, anything a user brings).

`Windows` and `Sphere` may leave their width open: it then follows the rows at hand, outliers aside; `resolve()` closes
it.
The last `extra` rows are points to start from (`near=`): they have bins but never shape the width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CUTOFF = 0.01  # memberships below this are zero
REACH = math.sqrt(2 * math.log(1 / CUTOFF))  # widths at which a bump falls to the cutoff
SCALE = 8.0  # self-scaling width: root-mean-square distance between two rows, divided by this
OUTLIER = 1 + math.sqrt(5)  # standard deviations; its square is irrational, so no row of whole numbers lies just there
ROUNDS = 3  # of finding who is no outlier
LEAST = 1e-13  # share of the whole deviation below which the others are all the same, and everyone counts
BEYOND = 12.0  # widths from the last row that is no outlier to where those beyond it are put on an axis
SPACING = 1.5  # self-scaling bins: distance between centres, in widths; bumps then sum to a flat field
MARGIN = 3  # bins beyond the outermost rows, so that every row keeps its whole bump
EARTH_KM = 6371.0088
SMALLEST_KM = 0.05  # consumer GPS cannot tell points that are closer
_FAR = 2.0**60  # bins; a whole number can say no more


class Membership(Protocol):
    """N rows of soft bins."""

    @property
    def rows(self) -> int: ...

    @property
    def missing(self) -> Bools: ...  # [rows], rows without a value

    @property
    def bins(self) -> int: ...  # known once resolved

    @property
    def name(self) -> Callable[[int], str]: ...  # a bin's readable name

    def take(self, rows: Ints, extra: int = 0) -> Membership: ...

    def resolve(self) -> Membership: ...

    def sparse(self) -> Sparse: ...


def _number(bin_: int) -> str:
    return f"bin {bin_}"


@dataclass(frozen=True, eq=False)
class Sparse:
    """Explicit bins: row i has bins `indices[indptr[i]:indptr[i+1]]` with `values` in (0, 1]."""

    indptr: Ints
    indices: Ints
    values: Floats
    bins: int
    missing: Bools
    name: Callable[[int], str] = _number

    @property
    def rows(self) -> int:
        return len(self.indptr) - 1

    def take(self, rows: Ints, extra: int = 0) -> Sparse:
        counts = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        pairs = np.repeat(self.indptr[rows] - indptr[:-1], counts) + np.arange(indptr[-1])
        return replace(
            self,
            indptr=indptr,
            indices=self.indices[pairs],
            values=self.values[pairs],
            missing=self.missing[rows],
        )

    def resolve(self) -> Sparse:
        return self

    def sparse(self) -> Sparse:
        return self

    def dense(self) -> Floats:
        """The rows as an N x bins matrix. For small problems only."""
        matrix = np.zeros((self.rows, self.bins))
        matrix[np.repeat(np.arange(self.rows), np.diff(self.indptr)), self.indices] = self.values
        return matrix

    def compact(self) -> Sparse:
        """The same rows over the bins that occur, in ascending order of bin."""
        used, indices = np.unique(self.indices, return_inverse=True)
        known = self.name
        return replace(self, indices=indices.astype(np.int64), bins=len(used), name=lambda bin_: known(int(used[bin_])))


def one_hot(labels: Ints, bins: int, name: Callable[[int], str] = _number) -> Sparse:
    """One whole bin per row; label -1 is a missing value."""
    known = labels >= 0
    return Sparse(
        indptr=np.concatenate([[0], np.cumsum(known)]).astype(np.int64),
        indices=labels[known].astype(np.int64),
        values=np.ones(int(known.sum())),
        bins=bins,
        missing=~known,
        name=name,
    )


def _from_pairs(row: Ints, bin_: Ints, value: Floats, bins: int, missing: Bools, name: Callable[[int], str]) -> Sparse:
    """Sparse rows from (row, bin, value) triples sorted by row; memberships below the cutoff are dropped."""
    kept = value >= CUTOFF
    counts = np.bincount(row[kept], minlength=len(missing))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Sparse(indptr, bin_[kept], value[kept], bins, missing, name)


def _ranges(first: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """For each i the integers first[i] .. first[i] + counts[i] - 1, flattened, with their owner i."""
    ends = np.cumsum(counts)
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, first[owner] + np.arange(int(ends[-1]) if len(ends) else 0) - (ends - counts)[owner]


@dataclass(frozen=True, slots=True)
class Axis:
    """Evenly spaced bin centres `start + step * j`, j < count, each a bump of width `sigma`.

    `period` > 0 closes the axis to a cycle. Without a step the axis follows its rows: centres every
    1.5 widths, the width an eighth of the root-mean-square distance between two rows unless given.
    Outliers do not count for it, and lie at `floor` or `ceiling`: one wrong date makes no bin a decade wide, and
    no axis endless.
    """

    start: float = 0.0
    step: float = 0.0
    count: int = 0
    sigma: float = 0.0
    period: float = 0.0
    smallest: float = 0.0  # least self-scaled width, in the axis' unit
    floor: float = -math.inf  # values below lie here
    ceiling: float = math.inf  # values above lie here

    def resolve(self, values: Floats) -> Axis:
        if self.step > 0:
            return self
        known = values[~np.isnan(values)]
        low = float(known.min()) if len(known) else 0.0
        high = float(known.max()) if len(known) else 0.0
        sigma, floor, ceiling = self.sigma, self.floor, self.ceiling
        if sigma == 0:
            kept, deviation = inliers(known[None])
            sigma = max(math.sqrt(2.0) * deviation / SCALE, self.smallest) or 1.0  # all equal: any width will do
            if not kept.all():
                first, last = known[kept].min() - BEYOND * sigma, known[kept].max() + BEYOND * sigma
                floor, low = (float(first), float(first)) if low < first else (floor, low)
                ceiling, high = (float(last), float(last)) if high > last else (ceiling, high)
        step = SPACING * sigma
        count = math.ceil((high - low) / step) + 1 + 2 * MARGIN
        return replace(
            self, start=low - MARGIN * step, step=step, count=count, sigma=sigma, floor=floor, ceiling=ceiling
        )

    def window(self, values: Floats) -> tuple[Ints, Ints]:
        """First bin (may be negative or beyond the last) and number of bins within reach of each value."""
        reach = REACH * self.sigma
        values = np.clip(values, self.floor, self.ceiling)
        first = np.clip(np.ceil((values - reach - self.start) / self.step - 1e-9), -_FAR, _FAR).astype(np.int64)
        last = np.clip(np.floor((values + reach - self.start) / self.step + 1e-9), -_FAR, _FAR).astype(np.int64)
        if self.period > 0:
            last = np.minimum(last, first + self.count - 1)
        else:
            first, last = np.maximum(first, 0), np.minimum(last, self.count - 1)
        return first, np.maximum(last - first + 1, 0)

    def squared(self, values: Floats, bins: Ints) -> Floats:
        """Squared distance to the centres of `bins`, in widths."""
        distance = np.clip(values, self.floor, self.ceiling) - (self.start + self.step * bins)
        if self.period > 0:
            distance = np.abs(distance) % self.period
            distance = np.minimum(distance, self.period - distance)
        return np.asarray((distance / self.sigma) ** 2)


@dataclass(frozen=True, eq=False)
class Windows:
    """Gaussian bumps on one or two axes: p = exp(-(sum of squared distances in widths) / 2)."""

    axes: tuple[Axis, ...]
    values: tuple[Floats, ...]  # one array per axis; NaN is a missing value
    name: Callable[[int], str] = _number
    extra: int = 0
    labels: Callable[[tuple[Axis, ...]], Callable[[int], str]] | None = None  # names once the axes are known

    @property
    def rows(self) -> int:
        return len(self.values[0])

    @property
    def missing(self) -> Bools:
        return np.asarray(np.isnan(sum(self.values)))

    @property
    def bins(self) -> int:
        return math.prod(axis.count for axis in self.axes)

    def take(self, rows: Ints, extra: int = 0) -> Windows:
        return replace(self, values=tuple(values[rows] for values in self.values), extra=extra)

    def append(self, point: Windows) -> Windows:
        """These rows, and one more to start from."""
        values = tuple(np.concatenate(pair) for pair in zip(self.values, point.values, strict=True))
        return replace(self, values=values, extra=1)

    def resolve(self) -> Windows:
        shaping = self.rows - self.extra
        axes = tuple(axis.resolve(v[:shaping]) for axis, v in zip(self.axes, self.values, strict=True))
        return replace(self, axes=axes, name=self.labels(axes) if self.labels else self.name)

    def sparse(self) -> Sparse:
        fixed = self.resolve()
        known = np.flatnonzero(~self.missing)
        row, bin_, squared = known, np.zeros(len(known), np.int64), np.zeros(len(known))
        for axis, values in zip(fixed.axes, fixed.values, strict=True):
            owner, along = _ranges(*axis.window(values[row]))
            row, bin_ = row[owner], bin_[owner]
            squared = squared[owner] + axis.squared(values[row], along)
            bin_ = bin_ * axis.count + (along % axis.count if axis.period > 0 else along)
        return _from_pairs(row, bin_, np.exp(-squared / 2), fixed.bins, self.missing, fixed.name)


@dataclass(frozen=True, eq=False)
class Sphere:
    """Gaussian bumps of great-circle distance on a mesh of cells of equal size, 1.5 widths across.

    The mesh is rings of constant latitude, each cut into equal cells; a bin is a cell. Nothing is
    special at the antimeridian or the poles. Bins exist only within reach of a row.
    """

    lat: Floats  # radians; NaN is a missing value
    lon: Floats  # radians, in -pi..pi
    sigma_km: float = 0.0  # 0: follow the rows
    extra: int = 0
    missing: Bools = field(init=False)
    bins: int = 2**62  # cells are numbered sparsely: ring * 2**32 + cell

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", np.isnan(self.lat + self.lon))

    @property
    def rows(self) -> int:
        return len(self.lat)

    @property
    def rings(self) -> int:
        return math.ceil(math.pi / (SPACING * self.sigma_km / EARTH_KM))

    def name(self, bin_: int) -> str:
        ring, cell = bin_ >> 32, bin_ & 0xFFFFFFFF
        lat = -90 + (ring + 0.5) * 180 / self.rings
        lon = -180 + (cell + 0.5) * 360 / int(_cells(np.array([ring]), self.rings)[0])
        return place_name(lat, lon, 180 / self.rings)

    def take(self, rows: Ints, extra: int = 0) -> Sphere:
        return Sphere(self.lat[rows], self.lon[rows], self.sigma_km, extra)

    def append(self, point: Sphere) -> Sphere:
        """These rows, and one more to start from."""
        return Sphere(np.append(self.lat, point.lat), np.append(self.lon, point.lon), self.sigma_km, extra=1)

    def resolve(self) -> Sphere:
        if self.sigma_km > 0:
            return self
        shaping = ~self.missing[: self.rows - self.extra]
        lat, lon = self.lat[: len(shaping)][shaping], self.lon[: len(shaping)][shaping]
        sigma = rms_chord_km(lat, lon) / SCALE
        return replace(self, sigma_km=max(sigma, SMALLEST_KM))

    def sparse(self) -> Sparse:
        fixed = self.resolve()
        known = np.flatnonzero(~self.missing)
        width = fixed.sigma_km / EARTH_KM
        rings, height = fixed.rings, math.pi / fixed.rings
        reach = REACH * width
        lat, lon = self.lat[known], self.lon[known]

        first = np.maximum(np.ceil((lat - reach + math.pi / 2) / height - 0.5 - 1e-9), 0).astype(np.int64)
        last = np.minimum(np.floor((lat + reach + math.pi / 2) / height - 0.5 + 1e-9), rings - 1).astype(np.int64)
        owner, ring = _ranges(first, np.maximum(last - first + 1, 0))
        centre = (ring + 0.5) * height - math.pi / 2
        across = np.sin((lat[owner] - centre) / 2) ** 2
        along = np.cos(lat[owner]) * np.cos(centre)

        # How far along the ring a cell may lie: hav(reach) = across + along * sin(half)^2.
        limit = math.sin(min(reach, math.pi) / 2) ** 2
        half = np.arcsin(np.sqrt(np.clip((limit - across) / np.maximum(along, 1e-300), 0.0, 1.0)))
        cells = _cells(ring, rings)
        cell_width = 2 * math.pi / cells
        left = np.ceil((lon[owner] - 2 * half + math.pi) / cell_width - 0.5 - 1e-9).astype(np.int64)
        right = np.floor((lon[owner] + 2 * half + math.pi) / cell_width - 0.5 + 1e-9).astype(np.int64)
        pair, cell = _ranges(left, np.clip(right - left + 1, 0, cells))

        apart = lon[owner][pair] - ((cell + 0.5) * cell_width[pair] - math.pi)
        hav = across[pair] + along[pair] * np.sin(apart / 2) ** 2
        distance = 2 * np.arcsin(np.sqrt(np.minimum(hav, 1.0))) / width
        bin_ = (ring[pair] << 32) + cell % cells[pair]
        row = known[owner[pair]]
        return _from_pairs(row, bin_, np.exp(-(distance**2) / 2), self.bins, self.missing, fixed.name)


def join(parts: Sequence[Membership], counts: Sequence[int]) -> Membership:
    """Memberships of several queries as one: all their rows, then all their starting points.

    Bins that are labels stay apart: no query's bins are another's.
    """
    starts = np.cumsum([0, *(part.rows for part in parts)])
    order = np.concatenate(
        [np.arange(at, at + count) for at, count in zip(starts, counts, strict=False)]
        + [np.arange(at + count, end) for at, count, end in zip(starts, counts, starts[1:], strict=False)]
    )
    first = parts[0]
    if isinstance(first, Windows) and all(isinstance(p, Windows) and p.axes == first.axes for p in parts):
        columns = zip(*(p.values for p in parts if isinstance(p, Windows)), strict=True)
        return replace(first, values=tuple(np.concatenate(column)[order] for column in columns))
    if isinstance(first, Sphere) and all(isinstance(p, Sphere) and p.sigma_km == first.sigma_km for p in parts):
        spheres = [p for p in parts if isinstance(p, Sphere)]
        lat, lon = np.concatenate([p.lat for p in spheres]), np.concatenate([p.lon for p in spheres])
        return Sphere(lat[order], lon[order], first.sigma_km)
    rows = [part.sparse().compact() for part in parts]
    bins = np.cumsum([0, *(-(-part.bins // 8) * 8 for part in rows)])
    whole = Sparse(
        indptr=np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.indptr) for part in rows]))]),
        indices=np.concatenate([part.indices + at for part, at in zip(rows, bins, strict=False)]),
        values=np.concatenate([part.values for part in rows]),
        bins=int(bins[-1]),
        missing=np.concatenate([part.missing for part in rows]),
        name=lambda bin_: rows[int(np.searchsorted(bins, bin_, side="right")) - 1].name(
            int(bin_ - bins[np.searchsorted(bins, bin_, side="right") - 1])
        ),
    )
    return whole.take(order)


def _cells(ring: Ints, rings: int) -> Ints:
    """Number of cells in a ring: as wide as the ring is high, at least one."""
    return np.maximum(np.floor(2 * rings * np.cos((ring + 0.5) * (math.pi / rings) - math.pi / 2) + 0.5), 1).astype(
        np.int64
    )


def rms_chord_km(lat: Floats, lon: Floats) -> float:
    """Root-mean-square straight-line distance between two points of the globe, outliers aside, in kilometres."""
    points = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    return math.sqrt(2.0) * EARTH_KM * inliers(points)[1]


def inliers(points: Floats) -> tuple[Bools, float]:
    """Which of the points [d, n] are no outliers, and their root-mean-square distance from their mean.

    Who is farther from the mean than 3.2 of those deviations is left out, and mean and deviation are taken again, at
    most twice. It takes twelve points for one to be so far out.
    """
    kept, count = np.ones(points.shape[1], np.bool_), points.shape[1]
    if not count:
        return kept, 0.0
    deviation = whole = 0.0
    for turn in range(ROUNDS):
        apart = points - points[:, [int(kept.argmax())]]  # near by, or dates: keep the digits that differ
        squared = ((apart - apart[:, kept].mean(axis=1, keepdims=True)) ** 2).sum(axis=0)
        deviation = math.sqrt(float(squared[kept].mean()))
        whole = whole if turn else deviation
        inside = squared <= (OUTLIER * deviation) ** 2
        if turn == ROUNDS - 1 or inside.sum() == kept.sum():
            break
        kept = inside
    if deviation <= LEAST * whole:
        return np.ones(count, np.bool_), whole
    return kept, deviation


def place_name(lat: float, lon: float, cell: float) -> str:
    """`35.7 N 139.7 E`, with as many decimals as cells of `cell` degrees need."""
    digits = max(0, min(5, math.ceil(-math.log10(cell)) + 1))
    return f"{abs(lat):.{digits}f} {'S' if lat < 0 else 'N'} {abs(lon):.{digits}f} {'W' if lon < 0 else 'E'}"
