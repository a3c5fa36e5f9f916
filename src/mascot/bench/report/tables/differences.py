"""Ours less the best rival on the same queries, with paired bootstrap intervals from the values of every query."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from mascot.bench.datasets.dataset import Floats
from mascot.bench.protocol.published import Published
from mascot.bench.protocol.search_space import GUARDED
from mascot.bench.report import naming
from mascot.bench.report.averages import Average, RunResults, summary
from mascot.bench.report.tables.comparison import subsets
from mascot.bench.report.tables.table_model import Column, ResultTable, TableRow, Value, sections, table
from mascot.bench.running.measure import dm_per_query
from mascot.bench.running.records import Record

DRAWS = 2000
_TAILS = (2.5, 97.5)  # percent
_JUDGED = ("cr@20", "p@20", "f1@20")
_LEAST = 1e-9  # DM is a harmonic mean: a query without diversity makes it almost 0


def paired(ours: RunResults, rival: RunResults, measure: str, draws: int = DRAWS) -> Average | None:
    """Return the difference of two methods on the queries that both have; None where no seed has the values of both.

    Each draw resamples the queries of every seed with replacement, the same queries for both methods; the measure is
    computed on the draw and averaged over seeds. So DM and HM, which are not means over queries, have an interval too.
    The measure is ``"hm"``, ``"dm"``, or a name of `per_query`; the limits are those of 95 % of the draws' differences.
    """
    values: list[Floats] = []
    resampled: list[Floats] = []
    rivals = dict(rival.split("seed"))
    for seed, run in ours.split("seed"):
        mine = _columns(run.records[0], measure)
        other = _columns(rivals[seed].records[0], measure) if seed in rivals else {}
        shared = sorted(mine.keys() & other.keys())
        if not shared:
            continue
        equal_shares = np.full((1, len(shared)), 1 / len(shared))
        value_tables = [np.array([method[query] for query in shared]) for method in (mine, other)]
        for shares, into in ((equal_shares, values), (_shares(len(shared), draws, seed), resampled)):
            first, second = (_of_means(measure, shares @ columns) for columns in value_tables)
            into.append(first - second)
    if not values:
        return None
    low, high = np.percentile(np.mean(resampled, axis=0), _TAILS)
    return Average(float(np.mean(values)), float(low), float(high), len(values))


def _columns(record: Record, measure: str) -> dict[int, Floats]:
    """Return for each query the numbers whose means make the measure."""
    values, retrieval = record["per_query"], record.get("retrieval", "r@10")
    channels = ("appearance", "metadata") if values.get("appearance") else ("metadata",)
    needed = {"hm": (retrieval, *channels), "dm": channels}.get(measure, (measure,))
    if any(not values.get(name) for name in needed):
        return {}
    table = np.array([values[name] for name in needed], dtype=np.float64).T  # null becomes NaN
    present = np.isfinite(table).all(axis=1)
    table = table[present]
    if measure in ("hm", "dm"):
        looks = table[:, -2] if len(channels) == 2 else None
        wished = dm_per_query(looks, table[:, -1], focus=record["direction"] == "focus")
        table = np.column_stack([table[:, : -len(channels)], 1 / np.maximum(wished, _LEAST)])
    return dict(zip(np.asarray(record["queries"])[present].tolist(), table, strict=True))


def _of_means(measure: str, means: Floats) -> Floats:
    """Return [B] the measure from means [B, C]: DM is one over the mean of one over each query's."""
    if measure == "dm":
        return np.asarray(1 / means[:, 0])
    if measure == "hm":
        recall, dm = means[:, 0], 1 / means[:, 1]
        return np.asarray(2 * recall * dm / (recall + dm))
    return means[:, 0]


@lru_cache(maxsize=8)
def _shares(queries: int, draws: int, seed: int) -> Floats:
    """Return [B, Q] how often each draw has each query, as a share."""
    counts = np.random.default_rng([seed, queries]).multinomial(queries, np.full(queries, 1 / queries), size=draws)
    return np.asarray(counts / queries, dtype=np.float64)


def _best_rival(results: RunResults, measure: str) -> RunResults | None:
    """Return the method other than ours, over all operating points, with the highest mean.

    It is chosen on the queries it is compared on, which favours it.
    """
    seed_count = len(results.names("seed"))
    means = []
    for label, _, runs in results.split("label", "point"):
        mean = runs.average(summary(measure))
        if label not in GUARDED and len(runs.names("seed")) == seed_count and mean is not None:
            means.append((mean.value, runs))
    return max(means, key=lambda pair: pair[0])[1] if means else None


def differences(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield each of ours less the best rival: HM, R@10 (or MAP) and DM.

    For spread on judged data the measures are those of the judgements.
    """
    parts = {"differences": (" on the same queries", results)}
    parts |= {f"differences-{name}": (f", {name} queries", part) for name, part in subsets(results)}
    for key, (queries, part) in parts.items():
        main, title = part.where(study="main"), f"Ours less the best rival{queries}"
        usual = ("hm", part.retrieval, "dm")
        if any(record["summary"].get("cr@20") is not None for record in main.records):
            yield _against(main, key, title, _JUDGED, "spread")
            yield _against(main, f"{key}-focus", f"{title}, focus", usual, "focus")
        else:
            yield _against(main, key, title, usual)


def _against(
    main: RunResults, key: str, title: str, measures: tuple[str, ...], direction: str | None = None
) -> ResultTable:
    def rows(part: RunResults) -> Iterator[TableRow]:
        rival = _best_rival(part, measures[0])
        for label, runs in part.split("label"):
            if label in GUARDED and rival is not None:
                yield _row(runs, rival, measures)

    parts = sections(main.where(direction=direction) if direction else main, rows)
    columns = [Column(name, measures[0].upper()) for name in ("ours", "rival's")]
    names = ("difference", "from", "to")
    columns += [Column(name, measure.upper(), signed=True) for measure in measures for name in names]
    note = (
        f"The rival is the method and operating point with the highest {measures[0].upper()} on these very queries, "
        "which favours it. From, to: 95 % of paired bootstrap draws over the queries of each seed; an interval that "
        "holds 0 shows no difference. Other datasets are not in it."
    )
    return table(main, key, title, [*columns, Column("rival")], (note,), parts)


def _row(ours: RunResults, rival: RunResults, measures: tuple[str, ...]) -> TableRow:
    cells: list[Value] = [runs.average(summary(measures[0])) for runs in (ours, rival)]
    for measure in measures:
        difference = paired(ours, rival, measure)
        cells += [None] * 3 if difference is None else [difference.value, difference.low, difference.high]
    point = rival.records[0].get("point")
    label, rival_label = (naming.method(runs.records[0]["label"]) for runs in (ours, rival))
    return TableRow(label, (*cells, rival_label if point in ("default", None) else f"{rival_label}, {point}"))
