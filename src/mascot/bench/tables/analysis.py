"""The smaller studies: mixed directions, clusters as an attribute, the first pick, time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from mascot.bench import naming
from mascot.bench.averages import Record, RunResults, average, per_query, query_mean, summary, uninverted_hm
from mascot.bench.datasets.dataset import Floats
from mascot.bench.measure import DEGREES
from mascot.bench.published import Published
from mascot.bench.tables.comparison import OURS, PAPER
from mascot.bench.tables.grid import Column, ResultTable, Section, TableRow, Value, sections, table

# What is measured of mixed directions, and of the first pick's gains.
MIXED = {
    "r@10": summary("r@10"),
    "geo": lambda record: query_mean(DEGREES if DEGREES in record["per_query"] else "geo")(record),
    "hour": query_mean("hour"),
    "dm": summary("dm"),
    "hm": uninverted_hm,
}
GAINS: dict[str, Callable[[Floats], float]] = {
    "min": lambda values: float(values.min()),
    "mean": lambda values: float(values.mean()),
    "max": lambda values: float(values.max()),
}
DISPLACED = ("displaced, %", "other bin, %")
_MIXED_NOTE = (
    "V: normalised Vendi score of one attribute, of geo in degrees. "
    "DM is of both channels, neither inverted; HM is of R@10 and DM."
)
_THETA_NOTE = "Published strengths are as printed; MS-DPP's reads as its theta, which is 1 - strength."


def mixed(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield one attribute spread while the other is focused."""
    study = results.where(study="mixed").preferred()
    parts = []
    for direction in study.names("direction"):
        rows = []
        for label in study.where(direction=direction).names("label"):
            runs = study.where(direction=direction, label=label)
            printed = published.mixed(direction, naming.origin(label)) or {}
            strengths = {record["method"].get("strength") for record in runs.records} - {None}
            ours = (" / ".join(f"{s:g}" for s in sorted(strengths)) or None, *map(runs.average, MIXED.values()))
            paper = (f"{printed['strength']:g}" if printed else None, *map(printed.get, MIXED))
            rows.append(TableRow(naming.method(label), (*ours, *paper), ranked=label != naming.BASE))
        parts.append(Section(naming.direction(direction), tuple(rows)))
    names = ("strength", "R@10", "geo V", "hour V", "DM", "HM")
    columns = [Column(name, group, digits=3, ranked=name == "HM") for group in (OURS, PAPER) for name in names]
    notes = (_MIXED_NOTE, *([_THETA_NOTE] if published.mixed("geo+hour-", "ms-dpp") else []))
    yield from table(study, "mixed", "Mixed directions", columns, parts, notes)


