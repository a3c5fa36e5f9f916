"""Ours minus the best rival on the same queries, with paired bootstrap intervals from the values of every query."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pandas as pd

from mascot.bench.protocol.published import Published
from mascot.bench.protocol.search_space import GUARDED
from mascot.bench.report import naming
from mascot.bench.report.run_results import RunResults, means
from mascot.bench.report.tables.bootstrap import paired
from mascot.bench.report.tables.comparison import subsets
from mascot.bench.report.tables.result_table import LEVELS, Column, ResultTable, Value, table

_JUDGED = ("cr@20", "p@20", "f1@20")


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


def differences(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield each of our methods, and of the user's, minus the best rival: HM, R@10 (or MAP) and DM.

    On judged data the measures of spread are CR@20, P@20 and F1@20.
    """
    parts = {"differences": (" on the same queries", results)}
    parts |= {f"differences-{name}": (f", {name} queries", part) for name, part in subsets(results)}
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
