"""The benchmark's own datasets with what is asked of them, and a user's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import mascot as mc
from mascot.bench.datasets.arrays import CLUSTER, Arrays
from mascot.bench.datasets.dataset import Dataset
from mascot.bench.datasets.div400 import Div400
from mascot.bench.datasets.folder import Folder, read_folder
from mascot.bench.datasets.pixelprose_sim import PixelProseSim
from mascot.bench.experiment import Suite
from mascot.bench.grid import DPPS, GUARDED, LABELS, dpp
from mascot.bench.outside import STRATEGIES, Pyversity
from mascot.bench.points import Point
from mascot.bench.published import Published
from mascot.bench.studies import Plan
from mascot.bench.tasks import GEO, GEO_HOUR, HOUR, SPREAD, Facet, Geo, Hour, Look, Own, Task
from mascot.errors import InputError
from mascot.methods import Mmr, MsDpp
from mascot.methods.base import Method

SEEDS = (0, 1, 2)
PIXELPROSE_TASKS = (GEO_HOUR, HOUR, GEO)
QUICK_QUERIES = 80
_VALIDATION = 50  # queries that the published search asked where each has one positive
_QUICK_VALIDATION = 16
_QUICK_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)


def pixelprose(
    seeds: Sequence[int] = SEEDS,
    labels: Sequence[str] = LABELS,
    tasks: Sequence[Task] = PIXELPROSE_TASKS,
    quick: bool = False,
    behaviour: str = "published",
) -> Suite:
    """Return the paper's protocol on the simulated PixelProse. The quick form asks a few of the queries."""
    sources = tuple((seed, replace(PixelProseSim(), seed=seed)) for seed in seeds)
    suite = as_behaviour(Suite("pixelprose-sim", sources, Plan(tuple(labels), tuple(tasks))), behaviour)
    return _quick(suite) if quick else suite


def as_behaviour(suite: Suite, behaviour: str) -> Suite:
    """Return the suite as the published study ran it, or as is correct.

    ``"published"``: MMR, DPPs and clustering take the hour as minutes / 1439, and the side studies also run at the
    released settings. ``"correct"``: the hour is minutes / 1440, and the side studies are ours alone.
    """
    if behaviour == "published":
        return suite
    tasks = tuple(task.corrected() for task in suite.plan.tasks)
    return replace(suite, plan=replace(suite.plan, tasks=tasks, released=False))


_PYVERSITY = {f"pyversity-{strategy}": strategy for strategy in STRATEGIES}
DIV400_LABELS = ("base", "clustering", "mmr", *DPPS, *GUARDED, *_PYVERSITY)
_WHO, _WHEN, _WHERE = (
    Own(mc.Category("user")),
    Own(mc.Date("taken", sigma_days=0.5)),
    Own(mc.Place(sigma_km=1.0, missing="neutral"), 0.5),
)
DIV400_TASK = Task("all", (_WHO, Look(), _WHEN, _WHERE))
DIV400_K_MEANS = Task("all-k-means", (_WHO, Own(mc.Clusters(25)), _WHEN, _WHERE))
DIV400_TASKS = (DIV400_TASK, DIV400_K_MEANS)
_DIV400_STRENGTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_DIV400_BETAS = (0.2, 0.4, 0.6, 0.8)
_DIV400_N = 150  # no topic has more


def div400(folder: Path, labels: Sequence[str] = DIV400_LABELS, tasks: Sequence[Task] = DIV400_TASKS) -> Suite:
    """Photographer, look, time and place spread together on the 57 topics of Div400.

    Look is seen in two ways: as branches, and as k-means clusters. Every method is run at every strength (and DPPs at
    four betas), so that its best on these very topics is known. Rivals are chosen on the 9 topics of the devset: the
    48 others, which no choice of theirs has seen, are summed up on their own as ``unseen``.
    """
    ours = [label for label in labels if label not in _PYVERSITY]
    settings: list[tuple[str, Method, float, str | None]] = [
        (label, Pyversity(_PYVERSITY[label], strength), strength, None)
        for label in labels
        if label in _PYVERSITY
        for strength in _DIV400_STRENGTHS
    ]
    settings += [
        ("mmr", Mmr(strength, published=True), strength, None) for strength in _DIV400_STRENGTHS if "mmr" in labels
    ]
    settings += [
        (label, dpp(label, beta, 1 - strength), strength, f"beta {beta}")
        for label in labels
        if label in DPPS
        for beta in _DIV400_BETAS
        for strength in _DIV400_STRENGTHS
    ]
    rivals = [
        Point("strength", task, SPREAD, label, method, value=strength, point=point, n=_DIV400_N)
        for task in tasks
        for label, method, strength, point in settings
    ]
    plan = Plan(tuple(ours), tuple(tasks), (SPREAD,), n=_DIV400_N, published=None, clusters=False, search_k=20)
    return Suite(
        "div400",
        ((0, Div400(folder)),),
        plan,
        None,
        None,
        metric="f1@20",
        judged="cluster",
        extra=tuple(rivals),
        subsets=("unseen",),
    )


