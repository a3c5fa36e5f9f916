"""Columns of a user's data, read and checked; an error names the column and the rule."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.bench.protocol.tasks import CLUSTERS, GEO, GEO_HOUR, HOUR, HOUR_OF_DAY, PLACE, metric_features
from mascot.bench.running.measure import is_measure
from mascot.extras import package

_KINDS = "biufMUSO"
_TASKS = tuple(task.name for task in (GEO, HOUR, GEO_HOUR, CLUSTERS))


def read_parquet(path: Path, needed: Sequence[str]) -> dict[str, list[Any]]:
    """Return the columns of a Parquet file, which must have these."""
    reader = package("pyarrow.parquet", "bench", "reading Parquet")
    try:
        table = reader.read_table(path)
    except (OSError, ValueError, NotImplementedError) as error:
        raise mc.InputError(f"{path}: not a Parquet file: {str(error).splitlines()[0]}") from None
    for name in needed:
        if name not in table.column_names:
            raise mc.InputError(f"{path}: needs a column {name!r}, got {', '.join(table.column_names)}")
    return {name: table.column(name).to_pylist() for name in table.column_names}


def as_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, NDArray[Any]]:
    """Return columns of values as arrays, as `Candidates` reads them."""
    count = len(next(iter(columns.values())))
    return dict(mc.Candidates(np.zeros(count), columns=dict(columns)).columns)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or empty text; a list, whether all of its values are."""
    if isinstance(value, (list, tuple)):
        return all(map(is_missing, value))
    return value is None or value != value or (isinstance(value, str) and not value.strip(" \0"))


def check_attributes(columns: Mapping[str, NDArray[Any]], describe: Callable[[str], str]) -> None:
    """Refuse columns that cannot be an attribute; `describe` returns how errors name a column, with its file.

    ``lat`` with ``lon`` is a place, ``taken`` a time, every other a label or a number.
    """
    for name, column in columns.items():
        where = describe(name)
        if not name.strip():
            raise mc.InputError(f"{where} must have a name, got {name!r}")
        if name in _TASKS or is_measure(name):
            owner = "a task" if name in _TASKS else "a measure"
            raise mc.InputError(f"{where} must have another name: {name!r} is {owner} of the benchmark")
        if column.ndim != 1:
            raise mc.InputError(f"{where} must hold one value for each image, got shape {column.shape}")
        if column.dtype.kind not in _KINDS:
            raise mc.InputError(f"{where} must hold numbers, times or text, got {column.dtype}")
        values = column.tolist()
        for label in (label for cell in values for label in (cell if isinstance(cell, (list, tuple)) else (cell,))):
            if not is_missing(label) and (not isinstance(label, Hashable) or isinstance(label, complex)):
                raise mc.InputError(f"{where} must hold numbers, times, text or lists of them, got {label!r:.60}")
        if all(map(is_missing, values)) or (column.dtype.kind == "M" and np.isnat(column).all()):
            raise mc.InputError(f"{where} must hold at least one value, got none")
    for name, other in (("lat", "lon"), ("lon", "lat")):
        if name in columns and other not in columns:
            raise mc.InputError(f"{describe(name)} needs {other!r} beside it: a place is both")
        if name in columns and columns[name].dtype.kind not in "iufO":
            raise mc.InputError(f"{describe(name)} must be degrees, got {columns[name].dtype}")
    for name, attribute in (("lat", PLACE), ("taken", HOUR_OF_DAY)):
        if name in columns:
            try:
                features = metric_features(attribute, columns, None)
            except mc.InputError as error:
                raise mc.InputError(f"{describe(name)} cannot be read: {error}") from None
            if not features.any():
                raise mc.InputError(f"{describe(name)} must hold at least one value, got none")
