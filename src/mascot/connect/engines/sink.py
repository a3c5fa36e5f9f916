"""Tables of engines that rows are written to."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.connect.engines.address import Address
from mascot.connect.engines.engine import EngineTable
from mascot.errors import InputError, require

VECTOR = "vector"  # default name of the column of vectors
_BATCH = 256  # rows per request, which every engine accepts
_TYPES = (str, int, float, list)


@dataclass(frozen=True, slots=True)
class SinkLayout:
    """The columns of a sink and their types, and the shape of its vectors."""

    fields: Mapping[str, type]  # str, int, float, or list, which is stored as a JSON array; the key comes first
    dim: int
    tokens: int  # vectors per row

    def __post_init__(self) -> None:
        require(self.dim >= 1, "dim", "must be >= 1", self.dim)
        require(self.tokens >= 1, "tokens", "must be >= 1", self.tokens)
        kinds = list(self.fields.values())
        valid = bool(kinds) and kinds[0] is str and all(kind in _TYPES for kind in kinds)
        require(
            valid, "fields", "must be columns with str, int, float or list, and begin with a key of str", self.fields
        )

    @property
    def key(self) -> str:
        """The name of the column that identifies a row."""
        return next(iter(self.fields))

    @property
    def types(self) -> dict[str, type]:
        """The columns and the types that are stored."""
        return {name: str if kind is list else kind for name, kind in self.fields.items()}

    def check_table(self, address: Address, names: Iterable[str]) -> None:
        """Refuse a table that lacks some of the columns."""
        lacking = [name for name in self.fields if name not in set(names)]
        if lacking:
            more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
            text = ", ".join(lacking[:3]) + more
            raise InputError(f"{address.label}: {address.table!r} lacks the columns {text}: name another table")

    def check_shape(self, label: str, dim: int, several: bool) -> None:
        """Refuse a table whose vectors have another shape."""
        expected, actual = _shape_text(dim, several), _shape_text(self.dim, self.tokens > 1)
        if expected != actual:
            raise InputError(f"{label} holds {expected} per row, but these rows have {actual}: name another table")

    def checked(
        self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.floating]
    ) -> tuple[list[dict[str, Any]], NDArray[np.float32]]:
        """Return rows with every column, and vectors as n x tokens x dim; of rows with the same key, the last."""
        numbers = np.asarray(vectors, np.float32)
        if numbers.ndim == 2 and self.tokens == 1:
            numbers = numbers[:, None]
        if numbers.shape != (len(rows), self.tokens, self.dim):
            shape = " x ".join(map(str, np.shape(vectors)))
            raise InputError(f"vectors must be {len(rows)} x {self.tokens} x {self.dim}, one row each, got {shape}")
        if not np.isfinite(numbers).all():
            raise InputError("vectors must be finite")
        places: dict[str, int] = {}
        for place, row in enumerate(rows):
            key = row.get(self.key)
            if not isinstance(key, str) or not key:
                raise InputError(f"a row must have a {self.key}, got {key!r}")
            unknown = sorted(set(row) - set(self.fields))
            if unknown:
                raise InputError(f"a row has the columns {', '.join(self.fields)}; got {', '.join(unknown)} besides")
            places[key] = place
        last_rows = [rows[place] for place in places.values()]
        records = [{name: _stored(row.get(name), kind) for name, kind in self.types.items()} for row in last_rows]
        return records, numbers[list(places.values())]


class Sink(EngineTable):
    """A table that rows are written to. It closes at the end of a `with`; closing it twice has no effect.

    The first of its columns is the key. Writing a row twice has no effect.
    """

    _layout: SinkLayout

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        """Insert rows and their vectors, n x dim or n x tokens x dim, or replace the rows with the same key."""
        with self._in_use():
            records, numbers = self._layout.checked(rows, vectors)
            if records:
                self._put(records, numbers)

    def select(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the values of these columns in every row."""
        with self._in_use():
            for row in self._select(columns):
                yield tuple(row.get(name) for name in columns)

    def remove(self, keys: Sequence[str]) -> None:
        """Delete the rows with these keys; keys that do not exist are ignored."""
        with self._in_use():
            for batch in chunks(keys):
                self._remove(batch)

    def set_facts(self, facts: Mapping[str, str]) -> None:
        """Store facts beside the table, such as the encoder of its vectors."""
        with self._in_use():
            self._write_facts(facts)

    @abstractmethod
    def _put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        """Insert or replace rows with every column; the vectors are n x tokens x dim."""

    @abstractmethod
    def _select(self, columns: Sequence[str]) -> Iterable[Mapping[str, Any]]:
        """Yield every row, with at least these columns."""

    @abstractmethod
    def _remove(self, keys: Sequence[str]) -> None: ...

    @abstractmethod
    def _write_facts(self, facts: Mapping[str, str]) -> None: ...


def _shape_text(dim: int, several: bool) -> str:
    return f"{'several vectors' if several else 'one vector'} of {dim} numbers"


def _stored(value: Any, kind: type) -> Any:
    if value is None or value != value:  # tables without None write NaN
        return None
    if isinstance(value, (list, tuple)):
        return json.dumps(list(value), ensure_ascii=False)
    if isinstance(value, datetime):
        return value.isoformat()
    return kind(value)


def chunks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield the items in batches of a size that every engine accepts."""
    for first in range(0, len(items), _BATCH):
        yield items[first : first + _BATCH]
