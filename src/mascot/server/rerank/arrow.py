"""Decode candidates from an Arrow IPC stream: one row each, with the options as JSON in the schema's metadata.

The columns `id`, `score` and `vector` have a fixed meaning; wishes can name all other columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mascot.extras import package
from mascot.server import request_body, schemas
from mascot.server.rerank import arrow_stream
from mascot.server.responses import BadBody

OPTIONS = b"mascot"  # the metadata key
_ID, _SCORE, _VECTOR = "id", "score", "vector"
_NUMBERS = {"double", "float", "halffloat"} | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_POINTER, _OBJECT, _DICT, _WIDEST = 8, 80, 200, 4  # bytes of Python objects; of a character
_MOST_VALIDATED = 256 << 20  # bytes, over all columns and batches
_LONGEST_REASON = 300  # characters of an error of Arrow


def decode(body: bytes) -> tuple[dict[str, Any], schemas.RerankOptions]:
    """Return the arguments of `Candidates` and the options of an Arrow body."""
    arrow_stream.check(body)
    arrow = package("pyarrow", "serve", "an Arrow body")
    try:
        return _decode(body, arrow)
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:  # also of times outside their range
        raise BadBody(f"the request must be an Arrow IPC stream: {str(error)[:_LONGEST_REASON]}") from None


def _decode(body: bytes, arrow: Any) -> tuple[dict[str, Any], schemas.RerankOptions]:
    reading = arrow.ipc.IpcReadOptions(ensure_native_endian=False, use_threads=False)
    with arrow.ipc.open_stream(body, options=reading) as reader:
        table = reader.read_all()
    if not 0 < table.num_rows <= schemas.MOST_OWN_CANDIDATES:
        raise BadBody(f"rows must be 1 to {schemas.MOST_OWN_CANDIDATES}, got {table.num_rows}")
    parts = [part for column in table.columns for part in column.chunks]
    if sum(_bytes_to_validate(part, arrow) for part in parts) > _MOST_VALIDATED:
        raise BadBody("columns must not share long texts: send each of them once")
    table.validate(full=True)  # before anything else reads the buffers: their offsets come from the client
    options = request_body.decode((table.schema.metadata or {}).get(OPTIONS, b"{}"), schemas.RerankOptions)
    names = table.column_names
    if len(set(names)) != len(names):
        raise BadBody("columns must have distinct names")
    if _SCORE not in names:
        raise BadBody(f"the table must have a column {_SCORE!r}, got {', '.join(names)[:80]}")
    columns = {name: table.column(name) for name in names}
    vectors = _matrix(columns.pop(_VECTOR), arrow) if _VECTOR in columns else None
    arrays = [part for column in columns.values() for part in column.chunks]
    if isinstance(vectors, arrow.Array):
        arrays.append(vectors)
    size, most = sum(_size(array, arrow) for array in arrays), request_body.decoded_size(body, request_body.ARROW)
    if size > most:
        raise BadBody(f"columns would take {size:,} bytes, more than {most:,}: send fewer lists and shorter texts")
    candidates = {
        "scores": _cells(columns.pop(_SCORE), _SCORE),
        "ids": request_body.convert(_values(columns.pop(_ID)), list[schemas.Id], _ID) if _ID in columns else None,
        "vectors": vectors.to_pylist() if isinstance(vectors, arrow.Array) else vectors,
        "columns": {name: _cells(column, name) for name, column in columns.items()},
    }
    return candidates, options


def _bytes_to_validate(array: Any, arrow: Any) -> int:
    """Return how many bytes `validate` reads. Batches share dictionaries, and views share texts."""
    if arrow.types.is_dictionary(array.type):
        return int(array.indices.get_total_buffer_size()) + _bytes_to_validate(array.dictionary, arrow)
    return _view_bytes(array) if arrow.types.is_string_view(array.type) else int(array.get_total_buffer_size())


def _view_bytes(array: Any) -> int:
    """Return the length of all texts. A view has four numbers; the first is the length of its text."""
    views = np.frombuffer(array.buffers()[1] or b"", np.int32)[4 * array.offset :: 4]
    return int(views[: len(array)].sum(dtype=np.int64))


def _size(array: Any, arrow: Any) -> int:
    """Return an upper bound of the bytes that an array takes as Python objects."""
    kind, count = array.type, len(array)
    if arrow.types.is_dictionary(kind):
        return _POINTER * count + _size(array.dictionary, arrow)
    if arrow.types.is_struct(kind):
        return _DICT * count + sum(_size(part, arrow) for part in array.flatten())
    if arrow.types.is_string_view(kind):
        return _OBJECT * count + _WIDEST * _view_bytes(array)
    if arrow.types.is_nested(kind):
        return _OBJECT * count + _size(array.flatten(), arrow)
    return _OBJECT * count + _WIDEST * int(array.nbytes)


def _values(column: Any) -> list[Any]:
    """Return the values of a column. Equal values of a dictionary are one object."""
    if not hasattr(column.type, "index_type"):
        return list(column.to_pylist())
    values: list[Any] = []
    for part in column.chunks:
        dictionary = part.dictionary.to_pylist()
        values += [None if index is None else dictionary[index] for index in part.indices.to_pylist()]
    return values


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
    return request_body.convert(_values(column), list[schemas.Cell], name)


def _matrix(column: Any, arrow: Any) -> Any:
    """Return the vectors as one array of numpy without copying, or of Arrow if some are missing or differ in length."""
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
        return array
    matrix = flat.to_numpy(zero_copy_only=False).reshape(-1, size)
    if matrix.dtype == np.float64 and np.fmax.reduce(np.abs(matrix), axis=None) > schemas.LARGEST:
        raise BadBody(f"{_VECTOR} must be numbers from -{schemas.LARGEST:g} to {schemas.LARGEST:g}")
    return matrix
