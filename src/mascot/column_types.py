"""What a wish about the bare name of a column means: the values of the column decide.

| values | attribute |
|---|---|
| text, truth values, whole numbers | labels, `Category` |
| numbers with a decimal point | `Number` |
| datetimes, dates and ISO text | `Date` |
| lists of numbers with a decimal point, arrays of two dimensions | `Vectors` |

Whole numbers may be names (years, ratings, ids) or measures. They are labels as long as few of them differ; a spread or
a focus of more is refused, because it is ambiguous. Whole floats beside NaN are whole numbers: this is how table
libraries write integers with gaps. Rules (`limit`, `at_least`, `share`) count whole numbers, and refuse other numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.attribute import Attribute, Columns
from mascot.attributes.category import BareColumn, Combination
from mascot.attributes.clusters import Clusters
from mascot.attributes.columns import column_of, is_missing, vectors_of
from mascot.attributes.line import Date, Number
from mascot.attributes.times import is_time
from mascot.attributes.vectors import Vectors
from mascot.constraints import Constraint, name_of
from mascot.errors import InputError, OptionError
from mascot.methods.method import Table
from mascot.wishes import AnyWish, Wish

MOST_WHOLE = 50  # different whole numbers that are labels in a spread or a focus
VECTOR_COLUMNS = ("vector", "embedding", "vectors", "embeddings")  # in which `Vectors()` finds the vectors
Kind = Literal["labels", "whole", "numbers", "dates", "vectors", "points"]


def read_bare(wishes: Sequence[AnyWish], tables: Sequence[Columns]) -> tuple[AnyWish, ...]:
    """Return the wishes with the attributes that bare columns mean in these tables, one for each query."""
    bare = (BareColumn, Combination)
    return tuple([_read(wish, tables) if isinstance(wish.attribute, bare) else wish for wish in wishes])


def _read(wish: AnyWish, tables: Sequence[Columns]) -> AnyWish:
    attribute: Any = wish.attribute
    if isinstance(attribute, Combination):
        for name in attribute.columns:
            if _common_kind(name, _columns_named(name, tables)) in ("numbers", "vectors"):
                raise OptionError(f"{_name(wish)} counts labels, and column {name!r} holds numbers: leave it out")
        return wish
    name = attribute.column
    columns = _columns_named(name, tables)
    kind = _common_kind(name, columns)
    meant = _meant(attribute, kind)
    if isinstance(meant, Number) and not isinstance(wish, Wish):
        remedy = f"use Number({name!r}, edges=[...]) for intervals, or Category({name!r}) for labels"
        raise OptionError(f"{_name(wish)} counts labels, and column {name!r} holds numbers: {remedy}")
    if meant != attribute:
        return replace(wish, attribute=meant)
    if isinstance(wish, Wish) and kind == "whole" and (count := max(map(_count_different, columns))) > MOST_WHOLE:
        remedy = f"use Number({name!r}) if they are measured, or Category({name!r}) if they are names"
        raise OptionError(f"{_name(wish)} is ambiguous, column {name!r} has {count} different whole numbers: {remedy}")
    if isinstance(wish, Wish) and wish.within is not None:
        raise OptionError(f"{_name(wish)}.within needs an attribute with distances, got labels: {wish.within!r}")
    return wish


def attribute_of(bare: BareColumn, columns: Sequence[Any]) -> Attribute:
    """Return the attribute that a bare column means; `columns` are its values in each query. Labels stay bare."""
    return _meant(bare, _common_kind(bare.column, columns))


def _meant(bare: BareColumn, kind: Kind | None) -> Attribute:
    name = bare.column
    options: Any = {"missing": bare.missing, "name": bare.name}
    if kind == "points":
        use = f"use Place({name!r}), or Vectors({name!r}) if they are vectors"
        raise OptionError(f"column {name!r} holds points and is not read as labels: {use}")
    if kind == "dates":
        return Date(name, **options)
    if kind == "vectors":
        return Vectors(name, **options)
    return Number(name, **options) if kind == "numbers" else bare


def _name(wish: Wish | Constraint) -> str:
    if isinstance(wish, Wish):
        return f"{'spread' if wish.sign > 0 else 'focus'}({wish.attribute.name})"
    return name_of(wish)


def _common_kind(name: str, columns: Sequence[Any]) -> Kind | None:
    """Return what a column holds in all queries that have values of it; None if no query has one."""
    kinds = {kind_of(values) for values in columns} - {None}
    if kinds == {"whole", "numbers"}:
        return "numbers"
    if kinds == {"whole", "labels"}:
        return "labels"
    if len(kinds) > 1:
        held = " and ".join(sorted(map(str, kinds)))
        raise InputError(f"column {name!r} must hold the same in all queries, got {held}: name an attribute")
    return next(iter(kinds), None)


def _columns_named(name: str, tables: Sequence[Columns]) -> list[Any]:
    """Return the column of each table that has it, as an array or as a list; the attribute reports a missing one."""
    present: list[Any] = []
    for columns in tables:
        try:
            read = getattr(columns, "cells_named", None)  # of records, for which an array would have to be made
            present.append(read(name) if read is not None else column_of(columns, name, "a wish"))
        except (InputError, KeyError):
            continue
    return present


def _count_different(values: Any) -> int:
    cells = values.tolist() if isinstance(values, np.ndarray) else values
    return len(set(_present(cells)))


def kind_of(values: NDArray[Any] | Sequence[Any]) -> Kind | None:
    """Return what a column holds; None if all values are missing.

    >>> kind_of(["2019-07-14", "", None]), kind_of([2019, 2020]), kind_of([9.5, None]), kind_of([[0.1, 0.9, 0.2]])
    ('dates', 'whole', 'numbers', 'vectors')
    """
    if isinstance(values, np.ndarray):
        if values.ndim > 1:
            return _kind_of_rows(values.shape[1]) if values.dtype.kind in "iuf" else "labels"
        kind = values.dtype.kind
        if kind == "f":
            real = values[~np.isnan(values)]
            has_gaps = len(real) < len(values)
            return None if not len(real) else "whole" if has_gaps and (real == np.floor(real)).all() else "numbers"
        if kind in "iuM":
            return "dates" if kind == "M" else "whole"
        if kind not in "OU":
            return "labels"
        values = values.tolist()
    first = next((value for value in values if not _is_empty(value)), None)
    if first is None:
        return None
    if isinstance(first, str):
        return "dates" if is_time(first) and all(is_time(value) for value in _present(values)) else "labels"
    if isinstance(first, (date, np.datetime64)):
        return "dates" if all(isinstance(value, (date, np.datetime64)) for value in _present(values)) else "labels"
    if isinstance(first, Mapping):
        return "points" if {"lat", "latitude", "coordinates"} & set(first) else "labels"
    if isinstance(first, (list, tuple, np.ndarray)):
        parts = chain.from_iterable(value for value in values if isinstance(value, (list, tuple, np.ndarray)))
        has_point = not isinstance(first[0], str) and any(isinstance(part, (float, np.floating)) for part in parts)
        return _kind_of_rows(len(first)) if has_point else "labels"
    return _kind_of_numbers(values) if _is_numeric(first) else "labels"


def _kind_of_rows(length: int) -> Kind:
    return "points" if length == 2 else "vectors"  # a pair may be a longitude and a latitude


def _kind_of_numbers(values: Iterable[Any]) -> Kind:
    numbers = [value for value in values if value is not None]
    real = [value for value in numbers if not is_missing(value)]
    if not all(map(_is_numeric, real)):
        return "labels"
    has_point = any(not isinstance(value, (int, np.integer)) for value in real)
    has_gaps = len(real) < len(numbers)
    return "numbers" if has_point and not (has_gaps and all(value == int(value) for value in real)) else "whole"


def _is_numeric(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal, np.integer, np.floating)) and not isinstance(value, bool)


def _is_empty(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, (list, tuple, np.ndarray)) and len(value) == 0)


def _present(values: Iterable[Any]) -> Iterable[Any]:
    return (value for value in values if not is_missing(value))


def with_vectors(table: Table, wishes: Iterable[AnyWish]) -> Table:
    """Return the table with its column of vectors as the vectors, if a wish reads vectors and there are no others."""
    if table.vectors is not None or not any(_reads_vectors(wish.attribute) for wish in wishes):
        return table
    for name in VECTOR_COLUMNS:
        for values in _columns_named(name, [table.columns]):
            if kind_of(values) in ("vectors", "points"):
                return Table(table.columns, vectors_of(values, f"column {name!r}"))
    return table


def _reads_vectors(attribute: Any) -> bool:
    return isinstance(attribute, (Clusters, Vectors)) and attribute.column is None
