"""The benchmarks that `mascot bench run` knows: the simulated PixelProse, Div400, a file, and a prepared folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

import mascot as mc
from mascot.attributes import Clusters
from mascot.bench.datasets.arrays import CLUSTER, Arrays
from mascot.bench.datasets.dataset import Dataset
from mascot.bench.datasets.div400 import Div400
from mascot.bench.datasets.folder import Folder, read_folder
from mascot.bench.datasets.pixelprose_sim import PixelProseSim
from mascot.bench.methods.pyversity import STRATEGIES, Pyversity
from mascot.bench.protocol.branches import Branches
from mascot.bench.protocol.published import Published
from mascot.bench.protocol.search_space import DPPS, GUARDED, LABELS, dpp
from mascot.bench.protocol.studies import Benchmark
from mascot.bench.protocol.tasks import GEO, GEO_HOUR, HOUR, SPREAD, BenchTask, Point

SEEDS = (0, 1, 2)
PIXELPROSE_TASKS = (GEO_HOUR, HOUR, GEO)
QUICK_QUERIES = 80
_VALIDATION = 50  # queries of the published search, if each query has one positive
_QUICK_VALIDATION = 16
_QUICK_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)


def pixelprose(
    seeds: Sequence[int] = SEEDS,
    labels: Sequence[str] = LABELS,
    tasks: Sequence[BenchTask] = PIXELPROSE_TASKS,
    quick: bool = False,
    behaviour: str = "published",
) -> Benchmark:
    """Return the protocol of the paper on the simulated PixelProse; `quick` asks a few of the queries."""
    sources = tuple((seed, PixelProseSim(seed=seed)) for seed in seeds)
    return _adjusted(Benchmark("pixelprose-sim", sources, tuple(labels), tuple(tasks)), behaviour, quick)


def _adjusted(benchmark: Benchmark, behaviour: str, quick: bool) -> Benchmark:
    """Return the benchmark as the published study ran it, or without its mistakes; `quick` takes few queries.

    ``"published"``: MMR, DPPs and clustering take the hour as minutes / 1439, and the side studies also run at the
    released settings. ``"correct"``: the hour is minutes / 1440, and the side studies are ours alone.
    """
    if behaviour != "published":
        tasks = tuple(replace(task, published_hour=False) for task in benchmark.tasks)
        benchmark = replace(benchmark, tasks=tasks, released=False)
    if not quick:
        return benchmark
    return replace(benchmark, steps=_QUICK_STEPS, validation=_QUICK_VALIDATION, test=QUICK_QUERIES)


_PYVERSITY = {f"pyversity-{strategy}": strategy for strategy in STRATEGIES}
DIV400_LABELS = ("base", "clustering", "mmr", *DPPS, *GUARDED, *_PYVERSITY)
_WEIGHTS = (1.0, 1.0, 1.0, 0.5)
_USER, _DATE = mc.Category("user"), mc.Date("taken", sigma_days=0.5)
_NEAR = mc.Place(sigma_km=1.0, missing="neutral")
DIV400_TASK = BenchTask("all", (_USER, Branches(), _DATE, _NEAR), _WEIGHTS)
DIV400_TASKS = (DIV400_TASK, BenchTask("all-k-means", (_USER, Clusters(25), _DATE, _NEAR), _WEIGHTS))
_DIV400_STRENGTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_DIV400_BETAS = (0.2, 0.4, 0.6, 0.8)
_DIV400_N = 150  # no topic has more


def div400(folder: Path, labels: Sequence[str] = DIV400_LABELS, tasks: Sequence[BenchTask] = DIV400_TASKS) -> Benchmark:
    """Return the benchmark that spreads photographer, look, time and place together on the 57 topics of Div400.

    Look is seen in two ways: as branches, and as k-means clusters. Every method is run at every strength (and DPPs at
    four betas), so that its best on these very topics is known. Rivals are chosen on the 9 topics of the devset: the
    48 others, which no choice of theirs has seen, are summed up on their own as ``unseen``.
    """
    rivals = [point for task, label in product(tasks, labels) for point in _rivals(label, task)]
    ours = tuple(label for label in labels if label not in _PYVERSITY)
    return Benchmark(
        "div400", ((0, Div400(folder)),), ours, tuple(tasks), (SPREAD,), _DIV400_N, published=None, clusters=False,
        search_k=20, validation=None, metric="f1@20", judged="cluster", extra=tuple(rivals), subsets=("unseen",),
    )  # fmt: skip


def _rivals(label: str, task: BenchTask) -> Iterator[Point]:
    """Yield a rival of ours at every strength, and a DPP at four betas besides."""
    for strength in _DIV400_STRENGTHS:
        point = Point(label, task, study="strength", value=strength, n=_DIV400_N)
        if label in _PYVERSITY:
            yield replace(point, method=Pyversity(_PYVERSITY[label], strength))
        elif label == "mmr":
            yield replace(point, method=mc.Mmr(strength, published=True))
        elif label in DPPS:
            for beta in _DIV400_BETAS:
                yield replace(point, method=dpp(label, beta, 1 - strength), point=f"beta {beta}")


def arrays(path: Path, labels: Sequence[str] = LABELS, quick: bool = False) -> Benchmark:
    """Return the benchmark of a file: each attribute alone, and place with hour if the file has both."""
    source = Arrays(path)
    dataset = source.load()
    benchmark = Benchmark(
        path.stem,
        ((0, source),),
        tuple(labels),
        own_tasks(dataset, judged=CLUSTER),
        published=None,
        clusters=dataset.vectors is not None,
        validation=_validation_queries(dataset),
        judged=CLUSTER if CLUSTER in dataset.columns else None,
    )
    return _adjusted(_possible(benchmark, dataset), "correct", quick)


def folder(
    path: Path,
    model: str | None = None,
    labels: Sequence[str] = LABELS,
    quick: bool = False,
    behaviour: str = "published",
) -> Benchmark:
    """Return the protocol of the paper on an encoded folder; only the datasets of the paper run as published."""
    source = Folder(path, model)
    dataset = source.load()
    stored = read_folder(path)
    is_published = Published(stored.name).exists
    benchmark = Benchmark(
        dataset.name,
        ((int(stored.about.get("seed", 0)), source),),
        tuple(labels),
        own_tasks(dataset),
        published=stored.name if is_published else None,
        validation=stored.about.get("validation_queries", _validation_queries(dataset)),
        retrieval=str(stored.about.get("measure", "r@10")),
    )
    return _adjusted(_possible(benchmark, dataset), behaviour if is_published else "correct", quick)


def _validation_queries(dataset: Dataset) -> int | None:
    """Return how many validation queries the search asks (None: all), which is all if some have several positives."""
    return _VALIDATION if int(dataset.positive_counts.max()) == 1 else None


def _possible(benchmark: Benchmark, dataset: Dataset) -> Benchmark:
    """Return the benchmark without the methods that cannot run on the dataset, with notes that say so."""
    lowest, tied = _scores(dataset, benchmark.n)
    labels, notes = list(benchmark.labels), []
    logarithmic = [label for label in labels if label in ("ms-dpp+tn", "ms-dpp+tn+tvms")]
    reasons = {
        f"{' and '.join(logarithmic)} take the logarithm of scores and were left out: the lowest is {lowest:g}":
            logarithmic if lowest <= 0 else [],
        "clustering needs vectors and was left out: there are none":
            ["clustering"] if dataset.vectors is None and "clustering" in labels else [],
    }  # fmt: skip
    for reason, impossible in reasons.items():
        labels = [label for label in labels if label not in impossible]
        notes += [reason] if impossible else []
        if not labels:
            raise mc.InputError(f"{benchmark.name}: {reason}, and no other method was asked for")
    if dataset.vectors is None:
        notes.append("there are no vectors: DM is the diversity of the metadata alone")
    if bare := int((dataset.positive_counts == 0).sum()):
        notes.append(
            f"{bare} of {dataset.queries} queries have no positive: recall, precision and HM are means over the others"
        )
    if tied:
        notes.append(f"{tied} of {dataset.queries} queries have one score for all candidates, which stay in row order")
    return replace(benchmark, labels=tuple(labels), notes=tuple(notes))


def _scores(dataset: Dataset, n: int) -> tuple[float, int]:
    """Return the lowest score of a candidate, and how many queries score several candidates all alike."""
    lowest, tied = np.inf, set()
    for split in dataset.splits:
        for hits in dataset.hits(n, split):
            lowest = min(lowest, float(hits.scores.min(initial=np.inf)))
            if len(hits.scores) > 1 and hits.scores[0] == hits.scores[-1]:
                tied.add(hits.query)
    return lowest, len(tied)


def own_tasks(dataset: Dataset, judged: str | None = None) -> tuple[BenchTask, ...]:
    """Return the tasks that a dataset's columns allow; the column of judged clusters is not an attribute."""
    columns = dataset.columns
    usual = [GEO] * ({"lat", "lon"} <= columns.keys()) + [HOUR] * ("taken" in columns)
    column_tasks = [
        BenchTask(name, (mc.Number(name) if column.dtype.kind == "f" else mc.Category(name),))
        for name, column in columns.items()
        if name not in ("lat", "lon", "taken", judged)
    ]
    return (*([GEO_HOUR] if len(usual) == 2 else []), *usual, *column_tasks)
