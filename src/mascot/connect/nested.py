"""Names of columns: `location.lat` is the `lat` of the dictionary `location`, unless a column has that name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mascot.candidates import value_of as value_of
from mascot.errors import OptionError


def names_of(columns: Sequence[str]) -> list[str]:
    """Return a list of names, checked; a bare string is refused, because it would be read as its characters."""
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise OptionError(f"columns must be a list of names, got {columns!r}")
    return list(columns)


def has(row: Mapping[str, Any], name: str) -> bool:
    """Return whether a row has a dotted name, even if its value is None.

    >>> has({"location": {"lat": None}}, "location.lat"), has({"location": 3}, "location.lat")
    (True, False)
    """
    return name in row or any(
        letter == "." and isinstance(inner := row.get(name[:place]), Mapping) and has(inner, name[place + 1 :])
        for place, letter in enumerate(name)
    )


def column_of(rows: Iterable[Mapping[str, Any]], name: str) -> list[Any]:
    """Return the value of each row under a dotted name."""
    return [value_of(row, name) for row in rows] if "." in name else [row.get(name) for row in rows]


def stem_of(name: str, columns: Sequence[str]) -> str:
    """Return the column that holds a dotted name: its longest prefix that is a column, else the name itself.

    >>> stem_of("location.lat", ["path", "location"])
    'location'
    """
    parts = name.split(".")
    heads = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return next((head for head in heads if head in columns), name)
