"""Tasks (attributes, directions, bins) and the points of a run (a method with a setting on a task)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.attributes import Attribute, Clusters
from mascot.bench import metrics
from mascot.bench.methods import Clustering, KDpp, MsDpp
from mascot.bench.methods.own_method import OwnMethod
from mascot.bench.methods.pyversity import Pyversity
from mascot.bench.protocol.branches import Branches, unit_vectors
from mascot.wishes import Wish

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]
Method = mc.Relevance | Clustering | mc.Mmr | KDpp | MsDpp | mc.Mascot | Pyversity | OwnMethod

Direction = Literal["spread", "focus", "geo+hour-", "geo-hour+"]  # the last two: spread one attribute, focus the other
Study = Literal[
    "search", "main", "strength", "prs", "sigma_geo", "sigma_time", "grid", "fixed_recall", "mixed", "clusters",
    "protect", "runtime",
]  # fmt: skip
SPREAD: Direction = "spread"
FOCUS: Direction = "focus"
_RESTARTS = 10
_COMPARING = (Clustering, KDpp, mc.Mmr, MsDpp)  # methods that compare features, not bins
_MIXED_SIGNS = {"geo+hour-": (1, -1), "geo-hour+": (-1, 1)}
# In a task these two stand for bins that depend on the method: the published ones, or the defaults of the library. The
# defaults were picked for their HM at the default strength among over a hundred combinations, on the test queries of
# the simulated PixelProse of the seeds 0 to 2: judge them on other seeds.
PLACE, HOUR_OF_DAY = mc.Place(), mc.HourOfDay()


@dataclass(frozen=True, slots=True)
class Widths:
    """The published bins: a grid of `cells` x `cells` with width `geo` in degrees, 24 hours with width `hour`."""

    geo: float = 15.0
    hour: float = 1.5
    cells: int = 20


@dataclass(frozen=True, slots=True)
class PublishedHour(mc.HourOfDay):
    """The hour as the published study passed it to MMR, DPPs and clustering: minutes of the day divided by 1439."""

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        """Return [M, 2] sine and cosine; zeros for a missing time."""
        clock = hours_of(columns, self.column)
        present = ~np.isnan(clock)
        minutes = np.floor(np.where(present, clock, 0.0) * 60 + 1e-6)
        return np.where(present[:, None], metrics.time_of_day_features(minutes[None])[0], 0.0)


@dataclass(frozen=True, slots=True)
class PublishedClusters(Clusters):
    """The clusters of the published study: of ten runs of k-means, the one with the smallest squared distances."""

    def membership(self, columns: Columns, vectors: Floats | None) -> Any:
        runs = [Clusters(self.count, seed).membership(dict(columns), vectors) for seed in range(_RESTARTS)]
        points = np.nan_to_num(vectors) if vectors is not None else np.zeros((0, 0))

        def between(run: Any) -> float:
            """Return the squared lengths of the sums of the clusters by their sizes; the rest is within clusters."""
            members = run.dense()
            sums, sizes = members.T @ points, members.sum(axis=0)
            return float(((sums**2).sum(axis=1) / np.maximum(sizes, 1)).sum())

        return max(runs, key=between)


def hours_of(columns: Columns, name: str = "taken") -> Floats:
    """Return the hours of a column of times, 0 to 24; NaN for a missing time."""
    hours: Floats = mc.HourOfDay(name).membership(dict(columns), None).values[0]
    return hours


@dataclass(frozen=True, slots=True)
class BenchTask:
    """Attributes to spread or to focus together, with their weights (default: 1 each).

    `PLACE` and `HOUR_OF_DAY` get the bins of the method, any other attribute keeps its own. With `published_hour`
    methods that compare features take the hour as published.
    """

    name: str
    attributes: tuple[Attribute, ...]
    weights: tuple[float, ...] = ()
    published_hour: bool = True

    def wishes(self, direction: str, widths: Widths | None = None, compares: bool = False) -> tuple[Wish, ...]:
        """Return a wish for each attribute, for a method that compares features or bins.

        `direction` is ``"spread"``, ``"focus"``, ``"geo+hour-"`` (spread the first, focus the second) or
        ``"geo-hour+"``; `widths` are the published bins, or None for the defaults.
        """
        count = len(self.attributes)
        signs = _MIXED_SIGNS.get(direction) or (1 if direction == SPREAD else -1,) * count
        return tuple(
            Wish(self._attribute(attribute, widths, compares), sign, weight)
            for attribute, sign, weight in zip(self.attributes, signs, self.weights or (1.0,) * count, strict=True)
        )

    def _attribute(self, attribute: Attribute, widths: Widths | None, compares: bool) -> Attribute:
        if widths is None or attribute not in (PLACE, HOUR_OF_DAY):
            return attribute
        if attribute == PLACE:
            return mc.Place.grid(cells=widths.cells, sigma=widths.geo)
        kind = PublishedHour if compares and self.published_hour else mc.HourOfDay
        return kind(sigma=widths.hour)

    def has(self, attribute: Attribute) -> bool:
        """Return whether the task asks for an attribute, such as `PLACE`."""
        return attribute in self.attributes


@dataclass(frozen=True, slots=True)
class Point:
    """A method with a setting, and a task.

    `point` says how the setting was chosen: "published" (printed in the paper), "inferred" (the paper does not print
    it; see `search_space`), "validated" (searched on the validation split), "released" (a DPP with the greedy
    update of the published experiments, searched with that update, or swept from there; fixed in the mixed study),
    "default" (there is nothing to choose), "batch" or "single" (runtime), or None.
    """

    label: str  # the name of the method in tables
    task: BenchTask
    direction: Direction = SPREAD
    method: Method = field(default_factory=mc.Relevance)
    widths: Widths | None = None  # the published bins, or None for the defaults
    study: Study = "main"
    point: str | None = None
    value: float | None = None
    split: str = "test"
    k: int = 20  # results
    n: int = 200  # candidates

    @property
    def wishes(self) -> tuple[Wish, ...]:
        return self.task.wishes(self.direction, self.widths, isinstance(self.method, _COMPARING))

    def to_dict(self) -> dict[str, Any]:
        """Return the part of the record that does not depend on the result."""
        names = ("split", "study", "direction", "label", "point", "value", "k", "n")
        described = {"method": self.method.to_dict(), "wishes": [recorded(wish) for wish in self.wishes]}
        return {name: getattr(self, name) for name in names} | {"task": self.task.name} | described


def recorded(wish: Wish) -> dict[str, Any]:
    """Return a wish as records hold it: the attribute is always a dictionary with its parameters."""
    parameters: dict[str, Any] = {name: getattr(wish, name) for name in ("sign", "weight", "near", "within")}
    attribute: Any = wish.attribute
    return {"kind": "Wish", "attribute": attribute.to_dict(), **parameters}


def name_of(attribute: Attribute) -> str:
    """Return the name of an attribute in records and tables."""
    names: dict[Attribute, str] = {PLACE: "geo", HOUR_OF_DAY: "hour"}
    return names.get(attribute, attribute.name)


def metric_features(attribute: Attribute, columns: Columns, vectors: Floats | None) -> Floats:
    """Return the [M, d] points that the Vendi score compares: zeros if missing, unit vectors for `Branches`."""
    if attribute == HOUR_OF_DAY:
        return PublishedHour().features(columns, vectors)
    if isinstance(attribute, Branches):
        return unit_vectors(vectors)
    return attribute.features(dict(columns), vectors)


GEO_HOUR = BenchTask("geo_hour", (PLACE, HOUR_OF_DAY))
HOUR = BenchTask("hour", (HOUR_OF_DAY,))
GEO = BenchTask("geo", (PLACE,))
CLUSTERS = BenchTask("clusters", (Clusters(10),))
PUBLISHED_CLUSTERS = BenchTask("clusters", (PublishedClusters(10),))
