"""A table of results before it is text: a pandas table of cells, and how each column is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from mascot.bench.report import naming
from mascot.bench.report.run_results import CASE, Average, RunResults, means

Value = Average | float | str | None
Lookup = Callable[[str, str, str], Mapping[str, Any]]  # published numbers by task, direction and label
Name = Callable[[Mapping[str, Any]], str]  # the name of a row, by its fields
OURS, PAPER = "ours", "published"
UNRANKED = ("Base", "base")  # rows of the base retriever
LEVELS = ("direction", "task")
_HEADINGS = {"geo": "geo V", "hour": "hour V", "sigma_geo": "σ geo", "sigma_time": "σ time"}
_HEADINGS |= {"alpha-ndcg@20": "α-nDCG@20", "s-recall@20": "S-recall@20"}


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, and how the numbers under it are shown."""

    name: str
    group: str = ""  # a heading over several columns
    digits: int = 4
    ranked: bool = False  # mark the best and the second best of each section; more is better
    signed: bool = False  # show the plus sign


@dataclass(frozen=True, slots=True, eq=False)
class ResultTable:
    """A table with its title and notes."""

    dataset: str
    key: str  # short and unique within a dataset, for labels and CSV
    title: str
    setting: str  # how the numbers were made
    stub: str  # the heading over the row names
    cells: pd.DataFrame  # a `Value` for each row and `Column`; the index holds the section's heading and the row's name
    notes: tuple[str, ...] = ()  # sentences under the table
    seeds: int = 0  # a mean over fewer seeds is marked
    bold: frozenset[tuple[str, str]] = frozenset()  # row and group of columns that are set in bold

    def __bool__(self) -> bool:
        return not self.cells.empty

    @property
    def columns(self) -> list[Column]:
        return list(self.cells.columns)

    @property
    def sections(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Each heading with its rows."""
        return ((str(heading), part) for heading, part in self.cells.groupby(level=0, sort=False))

    def split(self, lines: int) -> list[ResultTable]:
        """Return the table in parts of at most this many lines; sections are not divided."""
        parts: list[list[pd.DataFrame]] = [[]]
        count = 0
        for heading, rows in self.sections:
            height = len(rows) + bool(heading)
            if parts[-1] and count + height > lines:
                parts.append([])
                count = 0
            parts[-1].append(rows)
            count += height
        return [replace(self, cells=pd.concat(part)) for part in parts]

    def is_short(self, value: Value) -> bool:
        """Return whether a cell is the mean of fewer seeds than the table has."""
        return isinstance(value, Average) and value.seeds < self.seeds

    def marks(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return ``"best"``, ``"second"`` or an empty text for each cell of a section; equal as shown is equal."""
        marks = pd.DataFrame("", rows.index, rows.columns)
        for column in self.columns:
            marks[column] = ["best" if (name, column.group) in self.bold else "" for _, name in rows.index]
            ranked = rows[column].map(number)[~rows.index.get_level_values(1).isin(UNRANKED)].dropna()
            ranks = ranked.astype(float).round(column.digits).rank(method="dense", ascending=False)
            if column.ranked and len(ranks) > 1:
                marks.loc[ranks.index[ranks == 1], column] = "best"
                marks.loc[ranks.index[ranks == 2], column] = "second"
        return marks


def measured(
    frame: pd.DataFrame, keys: Sequence[str], group: str = OURS, ranked: Sequence[str] = (), digits: int = 4,
    by: Sequence[str] = (*LEVELS, "label"),
) -> pd.DataFrame:  # fmt: skip
    """Return a column for each measure: the mean over seeds by task, direction and method."""
    return labelled(means(frame, by, keys), group, ranked, digits)


def printed(
    index: pd.MultiIndex, keys: Sequence[str], lookup: Lookup, ranked: Sequence[str] = (), digits: int = 4
) -> pd.DataFrame:
    """Return a column for each published number of the methods in an index."""
    rows = [lookup(*case_of(index.names, entry)) for entry in index]
    numbers = pd.DataFrame({key: [row.get(key) for row in rows] for key in keys}, index, dtype=object)
    return labelled(numbers, PAPER, ranked, digits)


def beside(
    frame: pd.DataFrame, keys: Sequence[str], lookup: Lookup, ranked: Sequence[str] = (), digits: int = 4
) -> pd.DataFrame:
    """Return the columns of `measured` with those of `printed` after them."""
    ours = measured(frame, keys, OURS, ranked, digits)
    return ours.join(printed(ours.index, keys, lookup, ranked, digits))


def labelled(cells: pd.DataFrame, group: str, ranked: Sequence[str] = (), digits: int = 4) -> pd.DataFrame:
    """Return cells with a `Column` for each measure."""
    columns = [Column(heading(key), group, digits, key in ranked) for key in cells.columns]
    return cells.set_axis(pd.Index(columns, dtype=object), axis=1)


def heading(key: str) -> str:
    """Return the heading over a measure or parameter."""
    is_upper = "@" in key or key in ("hm", "dm", "map", "mrr", "prs")
    return _HEADINGS.get(key, key.upper() if is_upper else key)


def case_of(names: Sequence[str], entry: Sequence[Any]) -> tuple[str, str, str]:
    """Return task, direction and label of an entry; the label without the suffix of the released update."""
    fields = dict(zip(names, entry, strict=True))
    task, direction, label = (str(fields.get(name, "")) for name in CASE)
    return task, direction, naming.origin(label)


def headed(cells: pd.DataFrame, levels: Sequence[str] = LEVELS, name: Name | None = None) -> pd.DataFrame:
    """Return cells under the headings and names that readers see.

    The heading of a row consists of its `levels`; `name(fields)` is the row's name (default: that of its method).
    """
    pairs = []
    for entry in cells.index:
        fields = dict(zip(cells.index.names, entry, strict=True))
        heading = ", ".join(naming.display(level, fields[level]) for level in levels)
        pairs.append((heading, name(fields) if name else naming.method(fields["label"])))
    return cells.set_axis(pd.MultiIndex.from_tuples(pairs, names=["section", "row"]), axis=0)


def table(
    results: RunResults, key: str, title: str, cells: pd.DataFrame, notes: Iterable[str] = (), stub: str = "method",
    levels: Sequence[str] | None = LEVELS, name: Name | None = None, bold: Iterable[tuple[str, str]] = (),
) -> ResultTable:  # fmt: skip
    """Return a table of cells without its empty rows and columns.

    For `levels` and `name` see `headed`; without levels the cells have their headings.
    """
    titled = cells if levels is None else headed(cells, levels, name)
    trimmed = titled.dropna(how="all", axis=0).dropna(how="all", axis=1)
    seeds = len(results.names("seed"))
    return ResultTable(
        results.dataset, key, title, results.setting, stub, trimmed, tuple(notes), seeds, frozenset(bold)
    )


def number(value: Value) -> float | None:
    """Return the number of a cell, or None if it has none."""
    if isinstance(value, Average):
        return value.value
    return None if value is None or isinstance(value, str) or value != value else float(value)


def cell_text(value: Value, column: Column) -> str:
    """Return the cell as text; an empty one is an em dash."""
    if isinstance(value, str):
        return value
    cell_number = number(value)
    if cell_number is None:
        return "—"
    rounded = round(cell_number, column.digits) + 0.0  # no -0.0000
    return f"{rounded:{'+' if column.signed and rounded else ''}.{column.digits}f}"
