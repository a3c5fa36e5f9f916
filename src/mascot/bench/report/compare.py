"""Compare our results with the published ones: our mean over seeds, the paper's number, and the difference."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mascot.bench.protocol.published import Published
from mascot.bench.report import naming
from mascot.bench.report.averages import Average, RunResults, average, collect, query_mean, read, summary
from mascot.bench.report.tables.analysis import DISPLACED, GAINS, MIXED, displaced, gain, milliseconds
from mascot.bench.report.tables.parameter_tables import FLOORS, SWEEPS, all_points, fronts, reflection
from mascot.bench.report.tables.table_model import mean
from mascot.bench.running.records import Record
from mascot.errors import OptionError

FORMATS = ("text", "markdown", "csv")
MEASURES = ("r@1", "r@3", "r@5", "r@10", "r@20", "map", "dm", "hm")
_HEAD = ("table", "task", "direction", "method", "point", "measure", "at", "ours", "published", "difference")
_WORDS = 7  # columns before the numbers
_NOWHERE = ("", "", "", None)  # the case of a number that is of the dataset


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


# A table, our numbers by measure, and those of the paper by task, direction and label.
_Numbers = tuple[str, Mapping[str, Callable[[RunResults], Any]], Callable[[str, str, str], Mapping[str, Any]]]


def differences(records: Iterable[Record]) -> list[Difference]:
    """Return every number that both have, at each operating point."""
    return [row for results in collect(records) for row in _differences(results, Published(results.dataset))]


def _differences(results: RunResults, published: Published) -> Iterator[Difference]:
    main = results.where(study="main")
    for split, images in published.sizes().items():
        ours = average(record.get("sizes", {}).get(split, {}).get("images") for record in main.records)
        yield from _difference("sizes", _NOWHERE, f"{split} images", ours, images)
    for name, share in published.places().items():
        ours = average(record.get("places", {}).get(name) for record in main.records)
        yield from _difference("places", _NOWHERE, name, ours, share)
    yield from _compared(main, ("main", _means(MEASURES), published.row))
    looks: _Numbers = ("appearance", _means(["appearance"]), lambda *case: {"appearance": published.appearance(*case)})
    yield from _compared(main, looks)
    gains = {name: partial(gain, name=name) for name in GAINS}
    agrees: _Numbers = ("first result", {"agrees": mean(query_mean("top1"))}, published.top1)
    yield from _compared(main, agrees, ("first gain", gains, published.first_gain))
    for direction, label, point, cell in main.split("direction", "label", "point"):
        paper = published.displaced(cell.names("task"), direction, label) or ()
        for name, percentage in zip(DISPLACED, paper, strict=False):
            ours = displaced(cell, name)
            yield from _difference("first result", ("all", direction, label, point), name, ours, percentage)
    for study in ("strength", "prs"):
        yield from _compared(results.where(study=study), ("prs", {"prs": partial(reflection, which=0)}, published.prs))
    for study in SWEEPS:
        for *case, cell in results.where(study=study).split("task", "direction", "label", "point"):
            for value, number in published.sweep(study, *case[:3]).items():
                ours = cell.filter(lambda record, at=value: round(record["value"], 6) == at).average(summary("r@10"))
                yield from _difference(study, case, "r@10", ours, number, f"{value:g}")
    for *case, cell in all_points(results).split("task", "direction", "label"):
        floors = published.fixed_recall(*cell.case)
        for floor, reached in zip(FLOORS, fronts(cell), strict=True) if floors else ():
            yield from _difference("fixed recall", (*case, None), "dm", reached, floors.get(floor), f">= {floor:.2f}")
    mixed = {name: mean(measure) for name, measure in MIXED.items()}
    yield from _compared(results.where(study="mixed"), ("mixed", mixed, published.mixed))
    yield from _compared(results.where(study="clusters"), ("clusters", _means(["dm", "r@10"]), published.clusters))
    times: _Numbers = ("runtime", {"ms": mean(milliseconds)}, lambda *case: {"ms": published.runtime(case[-1])})
    yield from _compared(results.where(study="runtime"), times)


def _means(names: Iterable[str]) -> dict[str, Callable[[RunResults], Any]]:
    return {name: mean(summary(name)) for name in names}


def _compared(results: RunResults, *tables: _Numbers) -> Iterator[Difference]:
    """Yield the differences of records that differ only in seed and swept value."""
    for *case, cell in results.split("task", "direction", "label", "point"):
        for table, ours, lookup in tables:
            paper = lookup(*cell.case)
            for measure, value in ours.items():
                if paper.get(measure) is not None:
                    yield from _difference(table, case, measure, value(cell), paper[measure])


def _difference(
    table: str, case: Sequence[Any], measure: str, ours: Any, published: float | None, at: str = ""
) -> Iterator[Difference]:
    """Yield the difference where both numbers exist; `case` is task, direction, label and point."""
    if isinstance(ours, Average) and published is not None:
        task, direction, label, point = case
        numbers = (ours.value, published, ours.seeds)
        yield Difference(table, task, direction, label, point or "", measure, at, *numbers)


def compare(folder: Path | str, format: str = "text") -> str:
    """Return the differences of a folder of results as ``"text"``, ``"markdown"`` or ``"csv"``."""
    if format not in FORMATS:
        raise OptionError(f"compare format must be one of {', '.join(FORMATS)}, got {format!r}")
    rows = [row for results in read(folder) for row in _differences(results, Published(results.dataset))]
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
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [f"{{:{'<' if i < _WORDS else '>'}{width}}}" for i, width in enumerate(widths)]
    return "\n".join("  ".join(aligned).format(*line).rstrip() for line in lines) + "\n"


def _words(row: Difference) -> Sequence[str]:
    measure = row.measure.upper() if row.measure in (*MEASURES, "prs") else row.measure
    return (
        row.table, naming.task(row.task), naming.display("direction", row.direction), naming.method(row.label),
        row.point, measure, row.at, f"{row.ours:.4f}", f"{row.published:.4f}", f"{row.difference:+.4f}",
    )  # fmt: skip
