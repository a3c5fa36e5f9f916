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
# Mixed directions: the published strengths of MASCOT. The paper prints K = 10 and no bins: ours are of the search grid.
_MIXED = {"geo+hour-": (0.3, Widths(15.0, 0.5)), "geo-hour+": (0.8, Widths(1.0, 1.5))}
_MIXED_K = 10
# What the released study did.
_RELEASED_MIXED_WIDTHS, _RELEASED_MIXED_K = Widths(1.0, 0.5), 20
_CLUSTERS_K, _RELEASED_CLUSTERS_N, _RELEASED_CLUSTERS_STRENGTH = 10, 50, 0.5
_RELEASED_PRS_WIDTHS = {"mascot": Widths(15.0, 1.5), "prob-coverage": Widths(1.0, 0.5)}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is asked for.

    `published` names the paper's dataset whose operating points and search grid apply to this one, `clusters` says
    whether there are image vectors, and `released` whether the side studies also run at the released settings.
    """

    labels: tuple[str, ...]
    tasks: tuple[Task, ...]
    directions: tuple[Direction, ...] = (SPREAD, FOCUS)
    n: int = 200
    published: str | None = "pixelprose"
    clusters: bool = True
    steps: tuple[float, ...] = STRENGTHS  # of the slow methods; coverage takes every one
    search_k: int = 10
    released: bool = True

    def asks(self) -> Iterator[tuple[str, Task, Direction]]:
        return product(self.labels, self.tasks, self.directions)


def studies(plan: Plan, chosen: Chosen) -> list[Point]:
    """Every point of the test split, each once."""
    points = [
        *_main(plan, chosen),
        *_strength(plan, chosen),
        *_preference(plan),
        *_bins(plan),
        *_mixed(plan),
        *_clusters(plan, chosen),
        *_protect(plan),
        *_runtime(plan, chosen),
    ]
    usual = Point.__dataclass_fields__["n"].default
    return list(dict.fromkeys(replace(point, n=plan.n) if point.n == usual else point for point in points))


def _setting(label: str, task: Task, direction: Direction, chosen: Chosen) -> Setting:
    """Return the setting that was searched for, or the only one there is."""
    return chosen.get((label, task.name, direction.name)) or settings(label, task)[0]


def _released(label: str, task: Task, direction: Direction, chosen: Chosen) -> Setting | None:
    """Of a DPP, the setting that was searched for with the released update."""
    only = released(settings(label, task)[0])
    if only is None:
        return None
    return chosen.get((chosen_as(label, only.method), task.name, direction.name), only)


def _operating(label: str, task: Task, direction: Direction, plan: Plan, chosen: Chosen) -> Setting:
    """Return the published setting where there is one, else the one that was searched for.

    Published settings of DPPs are of the released update, which is swept on its own.
    """
    known = {} if label in DPPS else _printed(label, task, direction, plan)
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


def _preference(plan: Plan) -> Iterator[Point]:
    """Yield the sweeps of the released preference study: strength from 0 to 1, with the same bins for all tasks."""
    if plan.published != "pixelprose" or not plan.released:
        return
    for label, task, direction in plan.asks():
        if label in _RELEASED_PRS_WIDTHS and (task.has(Geo) or task.has(Hour)):
            for strength in STRENGTHS:
                method, widths = COVERAGE[label].method(strength), _RELEASED_PRS_WIDTHS[label]
                yield Point("prs", task, direction, label, method, widths, value=strength, point="published")


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
    """Yield one attribute spread, the other focused; MS-DPP with theta 0.9 and beta 0.5, with either update.

    Ours are of K = 10, which the paper prints; the released study took K = 20, with narrow bins for both rows.
    """
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
            if plan.released and plan.published == "pixelprose" and label != "guarded":
                method = found.method if other is None else other.method
                bins = _RELEASED_MIXED_WIDTHS if label == "mascot" else found.widths
                yield replace(point, method=method, widths=bins, point="published", k=_RELEASED_MIXED_K)


def _clusters(plan: Plan, chosen: Chosen) -> Iterator[Point]:
    """Yield ten k-means clusters of the image vectors as the attribute, at K = 10: bins need not be places or times.

    Ours are of the test split with a searched strength. The released study took the validation split, 50 candidates
    and strength 0.5, without a search.
    """
    if not plan.clusters:
        return
    for label, direction in product(plan.labels, plan.directions):
        if label in ("base", "mascot", *GUARDED):
            found = _setting(label, CLUSTERS, direction, chosen)
            name = "validated" if label == "mascot" else "default"
            point = Point("clusters", CLUSTERS, direction, label, found.method, found.widths, point=name, k=_CLUSTERS_K)
            yield point
            if plan.released and plan.published == "pixelprose" and label in ("base", "mascot"):
                method = Mascot.paper(_RELEASED_CLUSTERS_STRENGTH) if label == "mascot" else found.method
                yield replace(point, method=method, point="published", split="validation", n=_RELEASED_CLUSTERS_N)


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
