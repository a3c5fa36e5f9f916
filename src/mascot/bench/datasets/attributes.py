"""What a column of a user's data must be to be an attribute; an error says where it stands and what the rule is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.columns import cells, is_missing
from mascot.bench.measure import is_measure
from mascot.bench.tasks import CLUSTERS, GEO, GEO_HOUR, HOUR, Geo, Hour
from mascot.errors import InputError

_KINDS = "biufMUSO"
_TASKS = tuple(task.name for task in (GEO, HOUR, GEO_HOUR, CLUSTERS))


def check_attributes(columns: Mapping[str, NDArray[Any]], called: Callable[[str], str]) -> None:
    """Refuse columns that nothing can be spread by.

    Parameters
    ----------
    columns
        By name; ``lat`` with ``lon`` is a place, ``taken`` a time, every other a label or a number.
    called
        How a column's errors name it, with its file.
    """
    for name, column in columns.items():
        where = called(name)
        if not name.strip():
            raise InputError(f"{where} must have a name, got {name!r}")
        if name in _TASKS or is_measure(name):
            taken = "a task" if name in _TASKS else "a measure"
            raise InputError(f"{where} must have another name: {name!r} is {taken} of the benchmark")
        if column.ndim != 1:
            raise InputError(f"{where} must hold one value for each image, got shape {column.shape}")
        if column.dtype.kind not in _KINDS:
            raise InputError(f"{where} must hold numbers, times or text, got {column.dtype}")
        if column.dtype.kind == "O":
            _check_labels(column, where)
        if not any(map(_told, cells(column))):
            raise InputError(f"{where} must hold at least one value, got none")
    for name, other in (("lat", "lon"), ("lon", "lat")):
        if name in columns:
            if other not in columns:
                raise InputError(f"{called(name)} needs {other!r} beside it: a place is both")
            if columns[name].dtype.kind not in "iufO":
                raise InputError(f"{called(name)} must be degrees, got {columns[name].dtype}")
    if "lat" in columns:
        _readable(Geo(), columns, called("lat"))
    if "taken" in columns:
        _readable(Hour(), columns, called("taken"))


def _check_labels(column: NDArray[Any], where: str) -> None:
    for value in column.tolist():
        for label in value if isinstance(value, (list, tuple)) else (value,):
            if not is_missing(label) and (isinstance(label, (complex, dict, list)) or not _hashable(label)):
                raise InputError(f"{where} must hold numbers, times, text or lists of them, got {label!r:.60}")


def _told(value: Any) -> bool:
    """Whether a value is there; of a list, whether one of them is."""
    return any(map(_told, value)) if isinstance(value, (list, tuple)) else not is_missing(value)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _readable(facet: Geo | Hour, columns: Mapping[str, NDArray[Any]], where: str) -> None:
    try:
        found = facet.features(dict(columns), None)
    except InputError as error:
        raise InputError(f"{where} cannot be read: {error}") from None
    if not np.any(found):
        raise InputError(f"{where} must hold at least one value, got none")
