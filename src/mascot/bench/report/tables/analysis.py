"""The smaller studies: mixed directions, clusters as an attribute, the first pick, time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mascot.bench.datasets.dataset import Floats
from mascot.bench.protocol.published import Published
from mascot.bench.report import naming
from mascot.bench.report.averages import (
    Average,
    Measure,
    RunResults,
    average,
    per_query,
    query_mean,
    summary,
    uninverted_hm,
)
from mascot.bench.report.tables import table_model
from mascot.bench.report.tables.table_model import OURS, PAPER, Column, ResultTable, Section, TableRow, Value
from mascot.bench.running.measure import DEGREES
from mascot.bench.running.records import Record

# What is measured of mixed directions, and of the first pick's gains.
MIXED: dict[str, Measure] = {
    "r@10": summary("r@10"),
    "geo": lambda record: query_mean(DEGREES if DEGREES in record["per_query"] else "geo")(record),
    "hour": query_mean("hour"),
    "dm": summary("dm"),
    "hm": uninverted_hm,
}
GAINS: dict[str, Callable[[Floats], Any]] = {"min": np.min, "mean": np.mean, "max": np.max}
DISPLACED = ("displaced, %", "other bin, %")
_MIXED_NOTE = (
    "V: normalised Vendi score of one attribute, of geo in degrees. "
    "DM is of both channels, neither inverted; HM is of R@10 and DM."
)
_THETA_NOTE = "Published strengths are as printed; MS-DPP's reads as its theta, which is 1 - strength."


def mixed(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield one attribute spread while the other is focused."""
    study = results.where(study="mixed").preferred()

    def strengths(runs: RunResults) -> Value:
        values = {record["method"].get("strength") for record in runs.records} - {None}
        return " / ".join(f"{value:g}" for value in sorted(values)) or None

    def strength(runs: RunResults) -> Value:
        paper = published.mixed(*runs.case)
        return f"{paper['strength']:g}" if paper else None

    paper = table_model.printed(MIXED, published.mixed, ("hm",), digits=3)
    ours = [
        replace(column, group=OURS, cell=table_model.mean(measure))
        for column, measure in zip(paper, MIXED.values(), strict=True)
    ]
    columns = [Column("strength", OURS, strengths), *ours, Column("strength", PAPER, strength), *paper]
    notes = [_MIXED_NOTE, *([_THETA_NOTE] if published.mixed("", "geo+hour-", "ms-dpp") else [])]
    yield table_model.table(study, "mixed", "Mixed directions", columns, notes, levels=("direction",))


def clusters(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield clusters of the image vectors as the attribute: nothing in the objective is about place or time.

    A method that protects all results that are shown is the base, and is not shown beside it.
    """
    study = results.where(study="clusters").preferred()
    study = study.filter(lambda record: (record["method"].get("protect") or 0) < record["k"])
    keys = ("dm", results.retrieval, "hm")
    columns = table_model.means(keys, ranked=("hm",), digits=3) + table_model.printed(
        keys[:2], published.clusters, digits=3
    )
    title = "Ten clusters of the image vectors as the attribute"
    yield table_model.table(study, "clusters", title, columns, levels=("direction",))


def first_gain(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the coverage gain of the first pick: it is not zero, so nothing guarantees the base's first result."""
    main = results.where(study="main").preferred()
    columns = [Column(name, OURS, partial(gain, name=name), digits=2) for name in GAINS]
    columns += [Column("not 0, %", OURS, partial(gain, name="not 0, %"), digits=1)]
    columns += table_model.printed(GAINS, published.first_gain, digits=2)

    def rows(part: RunResults) -> Iterator[TableRow]:
        for task, label, runs in part.split("task", "label"):
            yield table_model.row(f"{naming.method(label)}, {naming.task(task)}", runs, columns)

    measured = main.filter(lambda record: len(per_query(record, "first_gain")) > 0)
    parts = table_model.sections(measured, rows, ("direction",))
    yield table_model.table(main, "first-gain", "Coverage gain of the first pick", columns, (), parts, "method, task")


def gain(runs: RunResults, name: str) -> Average | None:
    """Return a statistic of the first pick's gains: one of `GAINS`, or the percentage of those that are not 0."""
    statistic = GAINS.get(name) or (lambda values: 100 * float((values != 0).mean()))
    return average(statistic(values) for record in runs.records if len(values := per_query(record, "first_gain")))


def top1(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield whether the first result is still the base's, and whether one that was displaced left its bin."""
    main = results.where(study="main").preferred()
    columns = [
        Column("agrees", OURS, table_model.mean(query_mean("top1"))),
        *table_model.means(("r@1",)),
        *(Column(name, OURS, partial(displaced, name=name), digits=1) for name in DISPLACED),
        *table_model.printed(("agrees",), published.top1),
        *table_model.printed(("r@1",), published.recall),
        *(Column(name, PAPER, digits=1) for name in DISPLACED),
    ]
    parts: list[Section] = []
    for direction, runs in main.split("direction"):
        parts += table_model.sections(runs, table_model.by_method(columns))
        totals = []
        for label, method_runs in runs.split("label"):
            paper = published.displaced(method_runs.names("task"), direction, label) or (None, None)
            ours = (displaced(method_runs, name) for name in DISPLACED)
            if label != naming.BASE:
                totals.append(TableRow(naming.method(label), (None, None, *ours, None, None, *paper)))
        parts.append(Section(f"{direction}, all tasks", tuple(totals)))
    note = (
        "Agrees: share of queries with the base's first result. Displaced: queries whose right first result gave way, "
        "of all queries; other bin: how many of these moved to another primary bin."
    )
    yield table_model.table(main, "top1", "The first result", columns, (note,), parts)


def displaced(runs: RunResults, name: str) -> Average | None:
    """Return one of the percentages of `DISPLACED`, a mean over seeds: of all queries, or of those displaced."""
    shares: list[float | None] = []
    for _, run in runs.split("seed"):
        moved, other = (
            [value for record in run.records for value in per_query(record, key)] for key in ("displaced", "other_bin")
        )
        if moved and name == DISPLACED[0]:
            shares.append(100 * sum(moved) / len(moved))
        elif sum(moved):
            shares.append(100 * sum(other) / sum(moved))
    return average(shares)


def runtime(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield milliseconds per query, asked one at a time and many at once."""
    study = results.where(study="runtime")

    def time(point: str | None) -> Callable[[RunResults], Value]:
        return lambda runs: runs.where(point=point).average(milliseconds)

    points = [point for point in ("single", "batch", None) if study.where(point=point)]
    columns = [Column(point or "ms", OURS, time(point), digits=3) for point in points]
    columns.append(Column("A6000", PAPER, lambda runs: published.runtime(runs.case[-1]), digits=2))
    sequential = published.runtime("mascot", sequential=True)
    note = f"Published: RTX A6000, N=200, K=20, 424 bins; MASCOT vectorised, sequential {sequential} ms."
    yield table_model.table(study, "runtime", "Milliseconds a query", columns, () if sequential is None else (note,))


def milliseconds(record: Record) -> float | None:
    return None if record.get("seconds") is None else 1000 * float(record["seconds"])
