"""Compare our results with the published ones: our mean over seeds, the paper's number, and the difference."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from mascot.bench import naming
from mascot.bench.averages import Average, RunResults, average, collect, per_query, query_mean, summary
from mascot.bench.published import Published
from mascot.bench.results import Record, read
from mascot.bench.tables.analysis import DISPLACED, GAINS, MIXED, displaced, milliseconds
from mascot.bench.tables.control import FLOORS, SWEEPS, all_points, fronts, reflection
from mascot.errors import OptionError

FORMATS = ("text", "markdown", "csv")
MEASURES = ("r@1", "r@3", "r@5", "r@10", "r@20", "map", "dm", "hm")
_HEAD = ("table", "task", "direction", "method", "point", "measure", "at", "ours", "published", "difference")
_WORDS = 7  # columns before the numbers


@dataclass(frozen=True, slots=True)
class Difference:
    """One number of ours and of the paper."""

    table: str  # "main", "appearance", "prs", "fixed recall", ..., or what was swept
    task: str
    direction: str
    label: str
    point: str
    measure: str
    at: str  # the swept value or the floor; empty where there is none
    ours: float
    published: float
    seeds: int

    @property
    def difference(self) -> float:
        return self.ours - self.published


def differences(records: Iterable[Record]) -> list[Difference]:
    """Return every number that both have, at each operating point."""
    rows: list[Difference] = []
    for results in collect(records):
        published = Published(results.dataset)
        for table in _TABLES:
            rows += table(results, published)
    return rows


def _dataset(results: RunResults, published: Published) -> Iterator[Difference]:
    """Sizes of the splits, shares north and south of 60 degrees, and candidates on both sides of the antimeridian."""
    main = results.where(study="main")
    for split, images in published.sizes().items():
        ours = average(record.get("sizes", {}).get(split, {}).get("images") for record in main.records)
        yield from _pair("sizes", "", "", "", None, f"{split} images", ours, images)
    for name, share in published.places().items():
        ours = average(record.get("places", {}).get(name) for record in main.records)
        yield from _pair("places", "", "", "", None, name, ours, share)


def _main(results: RunResults, published: Published) -> Iterator[Difference]:
    for task, direction, label, point, cell in _cells(results.where(study="main")):
        row = published.row(task, direction, naming.origin(label)) or {}
        for measure in MEASURES:
            yield from _pair(
                "main", task, direction, label, point, measure, cell.average(summary(measure)), row.get(measure)
            )


def _appearance(results: RunResults, published: Published) -> Iterator[Difference]:
    for task, direction, label, point, cell in _cells(results.where(study="main")):
        printed = published.appearance(task, direction, naming.origin(label))
        ours = cell.average(summary("appearance"))
        yield from _pair("appearance", task, direction, label, point, "appearance", ours, printed)


def _first_result(results: RunResults, published: Published) -> Iterator[Difference]:
    """Agreement with the base's first result, displaced first results over all tasks, and the first pick's gain."""
    main = results.where(study="main")
    for task, direction, label, point, cell in _cells(main):
        agreed = published.top1(task, direction, label)
        yield from _pair(
            "first result", task, direction, label, point, "agrees", cell.average(query_mean("top1")), agreed
        )
        gains = [values for record in cell.records if len(values := per_query(record, "first_gain"))]
        printed = published.first_gain(task, direction, label) or {}
        for name, statistic in GAINS.items():
            ours = average(map(statistic, gains))
            yield from _pair("first gain", task, direction, label, point, name, ours, printed.get(name))
    for direction in main.names("direction"):
        for label in main.where(direction=direction).names("label"):
            for point in _points(part := main.where(direction=direction, label=label)):
                cell = part.where(point=point)
                paper = published.displaced(cell.names("task"), direction, label)
                for name, mean, printed_share in zip(DISPLACED, displaced(cell), paper, strict=True) if paper else ():
                    yield from _pair("first result", "all", direction, label, point, name, mean, printed_share)


def _prs(results: RunResults, published: Published) -> Iterator[Difference]:
    for study in ("strength", "prs"):
        for task, direction, label, point, cell in _cells(results.where(study=study)):
            paper = published.prs(task, direction, naming.origin(label))
            ours = average(reflection(run)[0] for run in cell.by_seed()) if paper is not None else None
            yield from _pair("prs", task, direction, label, point, "prs", ours, paper)


def _sweeps(results: RunResults, published: Published) -> Iterator[Difference]:
    for study in SWEEPS:
        for task, direction, label, point, cell in _cells(results.where(study=study)):
            for value, printed in published.sweep(study, task, direction, label).items():
                runs = [record for record in cell.records if round(record["value"], 6) == value]
                ours = average(map(summary("r@10"), runs))
                yield from _pair(study, task, direction, label, point, "r@10", ours, printed, f"{value:g}")


def _fixed_recall(results: RunResults, published: Published) -> Iterator[Difference]:
    points = all_points(results)
    for task in points.names("task"):
        for direction in points.names("direction"):
            for label in points.where(task=task, direction=direction).names("label"):
                printed = published.fixed_recall(task, direction, naming.origin(label))
                if not printed:
                    continue
                ours = fronts(points.where(task=task, direction=direction, label=label))
                for floor, mean in zip(FLOORS, ours, strict=True):
                    reached = mean if isinstance(mean, Average) else None  # "none": the floor is not met
                    paper = printed.get(floor)
                    yield from _pair(
                        "fixed recall", task, direction, label, None, "dm", reached, paper, f">= {floor:.2f}"
                    )


def _mixed(results: RunResults, published: Published) -> Iterator[Difference]:
    for task, direction, label, point, cell in _cells(results.where(study="mixed")):
        printed = published.mixed(direction, naming.origin(label)) or {}
        for name, measure in MIXED.items():
            yield from _pair("mixed", task, direction, label, point, name, cell.average(measure), printed.get(name))


def _clusters(results: RunResults, published: Published) -> Iterator[Difference]:
    for task, direction, label, point, cell in _cells(results.where(study="clusters")):
        for name, printed in (published.clusters(direction, label) or {}).items():
            yield from _pair("clusters", task, direction, label, point, name, cell.average(summary(name)), printed)


def _runtime(results: RunResults, published: Published) -> Iterator[Difference]:
    for task, direction, label, point, cell in _cells(results.where(study="runtime")):
        printed = published.runtime(naming.origin(label))
        yield from _pair("runtime", task, direction, label, point, "ms", cell.average(milliseconds), printed)


def _cells(results: RunResults) -> Iterator[tuple[str, str, str, str | None, RunResults]]:
    """Yield task, direction, label, point and the records that differ only in seed and swept value."""
    for task in results.names("task"):
        for direction in results.where(task=task).names("direction"):
            for label in results.where(task=task, direction=direction).names("label"):
                part = results.where(task=task, direction=direction, label=label)
                for point in _points(part):
                    yield task, direction, label, point, part.where(point=point)


def _points(results: RunResults) -> list[str | None]:
    return sorted({record.get("point") for record in results.records}, key=str)


def _pair(
    table: str, task: str, direction: str, label: str, point: str | None, measure: str,
    ours: Average | float | str | None, published: float | None, at: str = "",
) -> Iterator[Difference]:  # fmt: skip
    """Yield the difference where both numbers exist."""
    if isinstance(ours, Average) and published is not None:
        yield Difference(table, task, direction, label, point or "", measure, at, ours.value, published, ours.seeds)


def compare(folder: Path | str, format: str = "text") -> str:
    """Return the differences of a folder of results as text, Markdown or CSV.

    Parameters
    ----------
    folder
        A folder that ``mascot bench run`` wrote.
    format
        ``"text"``, ``"markdown"`` or ``"csv"``.
    """
    if format not in FORMATS:
        raise OptionError(f"compare format must be one of {', '.join(FORMATS)}, got {format!r}")
    rows = differences(read(folder))
    if not rows:
        return "Nothing here has a published counterpart.\n"
    if format == "csv":
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(_HEAD)
        for row in rows:
            numbers = (row.ours, row.published, row.difference)
            writer.writerow([*astuple(row)[:_WORDS], *(f"{value:.4f}" for value in numbers)])
        return stream.getvalue()
    lines = [_HEAD, *map(_words, rows)]
    if format == "markdown":
        body = ["| " + " | ".join(line) + " |" for line in lines]
        return "\n".join([body[0], "|" + " --- |" * _WORDS + " ---: |" * 3, *body[1:]]) + "\n"
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEAD))]
    written = ["  ".join(_aligned(cell, i, widths[i]) for i, cell in enumerate(line)).rstrip() for line in lines]
    return "\n".join(written) + "\n"


def _words(row: Difference) -> Sequence[str]:
    measure = row.measure.upper() if row.measure in (*MEASURES, "prs") else row.measure
    return (
        row.table, naming.task(row.task), naming.direction(row.direction), naming.method(row.label), row.point,
        measure, row.at, f"{row.ours:.4f}", f"{row.published:.4f}", f"{row.difference:+.4f}",
    )  # fmt: skip


def _aligned(cell: str, column: int, width: int) -> str:
    return cell.ljust(width) if column < _WORDS else cell.rjust(width)


_TABLES = (
    _dataset, _main, _appearance, _first_result, _prs, _sweeps, _fixed_recall, _mixed, _clusters, _runtime,
)  # fmt: skip
