"""The studies of a run: which points are measured on the test split once the search has chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from mascot.bench.grid import COVERAGE, DPPS, GUARDED, Setting, chosen_as, inferred, published, released, settings
from mascot.bench.points import Point
from mascot.bench.tasks import CLUSTERS, FOCUS, GEO_NOT_HOUR, HOUR_NOT_GEO, SPREAD, Direction, Geo, Hour, Task, Widths
from mascot.methods import Clustering, KDpp, Mascot, Mmr, MsDpp

Chosen = Mapping[tuple[str, str, str], Setting]  # by label (see `grid.chosen_as`), task and direction

STRENGTHS = tuple(round(step / 10, 1) for step in range(11))
SIGMA_GEO = (0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0)
SIGMA_TIME = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
CELLS = (5, 10, 15, 20, 25, 30, 40, 50)
PROTECT = (0, 1, 2, 3, 5, 8, 10, 15, 20)
_SWEPT = ("mmr", *DPPS, *COVERAGE, *GUARDED)  # clustering has no strength in the paper
_SENSITIVE = ("mascot", "guarded")
# The published strengths of MASCOT. Its bins are not printed; these of the search grid land near the published rows.
_MIXED = {"geo+hour-": (0.3, Widths(15.0, 0.5)), "geo-hour+": (0.8, Widths(1.0, 1.5))}
_MIXED_K = 10
_CLUSTERS_K = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is asked for.

    `published` names the paper's dataset whose operating points mean something on this one, `clusters` says whether
    there are image vectors.
    """

    labels: tuple[str, ...]
    tasks: tuple[Task, ...]
    directions: tuple[Direction, ...] = (SPREAD, FOCUS)
    n: int = 200
    published: str | None = "pixelprose"
    clusters: bool = True
    steps: tuple[float, ...] = STRENGTHS  # of the slow methods; coverage takes every one
    search_k: int = 10

    def asks(self) -> Iterator[tuple[str, Task, Direction]]:
        return product(self.labels, self.tasks, self.directions)


def studies(plan: Plan, chosen: Chosen) -> list[Point]:
    """Every point of the test split, each once."""
    points = [
        *_main(plan, chosen),
        *_strength(plan, chosen),
        *_bins(plan),
        *_mixed(plan),
        *_clusters(plan, chosen),
        *_protect(plan),
        *_runtime(plan, chosen),
    ]
    return list(dict.fromkeys(replace(point, n=plan.n) for point in points))


def _setting(label: str, task: Task, direction: Direction, chosen: Chosen) -> Setting:
    """The setting that was searched for, or the only one there is."""
    return chosen.get((label, task.name, direction.name)) or settings(label, task)[0]


def _released(label: str, task: Task, direction: Direction, chosen: Chosen) -> Setting | None:
    """Of a DPP, the setting that was searched for with the released update."""
    only = released(settings(label, task)[0])
    if only is None:
        return None
    return chosen.get((chosen_as(label, only.method), task.name, direction.name), only)


def _operating(label: str, task: Task, direction: Direction, plan: Plan, chosen: Chosen) -> Setting:
    """The published setting where there is one, else the one that was searched for."""
    known = _printed(label, task, direction, plan)
    return next(iter(known.values())) if known else _setting(label, task, direction, chosen)


def _printed(label: str, task: Task, direction: Direction, plan: Plan) -> dict[str, Setting]:
    """What the paper prints, or lets one infer, of an operating point, by which of the two it is."""
    if plan.published is None:
        return {}
    key = (label, task.name, direction.name, plan.published)
    found = {"published": published(*key), "inferred": inferred(*key)}
    return {name: setting for name, setting in found.items() if setting is not None}


def _main(plan: Plan, chosen: Chosen) -> Iterator[Point]:
    for label, task, direction in plan.asks():
        found = _setting(label, task, direction, chosen)
        name = "validated" if (label, task.name, direction.name) in chosen else "default"
        yield Point("main", task, direction, label, found.method, found.widths, point=name)
        other = _released(label, task, direction, chosen)
        if other is not None:
            yield Point("main", task, direction, label, other.method, other.widths, point="released")
        for name, setting in _printed(label, task, direction, plan).items():
            yield Point("main", task, direction, label, setting.method, setting.widths, point=name)


def _strength(plan: Plan, chosen: Chosen) -> Iterator[Point]:
    """Strength from 0 to 1, all else as at the operating point. For DPPs it is 1 - theta, and each update is swept."""
    for label, task, direction in plan.asks():
        if label not in _SWEPT:
            continue
        swept: list[tuple[str | None, Setting]] = [(None, _operating(label, task, direction, plan, chosen))]
        other = _released(label, task, direction, chosen)
        if other is not None:
            swept.append(("released", other))
        for name, found in swept:
            assert isinstance(found.method, (Mmr, KDpp, MsDpp, Mascot, Clustering))
            for strength in STRENGTHS if isinstance(found.method, Mascot) else plan.steps:
                method = replace(found.method, strength=strength)
                yield Point("strength", task, direction, label, method, found.widths, value=strength, point=name)


