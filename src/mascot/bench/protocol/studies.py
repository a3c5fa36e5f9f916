"""A benchmark and its studies: the points that are measured on the test split after the search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import mascot as mc
from mascot.attributes import Attribute
from mascot.bench.methods import MsDpp
from mascot.bench.methods.own_method import OwnMethod
from mascot.bench.protocol import search_space
from mascot.bench.protocol.search_space import DPPS, GUARDED, Chosen, OwnSpace
from mascot.bench.protocol.tasks import (
    CLUSTERS,
    FOCUS,
    GEO_HOUR,
    HOUR_OF_DAY,
    PLACE,
    PUBLISHED_CLUSTERS,
    SPREAD,
    BenchTask,
    Direction,
    Point,
    Study,
    Widths,
)

Case = tuple[str, BenchTask, Direction]  # label, task and direction

STRENGTHS = tuple(round(step / 10, 1) for step in range(11))
# Sweeps of the published bins: study, attribute, field of `Widths`, and its values.
_BIN_SWEEPS: tuple[tuple[Study, Attribute, str, tuple[float, ...]], ...] = (
    ("sigma_geo", PLACE, "geo", (0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0)),
    ("grid", PLACE, "cells", (5, 10, 15, 20, 25, 30, 40, 50)),
    ("sigma_time", HOUR_OF_DAY, "hour", (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)),
)
PROTECT = (0, 1, 2, 3, 5, 8, 10, 15, 20)
# Mixed directions: the published strengths of MASCOT. The paper prints K = 10 and no bins: ours are of the search grid.
_MIXED: dict[Direction, tuple[float, Widths]] = {
    "geo+hour-": (0.3, Widths(15.0, 0.5)),
    "geo-hour+": (0.8, Widths(1.0, 1.5)),
}
_MIXED_K, _CLUSTERS_K = 10, 10
# What the released study did.
_RELEASED_MIXED_WIDTHS, _RELEASED_MIXED_K = Widths(1.0, 0.5), 20
_RELEASED_CLUSTERS_N, _RELEASED_CLUSTERS_STRENGTH = 50, 0.5
_RELEASED_PRS_WIDTHS = {"mascot": Widths(15.0, 1.5), "prob-coverage": Widths(1.0, 0.5)}
_RELEASED_PRS_BETAS = {"k-dpp": 0.4, "ms-dpp": 0.4, "ms-dpp+tn": 0.5, "ms-dpp+tn+tvms": 0.4}
_LARGEST_THETA = 0.99  # of a sweep over the strength, 1 - theta
_RELEASED_FRONT_WIDTHS = Widths(10.0, 1.5)  # of the fixed-recall table


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A dataset with one or several seeds, and what is measured on it.

    The sources are pairs of a seed and an object whose `load()` returns the dataset of that seed; it is hashable and
    can be pickled, since workers load it again.
    """

    name: str  # as the records have it
    sources: tuple[tuple[int, Any], ...]
    labels: tuple[str, ...]  # of the methods
    tasks: tuple[BenchTask, ...]
    directions: tuple[Direction, ...] = (SPREAD, FOCUS)
    n: int = 200  # candidates of a query
    published: str | None = "pixelprose"  # the paper's dataset whose operating points and search grid apply
    clusters: bool = True  # whether there are image vectors to cluster
    steps: tuple[float, ...] = STRENGTHS  # at which the slow methods are swept; coverage takes all of `STRENGTHS`
    search_k: int = 10  # results of a query during the search
    released: bool = True  # whether the side studies also run at the released settings
    validation: int | None = 50  # largest number of queries of the split (None: all)
    test: int | None = None
    metric: str = "hm"  # what the search maximises, a name in the summary
    retrieval: str = "r@10"  # what HM takes for relevance: "r@10" or "map"
    judged: str | None = None  # column of judged clusters, for CR@k
    extra: tuple[Point, ...] = ()  # further points on the test split
    own: tuple[OwnSpace, ...] = ()  # methods among `labels` that are not the paper's
    subsets: tuple[str, ...] = ()  # splits within the test split that have their own summary
    notes: tuple[str, ...] = ()  # printed under the tables: which methods or queries were left out, and why

    def cases(self) -> Iterator[Case]:
        return product(self.labels, self.tasks, self.directions)

    def settings(self, label: str, task: BenchTask, direction: Direction) -> list[Point]:
        """Return the search space of a method on a task; a single point if there is nothing to search."""
        for space in self.own:
            if space.label == label:
                return space.points(task, direction)
        # The paper searched the clusters on PixelProse alone.
        dataset = "pixelprose" if task == CLUSTERS else self.published
        return search_space.settings(label, task, direction, dataset)

    def with_own(self, spaces: tuple[OwnSpace, ...]) -> Benchmark:
        return replace(self, labels=(*self.labels, *(space.label for space in spaces)), own=spaces)

    @property
    def own_labels(self) -> tuple[str, ...]:
        return tuple(space.label for space in self.own)

    @property
    def released_pixelprose(self) -> bool:
        """Whether the settings of the released side studies, which were of PixelProse, are run."""
        return self.released and self.published == "pixelprose"


