"""The base class of attributes that read one column."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.attribute import Columns, Missing, check_missing
from mascot.attributes.columns import as_array, printable
from mascot.attributes.times import instants, remedy_for, times
from mascot.errors import InputError, OptionError
from mascot.serialize import Value


class ColumnAttribute(Value):
    """Base class of attributes that read one column of numbers or times."""

    __slots__ = ()
    column: str
    missing: Missing
    name: str
    read: Callable[[Columns, str, str], NDArray[Any]]  # the column by its name, for an owner
    near: str  # what a named value must be

    def __post_init__(self) -> None:
        check_missing(type(self).__name__, self.missing)
        object.__setattr__(self, "name", self.name or self.column)

    def _values(self, columns: Columns) -> NDArray[Any]:
        return self.read(columns, self.column, type(self).__name__)

    def point(self, value: Any) -> dict[str, Any]:
        """Return a named value as a column with one value; raise if it cannot be read."""
        with suppress(InputError):
            if not np.isnan(self._values({self.column: as_array([value])})[0]):
                return {self.column: value}
        remedy = remedy_for(value) if self.read in (times, instants) else ""
        raise OptionError(f"{type(self).__name__} near must be {self.near}, got {printable(value)!r}{remedy}")
