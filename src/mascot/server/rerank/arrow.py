"""Decode candidates from an Arrow IPC stream: one row each, with the options as JSON in the schema's metadata.

The columns `id`, `score` and `vector` have a fixed meaning; wishes can name all other columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mascot.extras import package
from mascot.server import request_body, schemas
from mascot.server.responses import BadBody

OPTIONS = b"mascot"  # the metadata key
_ID, _SCORE, _VECTOR = "id", "score", "vector"
_NUMBERS = {"double", "float", "halffloat"} | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def decode(body: bytes) -> tuple[dict[str, Any], schemas.RerankOptions]:
    """Return the arguments of `Candidates` and the options of an Arrow body."""
    arrow = package("pyarrow", "serve", "an Arrow body")
    try:
        with arrow.ipc.open_stream(body) as reader:
            table = reader.read_all().combine_chunks()
        table.validate(full=True)  # offsets come from the client
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise BadBody(f"the request must be an Arrow IPC stream: {error}") from None
    options = request_body.decode((table.schema.metadata or {}).get(OPTIONS, b"{}"), schemas.RerankOptions)
    names = table.column_names
    if len(set(names)) != len(names) or len(names) > schemas.MOST_COLUMNS + 3:
        raise BadBody(f"columns must be at most {schemas.MOST_COLUMNS}, of distinct names, got {len(names)}")
    if not 0 < table.num_rows <= schemas.MOST_OWN_CANDIDATES:
        raise BadBody(f"rows must be 1 to {schemas.MOST_OWN_CANDIDATES}, got {table.num_rows}")
    if _SCORE not in names:
        raise BadBody(f"the table must have a column {_SCORE!r}, got {', '.join(names)[:80]}")
    columns = {name: table.column(name) for name in names}
    candidates = {
        "scores": _cells(columns.pop(_SCORE), _SCORE),
        "ids": request_body.convert(columns.pop(_ID).to_pylist(), list[schemas.Id], _ID) if _ID in columns else None,
        "vectors": _matrix(columns.pop(_VECTOR), arrow) if _VECTOR in columns else None,
        "columns": {name: _cells(column, name) for name, column in columns.items()},
    }
    return candidates, options


def _cells(column: Any, name: str) -> Any:
    """Return a column: an array of numbers or times, otherwise a list of checked cells."""
    kind = str(column.type)
    if kind.startswith(("timestamp", "date")):
        return column.to_pylist() if getattr(column.type, "tz", None) else column.to_numpy()  # keeps local times
    if column.null_count == 0 and kind in _NUMBERS:
        numbers = column.to_numpy()
        if not (np.abs(numbers.astype(np.float64)) <= schemas.LARGEST).all():
            raise BadBody(f"{name} must be numbers from -{schemas.LARGEST:g} to {schemas.LARGEST:g}")
        return numbers
    return request_body.convert(column.to_pylist(), list[schemas.Cell], name)


def _matrix(column: Any, arrow: Any) -> Any:
    """Return the vectors as one array without copying, or as lists if some are missing or differ in length."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    kind, is_fixed = array.type, arrow.types.is_fixed_size_list(array.type)
    is_list = is_fixed or arrow.types.is_list(kind) or arrow.types.is_large_list(kind)
    if not is_list or not (arrow.types.is_floating(kind.value_type) or arrow.types.is_integer(kind.value_type)):
        raise BadBody(f"{_VECTOR} must be a list of numbers in each row, got {kind}")
    size = kind.list_size if is_fixed else max(length or 0 for length in array.value_lengths().to_pylist())
    if not 1 <= size <= schemas.LONGEST_VECTOR:
        raise BadBody(f"{_VECTOR} must have 1 to {schemas.LONGEST_VECTOR} numbers, got {size}")
    flat = array.flatten()
    if array.null_count or flat.null_count or len(flat) != len(array) * size:
        return array.to_pylist()
    matrix = flat.to_numpy(zero_copy_only=False).reshape(-1, size)
    if matrix.dtype == np.float64 and np.fmax.reduce(np.abs(matrix), axis=None) > schemas.LARGEST:
        raise BadBody(f"{_VECTOR} must be numbers from -{schemas.LARGEST:g} to {schemas.LARGEST:g}")
    return matrix
