"""The limits of the methods on Div400: CR@20 with information that no search has.

``python -m benchmarks.div400_ceilings DIR`` prints P@20 and CR@20 of ours and of rivals, each at the best of
a few settings:

- *as it is*: the scores and attributes of the benchmark;
- *relevance known*: people's judgements as scores (the text score decides between equals);
- *clusters known*: people's clusters instead of look; an irrelevant photograph joins the nearest relevant one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import mascot as mc
from mascot.bench.datasets.dataset import Dataset, Ints
from mascot.bench.datasets.div400 import Div400
from mascot.bench.methods import KDpp
from mascot.bench.methods.pyversity import Pyversity
from mascot.bench.protocol.presets import DIV400_TASK
from mascot.bench.protocol.tasks import SPREAD, Point
from mascot.bench.running.measure import per_query
from mascot.bench.running.query_set import QuerySet
from mascot.bench.running.select import choose

_STRENGTHS = (0.3, 0.5, 0.7)
_BETAS = (0.0, 0.6)
METHODS: Mapping[str, Sequence[Any]] = {
    "guarded": [mc.Mascot(strength=strength) for strength in _STRENGTHS],
    "MMR": [mc.Mmr(strength, published=True) for strength in _STRENGTHS],
    "k-DPP": [KDpp(strength, beta, normalize=False) for strength, beta in product(_STRENGTHS, _BETAS)],
    "pyversity's MMR": [Pyversity("mmr", strength) for strength in _STRENGTHS],
}
CASES = ("as it is", "relevance known", "clusters known")
_TIE = 1e-3  # what the text score counts for beside a judgement
_KNOWN = "known"  # the column that takes the place of look


def ceilings(
    dataset: Dataset, methods: Mapping[str, Sequence[Any]] = METHODS
) -> dict[tuple[str, str], tuple[float, float]]:
    """P@20 and CR@20 by case and method, at the setting with the highest CR@20."""
    user, _, date, place = DIV400_TASK.attributes
    clusters = replace(DIV400_TASK, attributes=(user, mc.Category(_KNOWN), date, place))
    best: dict[tuple[str, str], tuple[float, float]] = {}
    for case, (changed, task) in zip(
        CASES,
        ((dataset, DIV400_TASK), (_relevance_known(dataset), DIV400_TASK), (_clusters_known(dataset), clusters)),
        strict=True,
    ):
        material = QuerySet(changed, "test", 150, judged="cluster")
        points = [Point(label, task, SPREAD, method, n=150) for label, several in methods.items() for method in several]
        for choice in choose(points, material):
            numbers = per_query(choice.point, choice.positions, material)
            key, ours = (case, choice.point.label), (float(numbers["p@20"].mean()), float(numbers["cr@20"].mean()))
            if key not in best or ours[1] > best[key][1]:
                best[key] = ours
    return best


def _relevance_known(dataset: Dataset) -> Dataset:
    assert dataset.lists is not None
    assert dataset.scores is not None
    topics = zip(dataset.lists, dataset.positives, dataset.scores, strict=True)
    return replace(dataset, scores=[np.isin(rows, right) + _TIE * scores for rows, right, scores in topics])


def _clusters_known(dataset: Dataset) -> Dataset:
    assert dataset.lists is not None
    assert dataset.vectors is not None
    known: Ints = dataset.columns["cluster"].copy()
    for topic in range(dataset.queries):
        positives = dataset.positives[topic]
        rest = np.setdiff1d(dataset.lists[topic], positives)
        if len(positives) and len(rest):
            apart = np.linalg.norm(dataset.vectors[rest][:, None] - dataset.vectors[positives][None], axis=2)
            known[rest] = known[positives][apart.argmin(axis=1)]
    return replace(dataset, columns={**dataset.columns, _KNOWN: known})


def table(folder: Path) -> str:
    """P@20 and CR@20 as text, a row for each case."""
    best = ceilings(Div400(folder).load())
    lines = [f"{'P@20, CR@20':<18}" + "".join(f"{label:<18}" for label in METHODS)]
    for case in CASES:
        cells = (best[case, label] for label in METHODS)
        lines.append(f"{case:<18}" + "".join(f"{f'{p:.3f}, {cr:.3f}':<18}" for p, cr in cells))
    return "\n".join(line.rstrip() for line in lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