def clusters(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield clusters of the image vectors as the attribute: nothing in the objective is about place or time.

    A method that protects all results that are shown is the base, and is not shown beside it.
    """
    study = results.where(study="clusters").preferred()
    study = replace(study, records=tuple(r for r in study.records if (r["method"].get("protect") or 0) < r["k"]))
    keys = ("dm", results.retrieval, "hm")
    parts = []
    for direction in study.names("direction"):
        rows = []
        for label in study.where(direction=direction).names("label"):
            printed = published.clusters(direction, label) or {}
            runs = study.where(direction=direction, label=label)
            cells = (*(runs.average(summary(key)) for key in keys), *map(printed.get, keys[:2]))
            rows.append(TableRow(naming.method(label), cells, ranked=label != naming.BASE))
        parts.append(Section(direction, tuple(rows)))
    columns = [Column(key.upper(), OURS, digits=3, ranked=key == "hm") for key in keys]
    columns += [Column(key.upper(), PAPER, digits=3) for key in keys[:2]]
    yield from table(study, "clusters", "Ten clusters of the image vectors as the attribute", columns, parts)


def first_gain(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the coverage gain of the first pick: it is not zero, so nothing guarantees the base's first result."""
    main = results.where(study="main").preferred()
    parts = []
    for direction in main.names("direction"):
        rows = []
        for task in main.where(direction=direction).names("task"):
            for label in main.where(direction=direction, task=task).names("label"):
                runs = main.where(direction=direction, task=task, label=label).records
                gains = [values for record in runs if len(values := per_query(record, "first_gain"))]
                if gains:
                    printed = published.first_gain(task, direction, label) or {}
                    moved = average(100 * float((values != 0).mean()) for values in gains)
                    cells = (
                        *(average(map(statistic, gains)) for statistic in GAINS.values()),
                        moved,
                        *map(printed.get, GAINS),
                    )
                    rows.append(TableRow(f"{naming.method(label)}, {naming.task(task)}", cells))
        parts.append(Section(direction, tuple(rows)))
    columns = [Column(name, OURS, digits=2) for name in GAINS] + [Column("not 0, %", OURS, digits=1)]
    columns += [Column(name, PAPER, digits=2) for name in GAINS]
    yield from table(main, "first-gain", "Coverage gain of the first pick", columns, parts, stub="method, task")


def top1(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield whether the first result is still the base's, and whether one that was displaced left its bin."""
    main = results.where(study="main").preferred()

    def rows(task: str, direction: str, part: RunResults) -> Iterator[TableRow]:
        for label in part.names("label"):
            runs = part.where(label=label)
            ours = (runs.average(query_mean("top1")), runs.average(summary("r@1")), *displaced(runs))
            printed = published.recall(task, direction, naming.origin(label)).get("r@1")
            paper = (published.top1(task, direction, label), printed, None, None)
            yield TableRow(naming.method(label), (*ours, *paper))

    parts: list[Section] = []
    for direction in (d for d in main.names("direction") if d in ("spread", "focus")):
        parts += sections(main, rows, (direction,))
        totals = []
        for label in main.where(direction=direction).names("label"):
            runs = main.where(direction=direction, label=label)
            paper = published.displaced(runs.names("task"), direction, label) or (None, None)
            if label != naming.BASE:
                totals.append(TableRow(naming.method(label), (None, None, *displaced(runs), None, None, *paper)))
        parts.append(Section(f"{direction}, all tasks", tuple(totals)))
    names = (("agrees", 4), ("R@1", 4), *((name, 1) for name in DISPLACED))
    columns = [Column(name, group, digits) for group in (OURS, PAPER) for name, digits in names]
    note = (
        "Agrees: share of queries with the base's first result. Displaced: queries whose right first result gave way, "
        "of all queries; other bin: how many of these moved to another primary bin."
    )
    yield from table(main, "top1", "The first result", columns, parts, (note,))


def displaced(runs: RunResults) -> list[Value]:
    """Return the percentages of `DISPLACED`: displaced queries, and those of them in another bin; means over seeds."""
    moves, other_bins = [], []
    for run in runs.by_seed():
        moved = [per_query(record, "displaced") for record in run.records]
        if not any(len(values) for values in moved):
            continue
        displaced = sum(float(values.sum()) for values in moved)
        other = sum(float(per_query(record, "other_bin").sum()) for record in run.records)
        moves.append(100 * displaced / sum(len(values) for values in moved))
        other_bins.append(100 * other / displaced if displaced else None)
    return [average(moves), average(other_bins)]


def runtime(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield milliseconds per query, asked one at a time and many at once."""
    study = results.where(study="runtime")
    points = [point for point in ("single", "batch", None) if study.where(point=point)]

    def rows(task: str, direction: str, part: RunResults) -> Iterator[TableRow]:
        for label in part.names("label"):
            ours = [part.where(label=label, point=point).average(milliseconds) for point in points]
            yield TableRow(naming.method(label), (*ours, published.runtime(naming.origin(label))))

    columns = [Column(point or "ms", OURS, digits=3) for point in points] + [Column("A6000", PAPER, digits=2)]
    sequential = published.runtime("mascot", sequential=True)
    note = f"Published: RTX A6000, N=200, K=20, 424 bins; MASCOT vectorised, sequential {sequential} ms."
    notes = (note,) if sequential is not None else ()
    yield from table(study, "runtime", "Milliseconds a query", columns, sections(study, rows), notes)


def milliseconds(record: Record) -> float | None:
    return None if record.get("seconds") is None else 1000 * float(record["seconds"])