def studies(benchmark: Benchmark, chosen: Chosen) -> list[Point]:
    """Return every point of the test split, each once."""
    parts = (_main, _strength, _preference, _bins, _fixed_recall, _mixed, _clusters, _protect, _runtime)
    points = [replace(point, n=benchmark.n) for part in parts for point in part(benchmark, chosen)]
    points += _released_clusters(benchmark)
    return list(dict.fromkeys(points))


def searched(benchmark: Benchmark) -> Iterator[Point]:
    """Yield the points of the validation search, for methods with several settings; DPPs with either update."""
    grids = [benchmark.settings(*case) for case in benchmark.cases()]
    for label, direction in product(benchmark.labels, benchmark.directions if benchmark.clusters else ()):
        if label in ("mascot", *benchmark.own_labels):
            grids.append(benchmark.settings(label, CLUSTERS, direction))
    for grid in grids:
        for point in (*grid, *search_space.released(*grid)) if len(grid) > 1 else ():
            yield replace(point, study="search", point=None, split="validation", k=benchmark.search_k, n=benchmark.n)


def _setting(case: Case, benchmark: Benchmark, chosen: Chosen) -> Point:
    """Return the point that the search chose, or the only point of the method."""
    default = benchmark.settings(*case)[0]
    point = chosen.get(search_space.search_key(default))
    return default if point is None else replace(point, point="validated")


def _released_setting(case: Case, benchmark: Benchmark, chosen: Chosen) -> list[Point]:
    """Return the point that the search chose with the released update of a DPP; an empty list for other methods."""
    defaults = search_space.released(benchmark.settings(*case)[0])
    return [replace(chosen.get(search_space.search_key(default), default), point="released") for default in defaults]


def _printed(case: Case, benchmark: Benchmark) -> list[Point]:
    """Return the points that the paper prints, or that its rows imply."""
    lookups = (search_space.published, search_space.inferred) if benchmark.published else ()
    return list(filter(None, (lookup(*case, str(benchmark.published)) for lookup in lookups)))


def _operating(case: Case, benchmark: Benchmark, chosen: Chosen) -> Point:
    """Return the published point, or the point that the search chose if there is none.

    The published settings of DPPs belong to the released update, which has its own sweep.
    """
    printed = [] if case[0] in DPPS else _printed(case, benchmark)
    return (printed or [_setting(case, benchmark, chosen)])[0]


def _main(benchmark: Benchmark, chosen: Chosen) -> Iterator[Point]:
    for case in benchmark.cases():
        yield _setting(case, benchmark, chosen)
        yield from (*_released_setting(case, benchmark, chosen), *_printed(case, benchmark))


def _strength(benchmark: Benchmark, chosen: Chosen) -> Iterator[Point]:
    """Yield strengths from 0 to 1 at the operating point. The strength of a DPP, for each update, is 1 - theta."""
    for case in benchmark.cases():
        if case[0] not in ("base", "clustering"):  # clustering has no strength in the paper
            exact = replace(_operating(case, benchmark, chosen), point=None)
            for anchor in (exact, *_released_setting(case, benchmark, chosen)):
                method: Any = anchor.method
                steps = STRENGTHS if isinstance(method, mc.Mascot) else benchmark.steps
                for strength in () if method.strength is None else steps:  # PM-2 and IA-Select have none
                    at = method.at(strength) if isinstance(method, OwnMethod) else replace(method, strength=strength)
                    yield replace(anchor, study="strength", method=at, value=strength)


def _preference(benchmark: Benchmark, _: Chosen) -> Iterator[Point]:
    """Yield the sweeps of the released preference study: strength from 0 to 1, with one setting for all tasks."""
    for label, task, direction in benchmark.cases() if benchmark.released_pixelprose else ():
        if not (task.has(PLACE) or task.has(HOUR_OF_DAY)):
            continue
        point = Point(label, task, direction, widths=Widths(), study="prs", point="published")
        for strength in STRENGTHS if label in _RELEASED_PRS_WIDTHS else ():
            widths = _RELEASED_PRS_WIDTHS[label]
            yield replace(point, method=search_space.coverage(label, strength), widths=widths, value=strength)
        for strength in benchmark.steps if label in _RELEASED_PRS_BETAS else ():
            theta = min(1 - strength, _LARGEST_THETA)
            dpp = search_space.dpp(label, _RELEASED_PRS_BETAS[label], theta, released=True)
            yield replace(point, method=dpp, value=strength)


def _fixed_recall(benchmark: Benchmark, _: Chosen) -> Iterator[Point]:
    """Yield the settings of the released fixed-recall table; `value` is the strength, or the number of the setting."""
    tasks = [task for task in benchmark.tasks if task.name == GEO_HOUR.name and benchmark.released_pixelprose]
    for label, task in product(benchmark.labels, tasks if FOCUS in benchmark.directions else ()):
        point = Point(label, task, FOCUS, widths=_RELEASED_FRONT_WIDTHS, study="fixed_recall", point="published")
        for strength in STRENGTHS if label in ("mascot", "prob-coverage") else ():
            yield replace(point, method=search_space.coverage(label, strength), value=strength)
        grid = search_space.released(*benchmark.settings(label, task, FOCUS)) if label == "ms-dpp+tn+tvms" else ()
        for number, setting in enumerate(grid):
            yield replace(setting, study="fixed_recall", point="published", value=float(number))