def arrays(path: Path, labels: Sequence[str] = LABELS, quick: bool = False) -> Suite:
    """A user's own file: every attribute on its own, and place with hour where it has both."""
    source = Arrays(path)
    found = source.load()
    suite = Suite(
        path.stem,
        ((0, source),),
        Plan(tuple(labels), own_tasks(found, judged=CLUSTER), published=None, clusters=found.vectors is not None),
        validation=_asked(found),
        judged=CLUSTER if CLUSTER in found.columns else None,
    )
    return _own(as_behaviour(suite, "correct"), found, quick)


def folder(
    path: Path,
    model: str | None = None,
    labels: Sequence[str] = LABELS,
    quick: bool = False,
    behaviour: str = "published",
) -> Suite:
    """Return a prepared and encoded folder by the paper's protocol; only the paper's datasets run as published."""
    source = Folder(path, model)
    found = source.load()
    stored = read_folder(path)
    known = stored.name if Published(stored.name).known else None
    plan = Plan(tuple(labels), own_tasks(found), published=known)
    suite = Suite(
        found.name,
        ((int(stored.about.get("seed", 0)), source),),
        plan,
        validation=stored.about.get("validation_queries", _asked(found)),
        retrieval=str(stored.about.get("measure", "r@10")),
    )
    return _own(as_behaviour(suite, behaviour if known else "correct"), found, quick)


def _asked(dataset: Dataset) -> int | None:
    """How many validation queries the search asks; None is all of them, where some have several positives."""
    return _VALIDATION if int(dataset.positives.lengths.max()) == 1 else None


def _own(suite: Suite, dataset: Dataset, quick: bool) -> Suite:
    """The suite as the dataset allows it: without the methods that cannot run on it, with what is to be said of it."""
    lowest, alike = _scores(dataset, suite.plan.n)
    logarithmic = [label for label in suite.plan.labels if label in DPPS and _normalizes(dpp(label, 0.5, 0.5))]
    if lowest <= 0 and logarithmic:
        why = f"{' and '.join(logarithmic)} take the logarithm of scores and were left out: the lowest is {lowest:g}"
        suite = _without(suite, dataset, logarithmic, why)
    if dataset.vectors is None:
        if "clustering" in suite.plan.labels:
            why = "clustering looks at vectors and was left out: there are none"
            suite = _without(suite, dataset, ["clustering"], why)
        suite = _noted(suite, "there are no vectors: DM is the diversity of the metadata alone")
    bare = int((dataset.positives.lengths == 0).sum())
    if bare:
        suite = _noted(
            suite,
            f"{bare} of {dataset.queries} queries have no positive: recall, precision and HM are of the others",
        )
    if alike:
        suite = _noted(suite, f"{alike} of {dataset.queries} queries have one score for all candidates: rows decide")
    return _quick(suite) if quick else suite


def _without(suite: Suite, dataset: Dataset, labels: Sequence[str], why: str) -> Suite:
    """The suite without some methods, and with the reason; refused where none is left."""
    rest = tuple(label for label in suite.plan.labels if label not in labels)
    if not rest:
        raise InputError(f"{dataset.name}: {why}, and no other method was asked for")
    return _noted(replace(suite, plan=replace(suite.plan, labels=rest)), why)


def _noted(suite: Suite, note: str) -> Suite:
    return replace(suite, notes=(*suite.notes, note))


def _normalizes(method: Method) -> bool:
    return isinstance(method, MsDpp) and method.normalize is not None


def _scores(dataset: Dataset, n: int) -> tuple[float, int]:
    """The lowest score of a candidate, and how many queries score several candidates all alike."""
    lowest, alike = np.inf, set()
    for split in dataset.splits:
        for block in dataset.blocks(n, split):
            low = np.where(block.images >= 0, block.scores, np.inf).min(axis=1)
            lowest = min(lowest, float(low.min(initial=np.inf)))
            equal = (block.counts > 1) & (low == block.scores[:, 0])
            alike |= set(block.queries[equal].tolist())
    return lowest, len(alike)


def _quick(suite: Suite) -> Suite:
    plan = replace(suite.plan, steps=_QUICK_STEPS)
    return replace(suite, plan=plan, validation=_QUICK_VALIDATION, test=QUICK_QUERIES)


def own_tasks(dataset: Dataset, judged: str | None = None) -> tuple[Task, ...]:
    """The tasks a dataset's columns allow; the one of judged clusters is no attribute."""
    columns = dataset.columns
    geo, hour = {"lat", "lon"} <= columns.keys(), "taken" in columns
    facets: list[Facet] = [Geo()] if geo else []
    facets += [Hour()] if hour else []
    both = [Task("geo_hour", tuple(facets))] if len(facets) == 2 else []
    for name, column in columns.items():
        if name not in ("lat", "lon", "taken", judged):
            number = column.dtype.kind == "f"
            facets.append(Own(mc.Number(name) if number else mc.Category(name)))
    return (*both, *(Task(facet.name, (facet,)) for facet in facets))


def only(suite: Suite, tasks: Sequence[Task]) -> Suite:
    """The suite with some of its tasks."""
    return replace(suite, plan=replace(suite.plan, tasks=tuple(tasks)))