def _bins(plan: Plan) -> Iterator[Point]:
    """The three sweeps of the published bins: MASCOT as published, and the guarded method on the same bins."""
    for label, task, direction in plan.asks():
        if label not in _SENSITIVE or plan.published is None:
            continue
        anchor = published("mascot", task.name, direction.name, plan.published)
        if anchor is None or anchor.widths is None:
            continue
        method = anchor.method if label == "mascot" else GUARDED[label]
        at = anchor.widths
        sweeps: dict[str, list[tuple[float, Widths]]] = {}
        if task.has(Geo):
            sweeps["sigma_geo"] = [(sigma, replace(at, geo=sigma)) for sigma in SIGMA_GEO]
            sweeps["grid"] = [(cells, replace(at, cells=cells)) for cells in CELLS]
        if task.has(Hour):
            sweeps["sigma_time"] = [(sigma, replace(at, hour=sigma)) for sigma in SIGMA_TIME]
        for study, values in sweeps.items():
            for value, widths in values:
                yield Point(study, task, direction, label, method, widths, value=float(value))


def _mixed(plan: Plan) -> Iterator[Point]:
    """One attribute spread, the other focused, at K = 10; MS-DPP with theta 0.9 and beta 0.5, with either update."""
    both = [task for task in plan.tasks if task.has(Geo) and task.has(Hour) and len(task.facets) == 2]
    for label, task, direction in product(plan.labels, both, (GEO_NOT_HOUR, HOUR_NOT_GEO)):
        strength, widths = _MIXED[direction.name]
        several: dict[str, Setting] = {
            "base": settings("base", task)[0],
            "mascot": Setting(Mascot.paper(strength), widths),
            "ms-dpp": Setting(MsDpp(0.1, 0.5), Widths()),
            "guarded": Setting(GUARDED["guarded"]),
        }
        if label in several:
            found = several[label]
            name = "inferred" if label == "mascot" else "default"
            point = Point("mixed", task, direction, label, found.method, found.widths, point=name, k=_MIXED_K)
            yield point
            other = released(found)
            if other is not None:
                yield replace(point, method=other.method, point="released")


def _clusters(plan: Plan, chosen: Chosen) -> Iterator[Point]:
    """Ten k-means clusters of the image vectors as the attribute, at K = 10: the objective does not care what a bin is.

    The paper does not say at which K: "we induced ten discrete IUs from k-means clusters of BLIP-2 image embeddings on
    PixelProse [...]. MASCOT improved DM from 0.815 to 0.869 at R@10 = 0.98 on increase, and from 0.420 to 0.689 at
    R@10 = 0.96 on decrease." Its tables are of K = 20, those of mixed directions, in the same appendix, of K = 10. The
    rows of the base, which no setting changes, tell which: on the simulated PixelProse its DM is 0.800 and 0.430 at
    K = 10, near the published 0.815 and 0.420, and 0.743 and 0.538 at K = 20.
    """
    if not plan.clusters:
        return
    for label, direction in product(plan.labels, plan.directions):
        if label in ("base", "mascot", *GUARDED):
            found = _setting(label, CLUSTERS, direction, chosen)
            name = "validated" if label == "mascot" else "default"
            yield Point("clusters", CLUSTERS, direction, label, found.method, found.widths, point=name, k=_CLUSTERS_K)


def _protect(plan: Plan) -> Iterator[Point]:
    """The guarded method with more and more results protected, at its default strength and at 1."""
    if "guarded" not in plan.labels:
        return
    for task, direction, protect in product(plan.tasks, plan.directions, PROTECT):
        method = replace(GUARDED["guarded"], protect=protect)
        yield Point("protect", task, direction, "guarded", method, value=float(protect), point="default")


def _runtime(plan: Plan, chosen: Chosen) -> Iterator[Point]:
    """A query at a time, one thread; the coverage methods also as a batch."""
    tasks: Sequence[Task] = [task for task in plan.tasks if len(task.facets) > 1] or plan.tasks
    for label in plan.labels:
        found = _operating(label, tasks[0], plan.directions[-1], plan, chosen)
        point = Point("runtime", tasks[0], plan.directions[-1], label, found.method, found.widths, point="single")
        yield point
        if isinstance(found.method, Mascot):
            yield replace(point, point="batch")
