"""Ours beside the published: the mean over seeds, the paper's number, and the difference."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mascot.bench import naming
from mascot.bench.averages import Results, collect, summary
from mascot.bench.averages import average as mean_of
from mascot.bench.published import Published
from mascot.bench.results import Record, read
from mascot.errors import OptionError

FORMATS = ("text", "markdown", "csv")
MEASURES = ("r@1", "r@10", "map", "dm", "hm")
_HEAD = ("task", "direction", "method", "point", "measure", "ours", "published", "difference")


@dataclass(frozen=True, slots=True)
class Difference:
    """One number of ours and of theirs."""

    task: str
    direction: str
    label: str
    point: str
    measure: str
    ours: float
    published: float
    seeds: int

    @property
    def difference(self) -> float:
        return self.ours - self.published


def differences(records: Iterable[Record]) -> list[Difference]:
    """Every number of the comparison tables that both have, at each operating point."""
    found: list[Difference] = []
    for results in collect(records):
        published = Published(results.dataset)
        main = results.where(study="main", split="test")
        for task in main.names("task"):
            for direction in main.names("direction"):
                for label in main.names("label"):
                    row = published.row(task, direction, naming.origin(label))
                    if row is not None:
                        cell = main.where(task=task, direction=direction, label=label)
                        found += _cell(cell, row)
    return found


def _cell(cell: Results, row: dict[str, float]) -> list[Difference]:
    found = []
    points = sorted({str(record.get("point")) for record in cell.records})
    for point in points:
        some = [record for record in cell.records if str(record.get("point")) == point]
        for measure in MEASURES:
            ours = mean_of(summary(measure)(record) for record in some)
            if ours is not None and measure in row:
                first = some[0]
                found.append(
                    Difference(
                        first["task"], first["direction"], first["label"], point, measure,
                        ours.value, row[measure], ours.seeds,
                    )
                )  # fmt: skip
    return found


def compare(folder: Path | str, format: str = "text") -> str:
    """The differences of a folder of results as text, Markdown or CSV.

    Parameters
    ----------
    folder
        Of ``mascot bench run``.
    format
        ``"text"``, ``"markdown"`` or ``"csv"``.
    """
    if format not in FORMATS:
        raise OptionError(f"compare format must be one of {', '.join(FORMATS)}, got {format!r}")
    found = differences(read(folder))
    if not found:
        return "Nothing here has a published counterpart.\n"
    rows = [
        (d.task, d.direction, d.label, d.point, d.measure, d.ours, d.published, d.difference)
        for d in found
    ]  # fmt: skip
    if format == "csv":
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(_HEAD)
        writer.writerows([*row[:5], *(f"{value:.4f}" for value in row[5:])] for row in rows)
        return stream.getvalue()
    lines = [_HEAD, *(_words(row) for row in rows)]
    if format == "markdown":
        body = ["| " + " | ".join(line) + " |" for line in lines]
        return "\n".join([body[0], "|" + " --- |" * 5 + " ---: |" * 3, *body[1:]]) + "\n"
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEAD))]
    made = ["  ".join(_aligned(cell, i, widths[i]) for i, cell in enumerate(line)).rstrip() for line in lines]
    return "\n".join(made) + "\n"


def _words(row: Sequence[str | float]) -> tuple[str, ...]:
    task, direction, label, point, measure, ours, theirs, difference = row
    return (
        naming.task(str(task)), naming.direction(str(direction)), naming.method(str(label)), str(point),
        str(measure).upper(), f"{ours:.4f}", f"{theirs:.4f}", f"{difference:+.4f}",
    )  # fmt: skip


def _aligned(cell: str, column: int, width: int) -> str:
    return cell.ljust(width) if column < 5 else cell.rjust(width)
