"""Figures of a benchmark, ours beside the published: a pure function of the result files.

>>> from mascot.bench.report import figures  # doctest: +SKIP
>>> figures.draw("out/pixelprose-sim", "out/figures").files  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from mascot.bench.datasets.dataset import Dataset
from mascot.bench.methods.own_method import from_record
from mascot.bench.protocol.search_space import LABELS, published, settings
from mascot.bench.protocol.tasks import FOCUS, GEO_HOUR, SPREAD, Direction, Point
from mascot.bench.report import naming, run_results
from mascot.bench.report.figures import parameter_figures, relevance_figures, style
from mascot.bench.report.figures.one_query import NEEDED, Picture, of_query, pictures
from mascot.bench.report.run_results import Builder, RunResults
from mascot.bench.running.records import Record
from mascot.errors import OptionError

__all__ = ["Drawn", "draw", "of_query", "pictures"]

_BUILDERS: tuple[tuple[str, str | None, Builder], ...] = (
    ("recall curves", "main", relevance_figures.recall),
    ("trade-off", "main", relevance_figures.tradeoff),
    ("clusters found", None, relevance_figures.judged),
    ("sensitivity", "strength, sigma_geo, sigma_time, grid", parameter_figures.sensitivity),
    ("strength curves", "strength", parameter_figures.strength),
    ("fronts", "strength", parameter_figures.front),
    ("protected results", "protect", parameter_figures.protection),
    ("runtime", "runtime", parameter_figures.runtime),
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The files that were written, and what could not be drawn."""

    files: tuple[Path, ...]
    notes: tuple[tuple[str, str], ...]  # dataset and sentence


def draw(
    directory: str | Path,
    out: str | Path,
    dataset: Dataset | None = None,
    query: int | None = None,
    picture: Picture | None = None,
    methods: Sequence[str] = (),
) -> Drawn:
    """Draw every figure that the results in a directory allow, each as PDF and as PNG.

    The files go into `out`; if there are results of several datasets, each dataset has a folder in `out`. The figure of
    one query cannot be drawn from the records alone. It needs a dataset with columns of place and time, such as
    ``Folder(path).load()`` with ``pictures(path)``, or ``Arrays(path).load()``; see `of_query`. `methods` are labels of
    the methods to draw (default: all); in that figure, each has its setting for place and hour together.
    """
    datasets = run_results.read(directory)
    if methods:
        datasets = _only(datasets, methods)
    files: list[Path] = []
    notes: list[tuple[str, str]] = []
    with style.drawing():
        for results in datasets:
            folder = Path(out) / results.dataset if len(datasets) > 1 else Path(out)
            for stem, figure in run_results.build(results, _BUILDERS, notes):
                files += style.save(figure, folder, stem)
        if dataset is None:
            notes.append((datasets[0].dataset, "no qualitative figure: it needs the dataset itself (--data)"))
        elif lacking := [name for name in NEEDED if name not in dataset.columns]:
            notes.append((dataset.name, f"no qualitative figure: it needs a column {' and '.join(lacking)}"))
        else:
            figure = of_query(dataset, query, picture, _compared(datasets, methods))
            files += style.save(figure, Path(out), "qualitative")
    return Drawn(tuple(files), tuple(notes))


def _only(datasets: Sequence[RunResults], labels: Sequence[str]) -> list[RunResults]:
    """Return the records of some methods, with both updates of a DPP."""
    choices = [label for results in datasets for label in map(naming.origin, results.names("label"))]
    for label in labels:
        if label not in (*choices, *LABELS):
            names = ", ".join(naming.in_order("label", choices))
            raise OptionError(f"methods must be of these results ({names}) or of the paper, got {label!r}")
    return [
        results.filter([naming.origin(label) in labels for label in results.frame["label"]]) for results in datasets
    ]


def _compared(datasets: Sequence[RunResults], labels: Sequence[str]) -> dict[str, Point]:
    """Return the methods in both directions: with the setting of the results, else of the paper, else the first."""
    rows: dict[str, Point] = {}
    for direction, label in product((SPREAD, FOCUS), labels):
        fields = {"study": "main", "task": GEO_HOUR.name, "direction": direction, "label": label}
        records = [record for results in datasets for record in results.where(**fields).preferred().records]
        name = naming.method(label) if label == naming.BASE else f"{naming.method(label)}, {direction}"
        rows.setdefault(name, _point(label, direction, records))
    return rows


def _point(label: str, direction: Direction, records: Sequence[Record]) -> Point:
    if label not in LABELS:
        if not records:
            raise OptionError(
                f"method {label!r} has no results on {GEO_HOUR.name}, {direction}, to draw the query with"
            )
        return Point(label, GEO_HOUR, direction, from_record(records[0]["method"]))
    point = published(label, GEO_HOUR, direction) or settings(label, GEO_HOUR, direction)[0]
    if not records:
        return point
    parameters = {name: value for name, value in records[0]["method"].items() if name != "kind"}
    return replace(point, method=replace(point.method, **parameters))
