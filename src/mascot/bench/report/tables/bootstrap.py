"""Paired bootstrap intervals of the difference of two methods, from the values of every query."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

from mascot.bench.datasets.dataset import Floats
from mascot.bench.report.run_results import Average, RunResults
from mascot.bench.running.measure import dm_per_query
from mascot.bench.running.records import Record

_DRAWS = 2000
_TAILS = (2.5, 97.5)  # percent
_LEAST = 1e-9  # DM is a harmonic mean, so a query without diversity makes it almost 0


def paired(ours: RunResults, rival: RunResults, measure: str) -> Average | None:
    """Return the difference of two methods on the queries that both have; None if no seed has the values of both.

    Each draw resamples the queries of every seed with replacement, the same queries for both methods; the measure is
    computed on the draw and averaged over seeds. So DM and HM, which are not means over queries, have an interval too.
    The measure is ``"hm"``, ``"dm"``, or a name of `per_query`; the limits contain 95% of the differences.
    """
    values: list[Floats] = []
    resampled: list[Floats] = []
    for seed in set(ours.names("seed")) & set(rival.names("seed")):
        tables = [_numbers(runs.where(seed=seed).records[0], measure) for runs in (ours, rival)]
        shared = tables[0].index.intersection(tables[1].index)
        if shared.empty:
            continue
        equal_shares = np.full((1, len(shared)), 1 / len(shared))
        for shares, into in ((equal_shares, values), (_shares(len(shared), seed), resampled)):
            first, second = (_of_means(measure, shares @ table.loc[shared].to_numpy()) for table in tables)
            into.append(first - second)
    if not values:
        return None
    low, high = np.percentile(np.mean(resampled, axis=0), _TAILS)
    return Average(float(np.mean(values)), float(low), float(high), len(values))


def _numbers(record: Record, measure: str) -> pd.DataFrame:
    """Return the numbers whose means make the measure, a row for each query that has all of them."""
    values, retrieval = record["per_query"], record.get("retrieval", "r@10")
    channels = ["appearance", "metadata"] if values.get("appearance") else ["metadata"]
    needed = {"hm": [retrieval, *channels], "dm": channels}.get(measure, [measure])
    if any(not values.get(name) for name in needed):
        return pd.DataFrame()
    table = pd.DataFrame({name: values[name] for name in needed}, record["queries"], dtype=float).dropna()
    if measure in ("hm", "dm"):
        looks = table["appearance"].to_numpy() if "appearance" in table else None
        wished = dm_per_query(looks, table["metadata"].to_numpy(), focus=record["direction"] == "focus")
        table = table.drop(columns=channels).assign(inverse=1 / np.maximum(wished, _LEAST))
    return table


def _of_means(measure: str, means: Floats) -> Floats:
    """Return [B] the measure from means [B, C]: DM is one over the mean of one over each query's."""
    if measure == "dm":
        return np.asarray(1 / means[:, 0])
    if measure == "hm":
        recall, dm = means[:, 0], 1 / means[:, 1]
        return np.asarray(2 * recall * dm / (recall + dm))
    return means[:, 0]


@lru_cache(maxsize=8)
def _shares(queries: int, seed: int) -> Floats:
    """Return [B, Q] how often each draw has each query, as a share."""
    counts = np.random.default_rng([seed, queries]).multinomial(queries, np.full(queries, 1 / queries), size=_DRAWS)
    return np.asarray(counts / queries, dtype=np.float64)
