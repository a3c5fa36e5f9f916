"""The settings each method is searched over, as published, and the choice among them on the validation split.

`INFERRED` holds Prob-Coverage's operating points. The paper prints none for it, only the grid they were chosen
from: these are the points of that grid whose R@10 and DM on the simulated PixelProse (test split, mean of the seeds
0 to 2) lie nearest to the published row, with differences counted in units of 0.07 and 0.04. They were picked for
being near, so that they are near shows only that the grid has such a point; "validated" is the searched setting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from mascot.bench import naming
from mascot.bench.points import Point
from mascot.bench.published import Published
from mascot.bench.results import Record
from mascot.bench.tasks import Direction, Geo, Hour, Task, Widths
from mascot.errors import InputError
from mascot.methods import Clustering, KDpp, Mascot, Mmr, MsDpp, Relevance
from mascot.methods.base import Method

BETAS, THETAS = (0.4, 0.5, 0.6), (0.8, 0.9)
MMR_STRENGTHS = (0.1, 0.2, 0.5)
CLUSTER_COUNTS = (40, 60)
# The wider grid of the released study for its three other datasets.
WIDE = ("visual-genome", "incidents1m", "skyscript")
_WIDE_STRENGTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_WIDE_SIGMA_GEO, _WIDE_SIGMA_TIME = (1, 5, 10, 15), (0.5, 1.5, 3)
_WIDE_CLUSTER_COUNTS = (40, 60, 80)
DPPS = ("k-dpp", "ms-dpp", "ms-dpp+tn", "ms-dpp+tn+tvms")


@dataclass(frozen=True, slots=True)
class Coverage:
    """One of the published coverage methods, and its grid."""

    bin_weight: Literal["uniform", "query"]
    normalize: bool
    strengths: tuple[float, ...]
    sigma_geo: tuple[float, ...]
    sigma_time: tuple[float, ...]

    def method(self, strength: float) -> Mascot:
        return Mascot.paper(strength, self.bin_weight, self.normalize)


COVERAGE = {
    "prob-coverage": Coverage("uniform", False, (0.1, 0.2, 0.4, 0.5), (1, 10), (0.5, 1.5)),
    "no-normalization": Coverage("query", False, (0.5, 0.9), (1, 5, 10), (0.5,)),
    "uniform-binning": Coverage("uniform", True, (0.5, 0.7), (1, 10), (0.5,)),
    "mascot": Coverage("query", True, (0.1, 0.3, 0.4, 0.5, 0.7, 0.8, 0.9), (1, 10, 15), (0.5, 1.5, 3)),
}
GUARDED = {"guarded": Mascot(), "guarded-10": Mascot(protect=10)}
LABELS = ("base", "clustering", "mmr", *DPPS, *COVERAGE, *GUARDED)


@dataclass(frozen=True, slots=True)
class Setting:
    """A method and the bins it is given; None is the guarded method's own. What looks at features sees no bins."""

    method: Method
    widths: Widths | None = None


def _coverage_point(label: str, strength: float, geo: float, hour: float) -> Setting:
    return Setting(COVERAGE[label].method(strength), Widths(geo, hour))


# Of the released study on PixelProse, by label and direction: beta and theta, the same for every task.
_RELEASED_DPPS = {
    ("ms-dpp", "spread"): (0.5, 0.9),
    ("ms-dpp+tn+tvms", "focus"): (0.5, 0.8),
    ("ms-dpp+tn+tvms", "spread"): (0.4, 0.8),
}


def published(label: str, task: str, direction: str, dataset: str = "pixelprose") -> Setting | None:
    """Return the operating point of the paper or of the released study on a dataset, where there is one."""
    if dataset == "pixelprose" and (label, direction) in _RELEASED_DPPS:
        return Setting(dpp(label, *_RELEASED_DPPS[label, direction], released=True), Widths())
    point = Published(dataset).operating_point(task, direction, label)
    if point is None or label not in COVERAGE:
        return None
    strength, geo, hour = (point[name] for name in ("strength", "sigma_geo", "sigma_time"))
    return None if strength is None else _coverage_point(label, strength, geo or 15.0, hour or 1.5)


_INFERRED = {
    ("prob-coverage", "geo", "focus"): (0.2, 10.0, 0.5),  # the strength is that of the released study
    ("prob-coverage", "geo", "spread"): (0.1, 10.0, 0.5),
    ("prob-coverage", "hour", "focus"): (0.4, 1.0, 0.5),
    ("prob-coverage", "hour", "spread"): (0.4, 1.0, 0.5),
    ("prob-coverage", "geo_hour", "focus"): (0.4, 1.0, 0.5),
    ("prob-coverage", "geo_hour", "spread"): (0.1, 1.0, 1.5),
}
INFERRED = {key: _coverage_point(key[0], *values) for key, values in _INFERRED.items()}


