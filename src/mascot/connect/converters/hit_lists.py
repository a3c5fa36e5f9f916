"""Hits of a search as candidates, whose columns are read on demand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.columns import vectors_of
from mascot.attributes.nested import values_of
from mascot.candidates import Candidates, RecordColumns, TableRows, as_ids, value_of
from mascot.errors import InputError, MascotError, OptionError

Floats = NDArray[np.float64]


def names_of(columns: Sequence[str]) -> list[str]:
    """Return a checked list of names; a bare string is refused, because it would be read as its characters."""
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise OptionError(f"columns must be a list of names, got {columns!r}")
    return list(columns)


class HitColumns(RecordColumns):
    """Columns of hits: a name is looked up in the fields of each hit, then in the hit itself."""

    def __init__(self, fields: Sequence[Mapping[str, Any]], hits: Sequence[Any], unwrap: bool = False) -> None:
        super().__init__(fields)
        self._hits, self._unwrap = hits, unwrap

    def cells(self, name: str) -> list[Any]:
        values = super().cells(name)
        if self._hits is not self._records and all(value is None for value in values):
            values = [value_of(hit, name) for hit in self._hits]
        if self._unwrap:  # engines that return every field as a list
            values = [value[0] if isinstance(value, list) and len(value) == 1 else value for value in values]
        return values


class NamedColumns(RecordColumns):
    """Columns of a table with fixed names, and the dotted names within them."""

    def __init__(self, count: int, names: Iterable[str], column: Callable[[str], list[Any]]) -> None:
        super().__init__(range(count))
        self._names, self._column = list(names), column

    def cells(self, name: str) -> list[Any]:
        if name in self._names:
            return self._column(name)
        stems = {column: self._column(column) for column in self._names if name.startswith(f"{column}.")}
        return values_of(records_of(stems), name) if stems else [None] * len(self._records)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


def records_of(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the rows of columns of one length as dictionaries."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def unreadable(owner: str, needed: str, response: Any) -> InputError:
    text = f"a dictionary of {', '.join(map(str, response))}" if isinstance(response, Mapping) else repr(response)
    return InputError(f"{owner} needs {needed}, got {text:.120}")


@contextmanager
def reading(owner: str, response: Any) -> Iterator[None]:
    """Name the converter and the response if it has another form than the converter reads."""
    try:
        yield
    except MascotError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{unreadable(owner, 'a response in a documented form', response)}: {error!r:.80}") from None


def is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def entry(value: Any, name: str) -> Any:
    """Return the value of a key or attribute, or None."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def rows_of(rows: Any, names: Sequence[str] | None, owner: str) -> tuple[Sequence[Any], RecordColumns]:
    if hasattr(rows, "columns") and hasattr(rows, "shape") and not hasattr(rows, "fetchall"):
        heads = map(str, getattr(rows, "column_names", rows.columns))
        columns = NamedColumns(len(rows), heads, partial(_table_column, rows))
        return TableRows(rows, columns), columns
    if hasattr(rows, "fetchall"):
        if names is None:
            names = [field[0] for field in getattr(rows, "description", None) or ()] or _keys_of(rows)
        rows = rows.fetchall()
    elif not isinstance(rows, Iterable) or isinstance(rows, (str, Mapping)):
        raise unreadable(owner, "a cursor, a result or a list of rows", rows)
    hits = list(rows)
    if not hits or isinstance(hits[0], Mapping):
        return hits, RecordColumns(hits)
    keys = list(names or _keys_of(hits[0]))
    width = len(hits[0]) if hasattr(hits[0], "__len__") else 0
    if not keys or len(keys) != width:
        raise InputError(f"{owner} needs the names of {width} columns, got {', '.join(keys) or 'none'}")
    cells = dict(zip(keys, map(list, zip(*hits, strict=True)), strict=True))
    return hits, NamedColumns(len(hits), keys, cells.__getitem__)


def _keys_of(row: Any) -> list[str]:
    keys = getattr(row, "keys", tuple)
    return list(getattr(row, "_fields", None) or (keys() if callable(keys) else ()))


def _table_column(table: Any, name: str) -> Any:
    values = table[name]
    return values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()


def candidates_of(
    hits: Sequence[Any],
    columns: RecordColumns,
    scores: Any,
    ids: Any,
    vectors: NDArray[Any] | str | None = None,
    distances: bool | None = False,
) -> Candidates[Any]:
    """Return candidates with their hits.

    `vectors` is an array, or the name of a column. If `distances` is None, ascending scores are distances.
    """
    numbers = as_scores(scores, bool(distances))
    if distances is None and are_distances(numbers):
        numbers = as_scores(scores, distances=True)
    result: Candidates[Any] = Candidates(numbers)
    result.has_ids = not hits or any(id_ is not None for id_ in ids)
    if result.has_ids:
        result.ids = as_ids(ids, len(hits), "Candidates")
        if None in result.ids:
            raise InputError(f"Candidates.ids must be in every hit, got none at position {result.ids.index(None)}")
    result.vectors = _vector_cells(columns, vectors) if isinstance(vectors, str) else vectors
    result.columns, result.source = columns, hits
    return result


def are_distances(scores: Floats, groups: Sequence[Any] | None = None) -> bool:
    """Return whether scores ascend: within the groups, or over groups of one hit."""
    numbers = scores.tolist()
    runs: dict[str, list[float]] = {} if groups else {"": numbers}
    for number, group in zip(numbers, groups or (), strict=bool(groups)):
        runs.setdefault(repr(group[0] if isinstance(group, list) else group), []).append(number)
    orders = [run for run in runs.values() if run and run[0] != run[-1]] or [[run[0] for run in runs.values() if run]]
    return all(len(run) > 1 and run[0] < run[-1] and run == sorted(run) for run in orders)


def _vector_cells(columns: RecordColumns, name: str) -> Floats | None:
    """Return a column of vectors, which may be tensors of Vespa or the text of pgvector."""
    lists = [json.loads(cell) if isinstance(cell, str) else cell for cell in columns.cells(name)]
    return as_vectors([cell.get("values") if isinstance(cell, Mapping) else cell for cell in lists])


def as_scores(scores: Sequence[float | None], distances: bool = False) -> Floats:
    """Return scores without missing values, higher is better; distances are negated.

    If no hit has a score, scores are evenly spaced from 1 downwards. If some have, the others get the lowest.
    """
    try:
        relevance = np.asarray(scores, np.float64)  # None becomes NaN
    except (TypeError, ValueError) as error:
        raise InputError(f"scores must be numbers: {error}") from None
    relevance = -relevance if distances else relevance
    missing = np.isnan(relevance)
    if not missing.any():
        return relevance
    if missing.all():
        return 1 - np.arange(len(relevance)) / len(relevance)
    return np.where(missing, relevance[~missing].min(), relevance)


def negated(distances: Iterable[Any]) -> list[Any]:
    """Return distances as scores."""
    return [None if distance is None else -float(distance) for distance in distances]


def as_vectors(rows: Sequence[Sequence[float] | NDArray[Any] | None]) -> Floats | None:
    """Return vectors as N x D; a missing or empty vector is a row of NaN. Return None if all are missing."""
    rows = [None if isinstance(row, Sequence) and len(row) == 0 else row for row in rows]
    return None if all(row is None for row in rows) else vectors_of(rows, "vectors")
