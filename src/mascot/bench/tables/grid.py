"""A table before it is text: columns, sections of rows, cells, and which of them are best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from mascot.bench import naming
from mascot.bench.averages import Average, RunResults

Value = Average | float | str | None


@dataclass(frozen=True, slots=True)
class Column:
    """What stands under one heading."""

    name: str
    group: str = ""  # a heading over several columns
    digits: int = 4
    ranked: bool = False  # mark the best and the second best of each section; more is better
    signed: bool = False  # with its plus sign


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line. The base retriever is shown but not ranked."""

    name: str
    cells: tuple[Value, ...]
    ranked: bool = True
    bold: frozenset[int] = field(default=frozenset())  # columns set in bold for a reason of the table's own


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
    """Everything a format needs to know.

    Parameters
    ----------
    key
        Short and unique within a dataset, for labels and CSV.
    title, setting, notes
        The caption, how the numbers were made, and sentences under the table.
    stub
        The heading over the row names.
    seeds
        How many the setting speaks of: a mean of fewer is marked. 0 marks none.
    """

    dataset: str
    key: str
    title: str
    setting: str
    stub: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()
    seeds: int = 0

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

    @property
    def shorts(self) -> bool:
        return any(self.short(cell) for section in self.sections for row in section.rows for cell in row.cells)

    def trimmed(self) -> ResultTable:
        """Return the table without empty columns, rows and sections."""
        filled = [
            c
            for c in range(len(self.columns))
            if any(row.cells[c] is not None for section in self.sections for row in section.rows)
        ]
        place = {c: index for index, c in enumerate(filled)}
        sections = []
        for section in self.sections:
            rows = tuple(
                replace(
                    row,
                    cells=tuple(row.cells[c] for c in filled),
                    bold=frozenset(place[c] for c in row.bold if c in place),
                )
                for row in section.rows
                if any(cell is not None for cell in row.cells)
            )
            if rows:
                sections.append(replace(section, rows=rows))
        return replace(self, columns=tuple(self.columns[c] for c in filled), sections=tuple(sections))

    @property
    def marked(self) -> bool:
        return any(column.ranked for column in self.columns)


def sections(
    results: RunResults, rows: Callable[[str, str, RunResults], Iterable[TableRow]], directions: Sequence[str] = ()
) -> list[Section]:
    """Return a section for each direction and task; `rows(task, direction, results)` returns the rows of one.

    `directions` are those that may appear (default: all).
    """
    return [
        Section(f"{direction}, {naming.task(task)}", tuple(rows(task, direction, part)))
        for direction in results.names("direction")
        if not directions or direction in directions
        for task in results.where(direction=direction).names("task")
        for part in [results.where(direction=direction, task=task)]
    ]


def table(
    results: RunResults, key: str, title: str, columns: Iterable[Column], parts: Sequence[Section],
    notes: Iterable[str] = (), stub: str = "method",
) -> Iterator[ResultTable]:  # fmt: skip
    """Yield a table of results, unless it would be empty."""
    if any(section.rows for section in parts):
        yield ResultTable(
            results.dataset, key, title, results.setting, stub, tuple(columns), tuple(parts), tuple(notes),
            seeds=len(results.seeds),
        )  # fmt: skip


def marks(section: Section, columns: Sequence[Column]) -> list[list[str]]:
    """``"best"``, ``"second"`` or nothing for each cell of each row; equal as shown is equally good."""
    grid = [["best" if c in row.bold else "" for c in range(len(columns))] for row in section.rows]
    for c, column in enumerate(columns):
        if not column.ranked:
            continue
        rounded: list[float | None] = []
        for row in section.rows:
            value = number(row.cells[c]) if row.ranked else None
            rounded.append(None if value is None else round(value, column.digits))
        order = sorted({value for value in rounded if value is not None}, reverse=True)
        if sum(value is not None for value in rounded) < 2:
            continue
        for r, value in enumerate(rounded):
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