def inferred(label: str, task: str, direction: str, dataset: str = "pixelprose") -> Setting | None:
    """Where the paper prints no operating point on PixelProse, the one inferred from its rows."""
    return INFERRED.get((label, task, direction)) if dataset == "pixelprose" else None


def dpp(label: str, beta: float, theta: float, released: bool = False) -> KDpp | MsDpp:
    """A DPP by its label; strength is 1 - theta."""
    strength = round(1.0 - theta, 10)
    if label == "k-dpp":
        return KDpp(strength, beta, released)
    normalize: dict[str, Literal["tn", "tn+tvms"] | None] = {
        "ms-dpp": None,
        "ms-dpp+tn": "tn",
        "ms-dpp+tn+tvms": "tn+tvms",
    }
    return MsDpp(strength, beta, normalize[label], released)


def released(setting: Setting) -> Setting | None:
    """A DPP's setting with the greedy update of the published experiments; None for the other methods."""
    method = setting.method
    return replace(setting, method=replace(method, released=True)) if isinstance(method, (KDpp, MsDpp)) else None


def chosen_as(label: str, method: Method) -> str:
    """By which name a search's choice goes: a DPP has two updates, and each is searched for on its own."""
    return naming.released(label) if isinstance(method, (KDpp, MsDpp)) and method.released else label


def settings(label: str, task: Task, dataset: str | None = "pixelprose") -> list[Setting]:
    """Return what a method is searched over on a task of a dataset; one setting if there is nothing to search."""
    wide = dataset in WIDE
    if label in COVERAGE:
        family = COVERAGE[label]
        if wide:
            family = replace(family, strengths=_WIDE_STRENGTHS, sigma_geo=_WIDE_SIGMA_GEO, sigma_time=_WIDE_SIGMA_TIME)
        geo = family.sigma_geo if task.has(Geo) else family.sigma_geo[:1]
        hour = family.sigma_time if task.has(Hour) else family.sigma_time[:1]
        bins = [Widths(float(g), float(h)) for g, h in product(geo, hour)]
        return [Setting(family.method(s), widths) for s, widths in product(family.strengths, bins)]
    if label in DPPS:
        return [Setting(dpp(label, beta, theta), Widths()) for beta, theta in product(BETAS, THETAS)]
    if label in GUARDED:
        return [Setting(GUARDED[label])]
    several: dict[str, list[Method]] = {
        "base": [Relevance()],
        "mmr": [Mmr(strength, published=True) for strength in (_WIDE_STRENGTHS if wide else MMR_STRENGTHS)],
        "clustering": [Clustering(clusters=count) for count in (_WIDE_CLUSTER_COUNTS if wide else CLUSTER_COUNTS)],
    }
    return [Setting(method, Widths()) for method in several[label]]


def search(
    labels: Iterable[str],
    tasks: Sequence[Task],
    directions: Sequence[Direction],
    n: int,
    k: int = 10,
    dataset: str | None = "pixelprose",
) -> Iterator[Point]:
    """Yield the points of the validation search, for methods with several settings; DPPs with either update."""
    for label, task, direction in product(labels, tasks, directions):
        grid = settings(label, task, dataset)
        if len(grid) == 1:
            continue
        for entry in (*grid, *(other for entry in grid if (other := released(entry)) is not None)):
            yield Point("search", task, direction, label, entry.method, entry.widths, split="validation", k=k, n=n)


def best(points: Sequence[Point], records: Sequence[Record], metric: str) -> dict[tuple[str, str, str], Setting]:
    """For each label (see `chosen_as`), task and direction the setting of the highest metric; the first of equals."""
    found: dict[tuple[str, str, str], list[tuple[float, Setting]]] = defaultdict(list)
    for point, record in zip(points, records, strict=True):
        if metric not in record["summary"]:
            raise InputError(
                f"the search needs {metric} of every setting, got none for {point.label} on {point.task.name}, "
                f"{point.direction.name}: no query of the validation split has a positive and shows two results"
            )
        key = (chosen_as(point.label, point.method), point.task.name, point.direction.name)
        found[key].append((record["summary"][metric], Setting(point.method, point.widths)))
    return {key: max(some, key=lambda pair: pair[0])[1] for key, some in found.items()}
