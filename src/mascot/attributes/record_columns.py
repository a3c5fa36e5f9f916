"""Columns of records, and records of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.columns import are_texts, as_array, cells, column_of
from mascot.attributes.nested import has_name, values_of


class RecordColumns(Mapping[str, NDArray[Any]]):
    """Columns of a list of dictionaries, read on first use. A name may be a dotted path."""

    def __init__(self, records: Sequence[Any], plain: bool = False) -> None:
        self._records, self._plain = records, plain  # plain: all are of type `dict`
        self._cells: dict[str, list[Any]] = {}
        self._columns: dict[str, NDArray[Any]] = {}

    def cells(self, name: str) -> list[Any]:
        """Return the value of each record; None if it is missing."""
        return values_of(self._records, name, self._plain)

    def usual_cells(self, name: str, usual: str, owner: str) -> list[Any]:
        """Return the value of each record. A usual name may begin with an underscore; any other must exist."""
        values = self.cells(name)
        if are_missing(values) and name == usual:
            return self.cells(f"_{name}")
        if are_missing(values):
            column_of(self, name, owner)  # raises if no record has it
        return values

    def cells_named(self, name: str) -> list[Any]:
        """Return the cells of a column, read once; raise a `KeyError` if there is none."""
        if name not in self:
            raise KeyError(name)
        return self._cells[name]

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            values = self.cells_named(name)
            self._columns[name] = np.array(values, object) if are_texts(values) else as_array(values)
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        """Return whether a record has this name. A column of no records has every name."""
        if name in self._cells:
            return True
        if not isinstance(name, str):
            return False
        values = self.cells(name)
        if are_missing(values) and not (name in list(self) or any(has_name(row, name) for row in self._records)):
            return False
        self._cells[name] = values
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(key for record in self._records for key in record if isinstance(key, str)))

    def __len__(self) -> int:
        return len(list(iter(self)))


class TableRows(Sequence[dict[str, Any]]):
    """The rows of a table as dictionaries, made when `Ranking.records()` asks for them."""

    def __init__(self, table: Any, columns: Mapping[str, NDArray[Any]]) -> None:
        self._table, self._columns = table, columns

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, row: Any) -> Any:
        return self.take([range(len(self))[row]])[0]

    def take(self, positions: list[int]) -> list[dict[str, Any]]:
        """Return the rows at these positions."""
        table = self._table
        if hasattr(table, "iloc"):  # pandas
            return table.iloc[positions].to_dict("records")
        if hasattr(table, "to_dicts"):  # Polars
            return table[positions].to_dicts()
        if hasattr(table, "to_pylist"):  # Arrow
            return table.take(positions).to_pylist()
        rows = zip(*(cells(column[positions]) for column in self._columns.values()), strict=True)
        return [dict(zip(self._columns, row, strict=True)) for row in rows]


def are_missing(values: list[Any]) -> bool:
    """Return whether there are values and all are None."""
    return bool(values) and values[0] is None and set(map(type, values)) == {type(None)}
