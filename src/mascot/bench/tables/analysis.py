"""The smaller studies: mixed directions, clusters as an attribute, the first pick, time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from mascot.bench import naming
from mascot.bench.averages import Record, Results, average, per_query, query_mean, summary, uninverted_hm
from mascot.bench.datasets.dataset import Floats
from mascot.bench.measure import DEGREES
from mascot.bench.published import Published
from mascot.bench.tables.comparison import OURS, PAPER
from mascot.bench.tables.grid import Column, Row, Section, Table, Value

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


def mixed(results: Results, published: Published) -> Iterator[Table]:
    """One attribute spread while the other is focused."""
    study = results.where(study="mixed").preferred()
    names = ("R@10", "geo V", "hour V", "DM", "HM")
    sections = []
    for direction in study.names("direction"):
        rows = []
        for label in study.where(direction=direction).names("label"):
            found = study.where(direction=direction, label=label)
            said = published.mixed(direction, naming.origin(label)) or {}
            paper: list[Value] = [said.get(key) for key in MIXED]
            values: list[float | None] = [*found.values] or [None]
            for value in values:
                runs = found.where(value=value)
                ours = [runs.average(measure) for measure in MIXED.values()]
                strengths = {record["method"].get("strength") for record in runs.records} - {None}
                strength = " / ".join(f"{s:g}" for s in sorted(strengths)) or None
                cells = (strength, *ours, None if not said else f"{said['strength']:g}", *paper)
                rows.append(Row(naming.method(label), cells, ranked=label != naming.BASE))
        sections.append(Section(naming.direction(direction), tuple(rows)))
    if sections:
        yield Table(
            results.dataset,
            "mixed",
            "Mixed directions",
            study.setting,
            "method",
            tuple(
                Column(name, group, digits=3, ranked=name == "HM")
                for group in (OURS, PAPER)
                for name in ("strength", *names)
            ),
            tuple(sections),
            (_MIXED_NOTE, *([_THETA_NOTE] if published.mixed("geo+hour-", "ms-dpp") else [])),
            seeds=len(study.seeds),
        )


def clusters(results: Results, published: Published) -> Iterator[Table]:
    """Clusters of the image vectors as the attribute: nothing in the objective is about place or time.

    A method that protects all results that are shown is the base, and is not shown beside it.
    """
    study = results.where(study="clusters").preferred()
    steered = tuple(r for r in study.records if (r["method"].get("protect") or 0) < r["k"])
    study = replace(study, records=steered)
    keys = ("dm", results.retrieval, "hm")
    sections = []
    for direction in study.names("direction"):
        found = study.where(direction=direction)
        rows = []
        for label in found.names("label"):
            said = published.clusters(direction, label) or {}
            runs = found.where(label=label)
            cells = (*(runs.average(summary(key)) for key in keys), *(said.get(key) for key in keys[:2]))
            rows.append(Row(naming.method(label), cells, ranked=label != naming.BASE))
        sections.append(Section(direction, tuple(rows)))
    if sections:
        yield Table(
            results.dataset,
            "clusters",
            "Ten clusters of the image vectors as the attribute",
            study.setting,
            "method",
            (
                *(Column(name, OURS, digits=3, ranked=name == "HM") for name in map(str.upper, keys)),
                *(Column(name, PAPER, digits=3) for name in map(str.upper, keys[:2])),
            ),
            tuple(sections),
            seeds=len(study.seeds),
        )


def first_gain(results: Results, published: Published) -> Iterator[Table]:
    """The coverage gain of the first pick: it is not zero, so nothing guarantees the base's first result."""
    main = results.where(study="main").preferred()
    sections = []
    for direction in main.names("direction"):
        rows = []
        for task in main.where(direction=direction).names("task"):
            for label in main.where(direction=direction, task=task).names("label"):
                runs = main.where(direction=direction, task=task, label=label).records
                gains = [values for record in runs if len(values := per_query(record, "first_gain"))]
                if not gains:
                    continue
                said = published.first_gain(task, direction, label) or {}
                moved = average(100 * float((values != 0).mean()) for values in gains)
                cells = (*(average(map(how, gains)) for how in GAINS.values()), moved, *map(said.get, GAINS))
                rows.append(Row(f"{naming.method(label)}, {naming.task(task)}", cells))
        sections.append(Section(direction, tuple(rows)))
    if any(section.rows for section in sections):
        yield Table(
            results.dataset,
            "first-gain",
            "Coverage gain of the first pick",
            main.setting,
            "method, task",
            (
                *(Column(name, OURS, digits=2) for name in ("min", "mean", "max")),
                Column("not 0, %", OURS, digits=1),
                *(Column(name, PAPER, digits=2) for name in ("min", "mean", "max")),
            ),
            tuple(sections),
            seeds=len(main.seeds),
        )


