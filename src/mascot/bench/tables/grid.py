"""A table before it is text: columns, sections of rows, cells, and which of them are best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mascot.bench import naming
from mascot.bench.averages import Average, RunResults, summary

Value = Average | float | str | None
Rows = Callable[[RunResults], Iterable["TableRow"]]
OURS, PAPER = "ours", "published"


def _empty(runs: RunResults) -> Value:
    return None


@dataclass(frozen=True, slots=True)
class Column:
    """What stands under one heading."""

    name: str
    group: str = ""  # a heading over several columns
    cell: Callable[[RunResults], Value] = field(default=_empty, compare=False)  # of records that differ in their seed
    digits: int = 4
    ranked: bool = False  # mark the best and the second best of each section; more is better
    signed: bool = False  # with its plus sign


def means(keys: Iterable[str], group: str = OURS, ranked: Sequence[str] = (), digits: int = 4) -> list[Column]:
    """Return a column for each number of the summaries: the mean over seeds."""
    return [_mean(key, group, digits, key in ranked) for key in keys]


def _mean(key: str, group: str, digits: int, ranked: bool) -> Column:
    return Column(_heading(key), group, lambda runs: runs.average(summary(key)), digits, ranked)


def printed(
    keys: Iterable[str], lookup: Callable[..., Mapping[str, Any] | None], ranked: Sequence[str] = (), digits: int = 4
) -> list[Column]:
    """Return a column for each published number; `lookup(task, direction, label)` returns those of a method."""
    return [_printed(key, lookup, digits, key in ranked) for key in keys]


def _printed(key: str, lookup: Callable[..., Mapping[str, Any] | None], digits: int, ranked: bool) -> Column:
    return Column(_heading(key), PAPER, lambda runs: (lookup(*runs.case) or {}).get(key), digits, ranked)


def _heading(key: str) -> str:
    vendi_scores = {"geo": "geo V", "hour": "hour V"}
    return key.upper() if "@" in key or key in ("hm", "dm", "map", "mrr") else vendi_scores.get(key, key)


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line. The base retriever is shown but not ranked."""

    name: str
    cells: tuple[Value, ...]
    ranked: bool = True
    bold: frozenset[int] = frozenset()  # columns set in bold for a reason of the table's own


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that belong together under a heading."""

    heading: str
    rows: tuple[TableRow, ...]

    @property
    def lines(self) -> int:
        return len(self.rows) + bool(self.heading)


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Everything a format needs to know."""

    dataset: str
    key: str  # short and unique within a dataset, for labels and CSV
    title: str
    setting: str  # how the numbers were made
    stub: str  # the heading over the row names
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()  # sentences under the table
    seeds: int = 0  # a mean of fewer is marked

    @property
    def rows(self) -> Iterator[TableRow]:
        return (row for section in self.sections for row in section.rows)

    def split(self, lines: int) -> list[ResultTable]:
        """Return the table in parts of at most this many lines, with headings; sections are not divided."""
        parts: list[list[Section]] = [[]]
        for section in self.sections:
            if parts[-1] and sum(part.lines for part in parts[-1]) + section.lines > lines:
                parts.append([])
            parts[-1].append(section)
        return [replace(self, sections=tuple(part)) for part in parts]

    def short(self, value: Value) -> bool:
        """Return whether a cell is the mean of fewer seeds than the table has."""
        return isinstance(value, Average) and value.seeds < self.seeds

    def trimmed(self) -> ResultTable:
        """Return the table without empty columns, rows and sections."""
        filled = [c for c in range(len(self.columns)) if any(row.cells[c] is not None for row in self.rows)]

        def trim(row: TableRow) -> TableRow:
            bold = frozenset(filled.index(c) for c in row.bold if c in filled)
            return replace(row, cells=tuple(row.cells[c] for c in filled), bold=bold)

        sections = []
        for section in self.sections:
            if rows := tuple(trim(row) for row in section.rows if any(cell is not None for cell in row.cells)):
                sections.append(replace(section, rows=rows))
        return replace(self, columns=tuple(self.columns[c] for c in filled), sections=tuple(sections))


def by_method(columns: Sequence[Column], name: Callable[[str, RunResults], str] | None = None) -> Rows:
    """Return a function from records to a row for each method; `name(label, records)` is the name of a row."""

    def rows(part: RunResults) -> Iterator[TableRow]:
        for label, runs in part.split("label"):
            cells = tuple(column.cell(runs) for column in columns)
            yield TableRow(name(label, runs) if name else naming.method(label), cells, ranked=label != naming.BASE)

    return rows


def sections(results: RunResults, rows: Rows, levels: Sequence[str] = ("direction", "task")) -> list[Section]:
    """Return a section for each combination of the fields; `rows(records)` returns the rows of one."""
    return [
        Section(", ".join(map(naming.display, levels, names)), tuple(rows(part)))
        for *names, part in results.split(*levels)
    ]


def table(
    results: RunResults, key: str, title: str, columns: Sequence[Column], notes: Iterable[str] = (),
    parts: Sequence[Section] | None = None, stub: str = "method",
) -> ResultTable:  # fmt: skip
    """Return a table of results, by default with a section for each direction and task, and a row for each method."""
    parts = sections(results, by_method(columns)) if parts is None else parts
    layout = (stub, tuple(columns), tuple(parts), tuple(notes))
    return ResultTable(results.dataset, key, title, results.setting, *layout, seeds=len(results.names("seed")))


def marks(section: Section, columns: Sequence[Column]) -> list[list[str]]:
    """``"best"``, ``"second"`` or nothing for each cell of each row; equal as shown is equally good."""
    grid = [["best" if c in row.bold else "" for c in range(len(columns))] for row in section.rows]
    for c, column in enumerate(columns):
        numbers = [number(row.cells[c]) if row.ranked and column.ranked else None for row in section.rows]
        rounded = [None if value is None else round(value, column.digits) for value in numbers]
        order = sorted({value for value in rounded if value is not None}, reverse=True)
        for r, value in enumerate(rounded if len(rounded) - rounded.count(None) > 1 else ()):
            if value is not None and value in order[:2]:
                grid[r][c] = "best" if value == order[0] else "second"
    return grid


def number(value: Value) -> float | None:
    """Return the number of a cell, None where it holds none."""
    if isinstance(value, Average):
        return value.value
    return None if value is None or isinstance(value, str) else float(value)


def cell_text(value: Value, column: Column) -> str:
    """Return the cell as text; an empty one is an em dash."""
    if isinstance(value, str):
        return value
    cell_number = number(value)
    if cell_number is None:
        return "—"
    rounded = round(cell_number, column.digits) + 0.0  # no -0.0000
    return f"{rounded:+.{column.digits}f}" if column.signed and rounded else f"{rounded:.{column.digits}f}"
