"""A table before it is text: columns, sections of rows, cells, and which of them are best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mascot.bench.report import naming
from mascot.bench.report.averages import Average, Measure, RunResults, summary

Value = Average | float | str | None
Rows = Callable[[RunResults], Iterable["TableRow"]]
OURS, PAPER = "ours", "published"
_LEVELS = ("direction", "task")


@dataclass(frozen=True, slots=True)
class Column:
    """What stands under one heading."""

    name: str
    group: str = ""  # a heading over several columns
    # The value for records that differ only in their seed.
    cell: Callable[[RunResults], Value] = field(default=lambda runs: None, compare=False)
    digits: int = 4
    ranked: bool = False  # mark the best and the second best of each section; more is better
    signed: bool = False  # with its plus sign


def mean(measure: Measure) -> Callable[[RunResults], Average | None]:
    """Return the function from records to the mean of a measure over their seeds."""
    return lambda runs: runs.average(measure)


def means(keys: Iterable[str], group: str = OURS, ranked: Sequence[str] = (), digits: int = 4) -> list[Column]:
    """Return a column for each number of the summaries: the mean over seeds."""
    return [Column(_heading(key), group, mean(summary(key)), digits, key in ranked) for key in keys]


def printed(
    keys: Iterable[str], lookup: Callable[..., Mapping[str, Any]], ranked: Sequence[str] = (), digits: int = 4
) -> list[Column]:
    """Return a column for each published number; `lookup(task, direction, label)` returns those of a method."""

    def cell(key: str) -> Callable[[RunResults], Value]:
        return lambda runs: lookup(*runs.case).get(key)

    return [Column(_heading(key), PAPER, cell(key), digits, key in ranked) for key in keys]


def _heading(key: str) -> str:
    vendi_scores = {"geo": "geo V", "hour": "hour V"}
    return key.upper() if "@" in key or key in ("hm", "dm", "map", "mrr", "prs") else vendi_scores.get(key, key)


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line. The base retriever is shown but not ranked."""

    name: str
    cells: tuple[Value, ...]
    ranked: bool = True
    bold: frozenset[str] = frozenset()  # groups of columns set in bold for a reason of the table's own


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
        columns = [c for c in range(len(self.columns)) if any(row.cells[c] is not None for row in self.rows)]
        sections = []
        for section in self.sections:
            rows = [row for row in section.rows if any(cell is not None for cell in row.cells)]
            trimmed = tuple(replace(row, cells=tuple(row.cells[c] for c in columns)) for row in rows)
            sections += [Section(section.heading, trimmed)] if rows else []
        return replace(self, columns=tuple(self.columns[c] for c in columns), sections=tuple(sections))


def by_method(columns: Sequence[Column], name: Callable[[str, RunResults], str] | None = None) -> Rows:
    """Return a function from records to a row for each method; `name(label, records)` is the name of a row."""

    def rows(part: RunResults) -> Iterator[TableRow]:
        for label, runs in part.split("label"):
            row_name = name(label, runs) if name else naming.method(label)
            yield row(row_name, runs, columns, ranked=label != naming.BASE)

    return rows


def row(name: str, runs: RunResults, columns: Sequence[Column], ranked: bool = True) -> TableRow:
    """Return the row of records that differ only in their seed."""
    return TableRow(name, tuple(column.cell(runs) for column in columns), ranked)


def sections(results: RunResults, rows: Rows, levels: Sequence[str] = _LEVELS) -> list[Section]:
    """Return a section for each combination of the fields; `rows(records)` returns the rows of one."""
    return [
        Section(", ".join(map(naming.display, levels, names)), tuple(rows(part)))
        for *names, part in results.split(*levels)
    ]


def table(
    results: RunResults, key: str, title: str, columns: Sequence[Column], notes: Iterable[str] = (),
    parts: Sequence[Section] | None = None, stub: str = "method", levels: Sequence[str] = _LEVELS,
) -> ResultTable:  # fmt: skip
    """Return a table of results, by default with a section for each of the levels, and a row for each method."""
    parts = sections(results, by_method(columns), levels) if parts is None else parts
    layout = (stub, tuple(columns), tuple(parts), tuple(notes))
    return ResultTable(results.dataset, key, title, results.setting, *layout, seeds=len(results.names("seed")))


def marks(section: Section, columns: Sequence[Column]) -> list[list[str]]:
    """``"best"``, ``"second"`` or nothing for each cell of each row; equal as shown is equally good."""
    grid = [["best" if column.group in row.bold else "" for column in columns] for row in section.rows]
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
    return f"{rounded:{'+' if column.signed and rounded else ''}.{column.digits}f}"
