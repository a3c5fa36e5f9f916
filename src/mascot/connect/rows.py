"""Rows of photographs that are written to an engine: their columns and types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.connect.address import Address
from mascot.errors import InputError
from mascot.photos.photo import Photo

Vectors = NDArray[np.float32]
States = Iterator[tuple[str, tuple[int, int, str, str]]]  # path; size, mtime_ns, hash, stamp

# A photograph's columns as the library stores them, and the stamp of its encoding; the key is the first.
_TYPES = {"int": int, "float": float}  # by the annotation; everything else is stored as text
FIELDS: dict[str, type] = {
    "path": str,
    **{field.name: _TYPES.get(str(field.type).partition(" ")[0], str) for field in fields(Photo)},
    "stamp": str,
}
VECTOR = "vector"
LISTS = ("keywords", "problems")  # JSON text
_AT_ONCE = 256
STATE = ("path", "size", "mtime_ns", "hash", "stamp")


def checked(
    rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.floating], dim: int, tokens: int
) -> tuple[list[dict[str, Any]], Vectors]:
    """Return rows with every column, and their vectors as n x tokens x dim; of two rows of one path, the last."""
    numbers = np.asarray(vectors, np.float32)
    if numbers.ndim == 2 and tokens == 1:
        numbers = numbers[:, None]
    if numbers.shape != (len(rows), tokens, dim):
        shape = " x ".join(map(str, np.shape(vectors)))
        raise InputError(f"vectors must be {len(rows)} x {tokens} x {dim}, a row each, got {shape}")
    if not np.isfinite(numbers).all():
        raise InputError("vectors must be finite")
    for row in rows:
        if not isinstance(row.get("path"), str) or not row["path"]:
            raise InputError(f"a row must have a path, got {row.get('path')!r}")
    last = {row["path"]: place for place, row in enumerate(rows)}
    unknown = sorted({name for row in rows for name in row} - set(FIELDS))
    if unknown:
        raise InputError(f"a row has the columns {', '.join(FIELDS)}; got {', '.join(unknown)} besides")
    places = list(last.values())
    records = [{name: _value(rows[place].get(name), kind) for name, kind in FIELDS.items()} for place in places]
    return records, numbers[places]


def fits(address: Address, names: Iterable[str]) -> None:
    """Refuse to write photographs into a table that was made for something else."""
    columns = set(names)
    lacks = [name for name in FIELDS if name not in columns]
    if lacks:
        names_lacking = ", ".join(lacks[:3]) + (f" and {len(lacks) - 3} more" if len(lacks) > 3 else "")
        raise InputError(
            f"{address.label}: {address.table!r} is not a table of photographs, its columns lack {names_lacking}: "
            "name another table"
        )


def _value(value: Any, kind: type) -> Any:
    if value is None or value != value:  # tables without None write NaN
        return None
    if isinstance(value, (list, tuple)):
        return json.dumps(list(value), ensure_ascii=False)
    if isinstance(value, datetime):
        return value.isoformat()
    return kind(value)


def state_of(row: Mapping[str, Any]) -> tuple[str, tuple[int, int, str, str]]:
    """Return the path of a row, and what a later run compares the file with."""
    size, mtime_ns = int(row["size"] or 0), int(row["mtime_ns"] or 0)
    return row["path"], (size, mtime_ns, str(row["hash"] or ""), str(row["stamp"] or ""))


def chunks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield the items in as many at once as every engine takes."""
    for first in range(0, len(items), _AT_ONCE):
        yield items[first : first + _AT_ONCE]
