"""Compare the base retriever on the simulated PixelProse with its published rows.

python -m benchmarks.simulation
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from mascot.bench import metrics
from mascot.bench.datasets.dataset import Dataset
from mascot.bench.datasets.pixelprose_sim import PixelProseSim
from mascot.bench.protocol.published import DIRECTIONS, Published
from mascot.bench.protocol.tasks import HOUR_OF_DAY, PLACE
from mascot.bench.running.query_set import QuerySet, appearance, features


def published_figures() -> dict[str, float]:
    """Return the base retriever's published rows: PixelProse, N = 200, K = 20."""
    paper = Published("pixelprose")
    figures = {name.upper(): value for name, value in paper.recall("geo", "focus", "base").items()}
    figures["appearance"] = paper.row("geo_hour", "spread", "base")["appearance"]
    for task, direction in product(("geo_hour", "hour", "geo"), ("focus", "spread")):
        figures[f"DM {task} {DIRECTIONS[direction]}"] = paper.row(task, direction, "base")["dm"]
    return figures


def base_figures(dataset: Dataset) -> dict[str, float]:
    """Return the base retriever's figures on the test split, with the keys of `published_figures`."""
    queries = QuerySet(dataset, n=20)
    images, looks = np.stack(queries.rows), np.asarray(appearance(dataset, np.stack(queries.rows)))
    figures = {f"R@{at}": float(metrics.recall_at_k(queries.relevant, at).mean()) for at in (1, 3, 5, 10, 20)}
    figures["appearance"] = float(looks.mean())
    place, hour = (features(dataset, attribute)[images] for attribute in (PLACE, HOUR_OF_DAY))
    for task, points in {"geo_hour": np.concatenate([place, hour], axis=-1), "hour": hour, "geo": place}.items():
        values = metrics.normalised_vendi(metrics.similarity_kernel(points))
        for direction in ("focus", "spread"):
            name = f"DM {task} {DIRECTIONS[direction]}"
            figures[name] = metrics.dm(looks, values, focus=direction == "focus")
    return figures


def table(seeds: Sequence[int] = (0, 1, 2)) -> str:
    """Return the base retriever's figures beside the published ones, as text."""
    runs = [base_figures(PixelProseSim(seed=seed).load()) for seed in seeds]
    lines = [f"{'base retriever':<22} published  simulated  difference"]
    for key, published in published_figures().items():
        mean = float(np.mean([run[key] for run in runs]))
        lines.append(f"{key:<22} {published:9.4f}  {mean:9.4f}  {mean - published:+10.4f}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
