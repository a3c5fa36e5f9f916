"""Differences of two methods on the same queries, with paired bootstrap intervals from the values of every query."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache

import numpy as np
import pandas as pd

from mascot.bench.datasets.dataset import Floats
from mascot.bench.protocol.published import Published
from mascot.bench.protocol.search_space import GUARDED
from mascot.bench.report import naming
from mascot.bench.report.run_results import Average, RunResults, means
from mascot.bench.report.tables.result_table import LEVELS, Column, ResultTable, Value, table
from mascot.bench.running.measure import dm_per_query
from mascot.bench.running.records import Record

_JUDGED = ("cr@20", "p@20", "f1@20")
_DRAWS = 2000
_TAILS = (2.5, 97.5)  # percent
_LEAST = 1e-9  # DM is a harmonic mean, so a query without diversity makes it almost 0


def differences(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield each of our methods, and of the user's, minus the best rival: HM, R@10 (or MAP) and DM.

    On judged data the measures of spread are CR@20, P@20 and F1@20.
    """
    parts = {"differences": (" on the same queries", results)}
    parts |= {f"differences-{name}": (f", {name} queries", part) for name, part in results.subsets()}
    for key, (queries, part) in parts.items():
        main, title = part.where(study="main"), f"Ours minus the best rival{queries}"
        usual = ("hm", part.retrieval, "dm")
        if "cr@20" in main.frame.dropna(how="all", axis=1):
            yield _against(main, key, title, _JUDGED, "spread")
            yield _against(main, f"{key}-focus", f"{title}, focus", usual, "focus")
        else:
            yield _against(main, key, title, usual)


def _against(
    main: RunResults, key: str, title: str, measures: tuple[str, ...], direction: str | None = None
) -> ResultTable:
    part = main.where(direction=direction) if direction else main
    columns = [Column(name, measures[0].upper()) for name in ("ours", "rival's")]
    names = ("difference", "from", "to")
    columns += [Column(name, measure.upper(), signed=True) for measure in measures for name in names]
    rows: dict[tuple[str, ...], list[Value]] = {}
    for way, task in part.frame.groupby(list(LEVELS), observed=True).groups:
        runs = part.where(direction=way, task=task)
        for label, ours in runs.split("label"):
            if label not in GUARDED and naming.is_listed(label):
                continue
            rival = _best_rival(runs, measures[0], GUARDED if label in GUARDED else [label])
            if rival is not None:
                rows[way, task, label] = _row(ours, rival, measures)
    index = pd.MultiIndex.from_tuples(rows, names=[*LEVELS, "label"]) if rows else None
    cells = pd.DataFrame(list(rows.values()), index, [*columns, Column("rival")], dtype=object)
    note = (
        f"The rival is the method and operating point with the highest {measures[0].upper()} on these queries, a "
        "choice that favours it. From, to: the 95% paired bootstrap interval over the queries of each seed. An "
        "interval that contains 0 shows no difference. The intervals say nothing about other datasets."
    )
    return table(main, key, title, cells, (note,), levels=LEVELS if rows else None)


def _row(ours: RunResults, rival: RunResults, measures: tuple[str, ...]) -> list[Value]:
    cells: list[Value] = [means(runs.frame, ["label"], measures[:1]).iloc[0, 0] for runs in (ours, rival)]
    for measure in measures:
        difference = paired(ours, rival, measure)
        cells += [None] * 3 if difference is None else [difference.value, difference.low, difference.high]
    first = rival.frame.iloc[0]
    name = naming.method(first["label"])
    return [*cells, name if first["point"] in ("default", "") else f"{name}, {first['point']}"]


def _best_rival(part: RunResults, measure: str, ours: Collection[str]) -> RunResults | None:
    """Return the method other than `ours`, over all operating points, with the highest mean.

    It is chosen on the queries it is compared on, which favours it.
    """
    rivals = part.filter(~part.frame["label"].isin(list(ours))).frame.reindex(columns=["label", "point", measure])
    scores = rivals.groupby(["label", "point"], observed=True)[measure].agg(["mean", "size"])
    scores = scores[scores["size"] == len(part.names("seed"))].dropna()
    if scores.empty:
        return None
    label, point = scores["mean"].idxmax()
    return part.where(label=label, point=point)


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