def top1(results: Results, published: Published) -> Iterator[Table]:
    """Is the first result still the base's, and where it was right and was displaced, did it leave its bin?"""
    main = results.where(study="main").preferred()
    sections = []
    for direction in (d for d in main.names("direction") if d in ("spread", "focus")):
        totals: dict[str, Results] = {}
        for task in main.where(direction=direction).names("task"):
            found = main.where(direction=direction, task=task)
            rows = []
            for label in found.names("label"):
                runs = found.where(label=label)
                if label != naming.BASE:
                    totals[label] = main.where(direction=direction, label=label)
                said = published.recall(task, direction, naming.origin(label)).get("r@1")
                agreed = published.top1(task, direction, label)
                ours = [runs.average(query_mean("top1")), runs.average(summary("r@1")), *displaced(runs)]
                rows.append(Row(naming.method(label), (*ours, agreed, said, None, None)))
            sections.append(Section(f"{direction}, {naming.task(task)}", tuple(rows)))
        rows = []
        for label, runs in totals.items():
            paper = published.displaced(runs.names("task"), direction, label) or (None, None)
            rows.append(Row(naming.method(label), (None, None, *displaced(runs), None, None, *paper)))
        sections.append(Section(f"{direction}, all tasks", tuple(rows)))
    if sections:
        columns = (("agrees", 4), ("R@1", 4), *((name, 1) for name in DISPLACED))
        yield Table(
            results.dataset,
            "top1",
            "The first result",
            main.setting,
            "method",
            tuple(Column(name, group, digits) for group in (OURS, PAPER) for name, digits in columns),
            tuple(sections),
            (
                "Agrees: share of queries with the base's first result. Displaced: queries whose right first result "
                "gave way, of all queries; other bin: how many of these moved to another primary bin.",
            ),
            seeds=len(main.seeds),
        )


def displaced(runs: Results) -> list[Value]:
    """Displaced queries, and those of them in another bin, in percent; each the mean over seeds. See `DISPLACED`."""
    moves, others = [], []
    for run in runs.by_seed():
        moved = [per_query(record, "displaced") for record in run.records]
        if not any(len(values) for values in moved):
            continue
        displaced = sum(float(values.sum()) for values in moved)
        other = sum(float(per_query(record, "other_bin").sum()) for record in run.records)
        moves.append(100 * displaced / sum(len(values) for values in moved))
        others.append(100 * other / displaced if displaced else None)
    return [average(moves), average(others)]


def runtime(results: Results, published: Published) -> Iterator[Table]:
    """Milliseconds a query, asked one at a time and many at once."""
    study = results.where(study="runtime")
    points = [point for point in ("single", "batch", None) if study.where(point=point)]
    sections = []
    for task in study.names("task"):
        for direction in study.where(task=task).names("direction"):
            found = study.where(task=task, direction=direction)
            rows = []
            for label in found.names("label"):
                ours = [found.where(label=label, point=point).average(milliseconds) for point in points]
                rows.append(Row(naming.method(label), (*ours, published.runtime(naming.origin(label)))))
            sections.append(Section(f"{naming.direction(direction)}, {naming.task(task)}", tuple(rows)))
    sequential = published.runtime("mascot", sequential=True)
    note = f"Published: RTX A6000, N=200, K=20, 424 bins; MASCOT vectorised, sequential {sequential} ms."
    if sections:
        yield Table(
            results.dataset,
            "runtime",
            "Milliseconds a query",
            study.setting,
            "method",
            (*(Column(point or "ms", OURS, digits=3) for point in points), Column("A6000", PAPER, digits=2)),
            tuple(sections),
            (note,) if sequential is not None else (),
            seeds=len(study.seeds),
        )


def milliseconds(record: Record) -> float | None:
    return None if record.get("seconds") is None else 1000 * float(record["seconds"])