def _bins(benchmark: Benchmark, _: Chosen) -> Iterator[Point]:
    """Yield three sweeps of the published bins: MASCOT as published, and the guarded method on the same bins."""
    for label, task, direction in benchmark.cases() if benchmark.published else ():
        anchor = search_space.published("mascot", task, direction, str(benchmark.published))
        if label not in ("mascot", "guarded") or anchor is None or anchor.widths is None:
            continue
        method = anchor.method if label == "mascot" else GUARDED[label]
        for study, attribute, field, values in _BIN_SWEEPS:
            for value in values if task.has(attribute) else ():
                swept: dict[str, Any] = {field: value}
                yield Point(label, task, direction, method, replace(anchor.widths, **swept), study, value=float(value))


def _mixed(benchmark: Benchmark, chosen: Chosen) -> Iterator[Point]:
    """Yield one attribute spread, the other focused; MS-DPP with theta 0.9 and beta 0.5, with either update.

    Our points have K = 10, as the paper prints; the released study used K = 20, with narrow bins for both rows. A
    method that is not the paper's has the setting that the search chose on spread.
    """
    composite = [task for task in benchmark.tasks if task.attributes == (PLACE, HOUR_OF_DAY)]
    for label, task, direction in product(benchmark.labels, composite, _MIXED):
        strength, widths = _MIXED[direction]
        points = {
            "base": Point(label, task, direction, mc.Relevance(), Widths(), point="default"),
            "mascot": Point(label, task, direction, mc.Mascot.paper(strength), widths, point="inferred"),
            "ms-dpp": Point(label, task, direction, MsDpp(0.1, 0.5), Widths(), point="default"),
            "guarded": Point(label, task, direction, GUARDED["guarded"], point="default"),
        }
        if label in benchmark.own_labels:
            setting = _setting((label, task, SPREAD), benchmark, chosen)
            yield replace(setting, direction=direction, study="mixed", k=_MIXED_K)
        elif label in points:
            point = replace(points[label], study="mixed", k=_MIXED_K)
            updates = [point, *search_space.released(point)]
            yield from updates
            if benchmark.released_pixelprose and label != "guarded":
                bins = _RELEASED_MIXED_WIDTHS if label == "mascot" else point.widths
                yield replace(updates[-1], widths=bins, point="published", k=_RELEASED_MIXED_K)


def _clusters(benchmark: Benchmark, chosen: Chosen) -> Iterator[Point]:
    """Yield ten k-means clusters of the image vectors as the attribute, at K = 10, with a searched strength."""
    for label, direction in product(benchmark.labels, benchmark.directions if benchmark.clusters else ()):
        if label in ("base", "mascot", *GUARDED, *benchmark.own_labels):
            setting = _setting((label, CLUSTERS, direction), benchmark, chosen)
            yield replace(setting, study="clusters", k=_CLUSTERS_K)


def _released_clusters(benchmark: Benchmark) -> Iterator[Point]:
    """Yield the ten clusters as the released study did: the validation queries of the search, 50 candidates, strength
    0.5, and the best of ten runs of k-means.
    """
    for label, direction in product(benchmark.labels, benchmark.directions):
        if label in ("base", "mascot") and benchmark.clusters and benchmark.released_pixelprose:
            point = replace(benchmark.settings(label, CLUSTERS, direction)[0], study="clusters", point="published")
            method = mc.Mascot.paper(_RELEASED_CLUSTERS_STRENGTH) if label == "mascot" else point.method
            released = replace(point, method=method, task=PUBLISHED_CLUSTERS)
            yield replace(released, split="validation", k=_CLUSTERS_K, n=_RELEASED_CLUSTERS_N)


def _protect(benchmark: Benchmark, _: Chosen) -> Iterator[Point]:
    """Yield the guarded method with more and more results protected."""
    if "guarded" in benchmark.labels:
        for task, direction, protect in product(benchmark.tasks, benchmark.directions, PROTECT):
            method = replace(GUARDED["guarded"], protect=protect)
            yield Point("guarded", task, direction, method, study="protect", point="default", value=float(protect))


def _runtime(benchmark: Benchmark, chosen: Chosen) -> Iterator[Point]:
    """Yield points that are timed query by query on one thread; the coverage methods also as a batch."""
    composite = [task for task in benchmark.tasks if len(task.attributes) > 1]
    task, direction = (composite or benchmark.tasks)[0], benchmark.directions[-1]
    for label in benchmark.labels:
        point = replace(_operating((label, task, direction), benchmark, chosen), study="runtime", point="single")
        yield point
        if isinstance(point.method, mc.Mascot):
            yield replace(point, point="batch")
