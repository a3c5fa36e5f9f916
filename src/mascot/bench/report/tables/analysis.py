"""The smaller studies: mixed directions, clusters as an attribute, the first pick, time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from mascot.bench.protocol.published import Published
from mascot.bench.report import naming
from mascot.bench.report.run_results import DISPLACED, GAINS, RunResults, displaced, means
from mascot.bench.report.tables import result_table
from mascot.bench.report.tables.result_table import LEVELS, OURS, PAPER, Column, ResultTable

MIXED = ("r@10", "geo", "hour", "dm", "hm")
_FIRST = ("agrees", "r@1")
_ROW = [*LEVELS, "label"]


def mixed(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield one attribute spread while the other is focused."""
    study = results.where(study="mixed").preferred()
    cells = result_table.beside(study.frame, MIXED, published.row, ("hm",), digits=3)
    strengths = study.frame.assign(strength=[record["method"].get("strength") for record in study.records])
    values = strengths.dropna(subset="strength").groupby(_ROW, observed=True)["strength"].unique()
    ours = values.map(lambda column: " / ".join(f"{value:g}" for value in sorted(column)))
    paper = result_table.printed(cells.index, ("strength",), published.row).iloc[:, 0]
    cells.insert(0, Column("strength", OURS), ours)
    cells.insert(1 + len(MIXED), paper.name, paper.map(lambda value: value and f"{value:g}"))
    notes = [
        "V: normalised Vendi score of one attribute; geo is compared in degrees. "
        "DM combines both channels, neither inverted; HM combines R@10 and DM."
    ]
    if published.row("geo_hour", "geo+hour-", "ms-dpp"):
        notes.append("Published strengths are as printed; the one of MS-DPP appears to be its theta, 1 - strength.")
    yield result_table.table(study, "mixed", "Mixed directions", cells, notes, levels=("direction",))


def clusters(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield clusters of the image vectors as the attribute: nothing in the objective is about place or time.

    A method that protects all results is the base retriever, and is not shown beside it.
    """
    study = results.where(study="clusters").preferred()
    study = study.filter([(record["method"].get("protect") or 0) < record["k"] for record in study.records])
    cells = result_table.beside(study.frame, ("dm", results.retrieval, "hm"), published.row, ("hm",), digits=3)
    title = "Ten clusters of the image vectors as the attribute"
    yield result_table.table(study, "clusters", title, cells, levels=("direction",))


def first_gain(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the coverage gain of the first pick: it is not zero, so nothing guarantees the base's first result."""
    main = results.where(study="main").preferred()
    measured = main.frame.dropna(subset=[name for name in GAINS if name in main.frame])
    ours = [
        result_table.measured(measured, list(GAINS), digits=2),
        result_table.measured(measured, ["not 0, %"], digits=1),
    ]
    paper = result_table.printed(ours[0].index, list(GAINS), published.row, digits=2)
    cells = pd.concat([*ours, paper], axis=1)

    def name(fields: Mapping[str, Any]) -> str:
        return f"{naming.method(fields['label'])}, {naming.display('task', fields['task'])}"

    title = "Coverage gain of the first pick"
    yield result_table.table(main, "first-gain", title, cells, (), "method, task", ("direction",), name)


def top1(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield how often the first result is still the base's, and how often a displaced one left its bin."""
    main = results.where(study="main").preferred()
    parts = []
    for direction, runs in main.split("direction"):
        ours = result_table.measured(runs.frame, _FIRST)
        shares = result_table.labelled(displaced(runs.frame, _ROW), OURS, digits=1)
        paper = result_table.printed(ours.index, _FIRST, published.row)
        parts.append(result_table.headed(pd.concat([ours, shares, paper], axis=1)))
        changed = runs.filter(runs.frame["label"] != naming.BASE).frame
        totals = result_table.labelled(displaced(changed, ["label"]), OURS, digits=1)
        paper = [published.displaced(runs.where(label=label).names("task"), direction, label) for label in totals.index]
        for name in DISPLACED:
            totals[Column(name, PAPER, 1)] = [numbers.get(name) for numbers in paper]
        names = [(f"{direction}, all tasks", naming.method(label)) for label in totals.index]
        parts.append(totals.set_axis(pd.MultiIndex.from_tuples(names), axis=0) if names else totals.iloc[:0])
    note = (
        "Agrees: share of queries with the base's first result. Displaced: share of queries whose right first result "
        "was replaced. Other bin: share of these whose new first result is in another primary bin."
    )
    if parts:
        yield result_table.table(main, "top1", "The first result", pd.concat(parts), (note,), levels=None)


def runtime(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield milliseconds per query, asked one at a time and many at once."""
    study = results.where(study="runtime")
    times = means(study.frame, [*_ROW, "point"], ["ms"])["ms"].unstack("point")
    ways = [point for point in ("single", "batch", "") if point in times]
    cells = times[ways].set_axis([Column(point or "ms", OURS, 3) for point in ways], axis=1)
    cells[Column("A6000", PAPER, 2)] = [published.runtime(naming.origin(label)) for *_, label in cells.index]
    sequential = published.runtime("mascot", sequential=True)
    note = f"Published: RTX A6000, N=200, K=20, 424 bins; MASCOT vectorised, sequential {sequential} ms."
    notes = () if sequential is None else (note,)
    yield result_table.table(study, "runtime", "Milliseconds per query", cells, notes)
