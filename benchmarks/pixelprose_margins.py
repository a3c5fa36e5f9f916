"""Why published rows are missed on the simulated PixelProse: the base's rows fix the order of scores, not the scores.

    python -m benchmarks.pixelprose_margins

Any increasing function of the scores leaves the base retriever's list unchanged, and so every row to which the
simulation was fitted. But the methods add coverage to scores, and the margin of the best match decides when they give
it up. Here the scores are changed in three ways, and the published settings are measured again:

- *power*: scores r of each query, scaled to 0..1, become r ** power. This affects all four methods.
- *factor*: all scores are multiplied. This affects only Prob-Coverage, which adds raw scores to coverage. The bins of
  w/o Normalization are weighed by the same raw scores, so that the factor cancels.
- *shift*: a number is added to all scores. This affects only w/o Normalization.

These changes are used nowhere else: the simulation has power 1, factor 1 and shift 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from mascot.bench.datasets.dataset import Dataset
from mascot.bench.datasets.pixelprose_sim import PixelProseSim
from mascot.bench.protocol.published import Published
from mascot.bench.protocol.search_space import inferred, published
from mascot.bench.protocol.tasks import FOCUS, GEO, GEO_HOUR, HOUR, SPREAD
from mascot.bench.running.measure import per_query, summary
from mascot.bench.running.query_set import QuerySet
from mascot.bench.running.select import choose

LABELS = ("mascot", "uniform-binning", "prob-coverage", "no-normalization")
Key = tuple[str, str, str]  # label, task, direction
_MEASURES = ("r@1", "r@10", "dm")


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of the scores: first the power, then ``factor * score + shift``."""

    power: float = 1.0
    factor: float = 1.0
    shift: float = 0.0

    def __str__(self) -> str:
        return f"power {self.power:g}, {self.factor:g} r {self.shift:+g}"


CHANGES = (Change(), Change(1.15), Change(1.3), Change(1.0, 1.6, -0.32), Change(1.15, 1.6, -0.32))


def bent(dataset: Dataset, power: float, split: str = "test", *, factor: float = 1.0, shift: float = 0.0) -> Dataset:
    """The same lists with other scores; see `Change`."""
    queries = QuerySet(dataset, split)
    images: list[np.ndarray] = [np.empty(0, np.int64)] * dataset.queries
    scores = [np.empty(0)] * dataset.queries
    for query, rows, old in zip(queries.queries.tolist(), queries.rows, queries.scores, strict=True):
        low, span = old[-1], old[0] - old[-1]
        images[query], scores[query] = rows, factor * (low + span * ((old - low) / span) ** power) + shift
    return replace(dataset, query_vectors=None, lists=images, scores=scores)


def rows(
    dataset: Dataset,
    labels: Sequence[str] = LABELS,
    limit: int | None = None,
    measures: Sequence[str] = ("r@10", "dm"),
) -> dict[Key, tuple[float, ...]]:
    """Measures of each method at its published or inferred setting, on all or the first so many test queries."""
    material = QuerySet(dataset, limit=limit)
    points = []
    for label, task, direction in product(labels, (GEO_HOUR, HOUR, GEO), (FOCUS, SPREAD)):
        setting = published(label, task, direction) or inferred(label, task, direction)
        assert setting is not None
        points.append(setting)
    measured: dict[Key, tuple[float, ...]] = {}
    for choice in choose(points, material):
        point = choice.point
        numbers = summary(point, per_query(point, choice.positions, material))
        measured[point.label, point.task.name, point.direction] = tuple(numbers[name] for name in measures)
    return measured


def table(seeds: Sequence[int] = (0, 1, 2), changes: Sequence[Change] = CHANGES, labels: Sequence[str] = LABELS) -> str:
    """Differences from the published R@1, R@10 and DM, the mean of the seeds, for each change of the scores."""
    datasets = [PixelProseSim(seed=seed).load() for seed in seeds]
    paper = Published("pixelprose")
    apart: dict[Change, dict[Key, np.ndarray]] = {}
    for change in changes:
        changed = [bent(dataset, change.power, factor=change.factor, shift=change.shift) for dataset in datasets]
        seeds_rows = [rows(dataset, labels, measures=_MEASURES) for dataset in changed]
        for key in seeds_rows[0]:
            row = paper.row(key[1], key[2], key[0])
            ours = np.mean([seed_rows[key] for seed_rows in seeds_rows], axis=0)
            apart.setdefault(change, {})[key] = ours - [row[name] for name in _MEASURES]
    lines = [f"{'R@1, R@10, DM less the published':<36}" + "".join(f"  {change!s:<26}" for change in changes)]
    for key in apart[changes[0]]:
        lines.append(f"{' '.join(key):<36}" + "".join(f"  {_cell(apart[change][key], '+')}" for change in changes))
    for label in labels:
        worst = [
            np.max([np.abs(apart[change][key]) for key in apart[change] if key[0] == label], axis=0)
            for change in changes
        ]
        lines.append(f"{'largest, ' + label:<36}" + "".join(f"  {_cell(values, '')}" for values in worst))
    return "\n".join(line.rstrip() for line in lines)


def _cell(values: np.ndarray, sign: str) -> str:
    return f"{', '.join(f'{value:{sign}.3f}' for value in values):<26}"


if __name__ == "__main__":
    print(table())
