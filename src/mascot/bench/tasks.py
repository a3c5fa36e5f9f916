"""What is asked of the results: which attributes, in which direction, with which bins."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

import mascot as mc
from mascot import metrics
from mascot.attributes import Attribute, Columns
from mascot.attributes.columns import hours, numbers
from mascot.bins import Floats
from mascot.errors import InputError
from mascot.wishes import Wish

# The guarded method's own bins. Results that are to be alike must be close, results that are to differ must be far
# apart: narrow bins focus better, wide ones spread better. Picked for their HM at the default strength among over
# a hundred combinations, on the test queries of the simulated PixelProse of the seeds 0 to 2: judge them on others.
_FOCUS_KM = 350.0
_FOCUS_HOURS = (96, 0.2)  # bins, and their width in hours
_SPREAD_HOURS = (24, 0.75)


@dataclass(frozen=True, slots=True)
class Widths:
    """The published bins: a grid of `cells` x `cells` with width `geo` in degrees, 24 hours with width `hour`."""

    geo: float = 15.0
    hour: float = 1.5
    cells: int = 20


class Facet(Protocol):
    """One attribute of a task: how methods see it, and how its diversity is measured."""

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> float: ...

    def attribute(self, widths: Widths | None, sign: int) -> Attribute:
        """The published bins of these widths, or the guarded method's own, which may depend on the direction."""

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        """[M, d] points that the Vendi score compares; zeros where the value is missing."""


@dataclass(frozen=True, slots=True)
class Geo:
    """Places, in degrees.

    The guarded method's bins: to spread, those of `Place` by default; to focus, 350 km wide.
    """

    lat: str = "lat"
    lon: str = "lon"
    name: str = "geo"
    weight: float = 1.0

    def attribute(self, widths: Widths | None, sign: int) -> Attribute:
        if widths is None:
            return mc.Place(self.lat, self.lon, sigma_km=_FOCUS_KM if sign < 0 else None)
        return mc.Place.grid(self.lat, self.lon, cells=widths.cells, sigma=widths.geo)

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        lat, lon = numbers(columns, self.lat, "Geo"), numbers(columns, self.lon, "Geo")
        known = ~(np.isnan(lat) | np.isnan(lon))
        points = metrics.place_features(np.where(known, lat, 0.0)[None], np.where(known, lon, 0.0)[None])[0]
        return np.where(known[:, None], points, 0.0)


@dataclass(frozen=True, slots=True)
class PublishedHour(mc.HourOfDay):
    """The hour as the published study gave it to MMR, DPPs and clustering: minutes of the day out of 1439."""

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        return Hour(self.column).features(columns, vectors)


@dataclass(frozen=True, slots=True)
class Hour:
    """Time of day.

    `published` gives methods that compare features the hour as published, see `PublishedHour`.

    The guarded method's bins: to spread, hours of width 0.75 h; to focus, quarters of an hour of width 0.2 h.
    """

    column: str = "taken"
    name: str = "hour"
    weight: float = 1.0
    published: bool = True

    def attribute(self, widths: Widths | None, sign: int) -> Attribute:
        if widths is None:
            return mc.HourOfDay(self.column, *(_FOCUS_HOURS if sign < 0 else _SPREAD_HOURS))
        return mc.HourOfDay(self.column, sigma=widths.hour)

    def compared(self, widths: Widths) -> Attribute:
        """Return the attribute for methods that compare features."""
        return PublishedHour(self.column, sigma=widths.hour) if self.published else self.attribute(widths, 1)

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        clock = hours(columns, self.column, "Hour")
        known = ~np.isnan(clock)
        minutes = np.floor(np.where(known, clock, 0.0) * 60 + 1e-6)
        return np.where(known[:, None], metrics.time_of_day_features(minutes[None])[0], 0.0)


@dataclass(frozen=True, slots=True)
class Look:
    """Image vectors: the branches of each query's own candidates.

    A branch is no bin of the whole set, where primary bins are asked for: those are k-means clusters.
    """

    name: str = "look"
    weight: float = 1.0
    primary: Attribute = field(default_factory=lambda: mc.Clusters(25))

    def attribute(self, widths: Widths | None, sign: int) -> Attribute:
        return mc.Branches()

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        if vectors is None:
            raise InputError("Look needs vectors, got none")
        known = np.nan_to_num(vectors)
        lengths = np.linalg.norm(known, axis=1, keepdims=True)
        found: Floats = known / np.where(lengths > 0, lengths, 1.0)
        return found


@dataclass(frozen=True, slots=True)
class Own:
    """Any attribute, with its own bins, features and weight."""

    of: Attribute
    weight: float = 1.0

    @property
    def name(self) -> str:
        return self.of.name

    def attribute(self, widths: Widths | None, sign: int) -> Attribute:
        return self.of

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        return self.of.features(columns, vectors)


@dataclass(frozen=True, slots=True)
class Direction:
    """A sign for each attribute, +1 spread and -1 focus; a single one is for all of them."""

    name: str
    signs: tuple[int, ...]

    @property
    def focus(self) -> bool:
        """Whether the metadata channel is inverted: where every attribute is focused."""
        return all(sign < 0 for sign in self.signs)


SPREAD = Direction("spread", (1,))
FOCUS = Direction("focus", (-1,))
GEO_NOT_HOUR = Direction("geo+hour-", (1, -1))
HOUR_NOT_GEO = Direction("geo-hour+", (-1, 1))


@dataclass(frozen=True, slots=True)
class Task:
    """Attributes to spread or to focus together."""

    name: str
    facets: tuple[Facet, ...]

    def wishes(self, direction: Direction, widths: Widths | None = None, compares: bool = False) -> tuple[Wish, ...]:
        """Return a wish for each attribute; `compares` is for a method that compares features, not bins."""
        signs = direction.signs * len(self.facets) if len(direction.signs) == 1 else direction.signs
        return tuple(
            Wish(
                facet.compared(widths) if compares and widths and isinstance(facet, Hour)
                else facet.attribute(widths, sign),
                sign,
                facet.weight,
            )
            for facet, sign in zip(self.facets, signs, strict=True)
        )  # fmt: skip

    def corrected(self) -> Task:
        """Return the task with the hour of every method on 1440 minutes."""
        facets = [replace(facet, published=False) if isinstance(facet, Hour) else facet for facet in self.facets]
        return Task(self.name, tuple(facets))

    def has(self, *kinds: type) -> bool:
        """Whether some attribute is of one of these kinds."""
        return any(isinstance(facet, kinds) for facet in self.facets)


GEO_HOUR = Task("geo_hour", (Geo(), Hour()))
HOUR = Task("hour", (Hour(),))
GEO = Task("geo", (Geo(),))
CLUSTERS = Task("clusters", (Own(mc.Clusters(10)),))
