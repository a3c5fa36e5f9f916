"""The candidates of one query, or of many, checked on construction."""

from __future__ import annotations

import math
import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence, Sized
from operator import countOf
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mascot.attributes.columns import as_array, is_missing, vectors_of
from mascot.attributes.nested import as_mapping
from mascot.attributes.nested import value_of as value_of
from mascot.attributes.record_columns import RecordColumns as RecordColumns
from mascot.attributes.record_columns import TableRows as TableRows
from mascot.attributes.record_columns import are_missing
from mascot.bins import Bools, Floats
from mascot.errors import InputError, hashed
from mascot.kernels.objective import normalized
from mascot.methods.method import Table

TableLike = Any  # a dictionary of columns, or a pandas, Polars, Arrow or Hugging Face table
VectorsLike = Any  # an array, or a list or column of vectors


if TYPE_CHECKING:
    import typing_extensions  # type checkers bring it along

    Id = typing_extensions.TypeVar("Id", bound=Hashable, default=Any)
else:
    Id = TypeVar("Id", bound=Hashable)


class Candidates(Generic[Id]):
    """What a search returned for one query.

    Parameters
    ----------
    scores
        N finite numbers in any order, higher is better. Of equal scores the earlier position wins. None takes the order
        of the candidates as relevance.
    ids
        N hashable names. Of several rows with one id, only the one with the highest score is ranked (default: the
        column `id` of a table, else the index of a pandas table or column if it is unique, else positions 0..N-1).
    columns
        Named columns of N values: numpy arrays, lists, or pandas, Polars or Arrow columns; or a whole pandas, Polars,
        Arrow or Hugging Face table.
    vectors
        N x D numbers, for `Clusters` and the similarity methods: an array, or a list or column of vectors. None or a
        row of NaN is a missing vector.

    Scores are copied. Columns and vectors that are arrays are not copied: do not change them while rankings of them are
    in use.

    Examples
    --------
    >>> Candidates(scores=[0.9, 0.4], columns={"camera": ["X100", None]})
    Candidates(2: camera)
    """

    __slots__ = ("columns", "has_ids", "ids", "repeated", "scores", "source", "vectors")

    @overload
    def __init__(
        self: Candidates[int],
        scores: ArrayLike | None = None,
        ids: None = None,
        columns: Any = None,
        vectors: Any = None,
    ) -> None: ...

    @overload
    def __init__(
        self, scores: ArrayLike | None, ids: Sequence[Id], columns: TableLike = None, vectors: VectorsLike = None
    ) -> None: ...

    @overload
    def __init__(
        self: Candidates[Any],
        scores: ArrayLike | None,
        ids: Any,
        columns: TableLike = None,
        vectors: VectorsLike = None,
    ) -> None: ...

    def __init__(
        self, scores: ArrayLike | None = None, ids: Any = None, columns: TableLike = None, vectors: VectorsLike = None
    ) -> None:
        if is_table(scores):
            raise InputError(
                f"Candidates.scores must be numbers, got {type(scores).__name__}: use Candidates.from_table"
            )
        self.scores: Floats = _descending(ids, columns, vectors) if scores is None else finite_scores(scores, 1)
        count = len(self.scores)
        if getattr(ids, "ndim", 1) == 2:
            raise InputError(f"Candidates.ids must be names, got an array of {_by(ids.shape)}: pass it as vectors=")
        has_table = columns is not None and not isinstance(columns, Mapping)
        names: list[Any] | None = None if ids is None else as_ids(ids, count, "Candidates")
        self.columns: Mapping[str, NDArray[Any]] = as_columns(columns, (count,), "Candidates")
        if names is None and (usual := _usual_ids(self.columns if has_table else {}, columns, scores)) is not None:
            names = as_ids(usual, count, "Candidates")
        positions: list[Any] = list(range(count))
        self.ids: list[Id] = positions if names is None else names
        self.repeated: Bools | None = None if names is None else repeated_rows(names, self.scores)
        self.has_ids = True  # False: ids of records were looked for, and there are none
        self.vectors: Floats | None = as_vectors(vectors, (count,), "Candidates")
        self.source: Sequence[Any] | None = TableRows(columns, self.columns) if has_table and self.columns else None

    @staticmethod
    def from_records(
        records: Iterable[Any], score: str | None = "score", id: str | None = "id", vector: str | None = None
    ) -> Candidates[Any]:
        """Return the candidates of a list of dictionaries, dataclasses, pydantic objects or named tuples.

        Parameters
        ----------
        records
            Hits of a search. `Ranking.records()` returns the same objects.
        score
            Name of the score, higher is better (default: "score", or "_score" if no record has it). None takes the
            order of the records as relevance.
        id
            Name of the id (default: "id", or "_id" if no record has it). If no record has either, or with None, ids are
            positions.
        vector
            Name of a vector (default: None).

        Names may be paths through nested dictionaries: ``"_source.seller"``, ``"geo.lat"``. Columns are read when a
        wish needs them. A value that a record does not have is missing.

        Examples
        --------
        >>> hits = [{"id": "a1", "score": 0.9, "geo": {"lat": 38.7}}, {"id": "b2", "score": 0.7}]
        >>> Candidates.from_records(hits).columns["geo.lat"].tolist()
        [38.7, None]
        """
        owner = "Candidates.from_records"
        if is_table(records):
            raise InputError(
                f"{owner} needs a list of records, got {type(records).__name__}: use Candidates.from_table"
            )
        source = list(records)
        is_plain = countOf(map(type, source), dict) == len(source)
        columns = RecordColumns(source if is_plain else [_fields_of(record) for record in source], is_plain)
        scores: Any = np.arange(len(source), 0, -1.0) if score is None else columns.usual_cells(score, "score", owner)
        result: Candidates[Any] = Candidates.__new__(Candidates)
        result.columns, result.source = columns, source
        try:
            result.scores = finite_scores(scores, 1)
        except InputError:
            _require_all(scores, "score", score, "the order of the records")
            raise
        ids = [] if id is None else columns.usual_cells(id, "id", owner)
        result.has_ids = id is not None and (id != "id" or not are_missing(ids))
        if result.has_ids and None in hashed(ids, "Candidates.ids must be hashable"):
            _require_all(ids, "id", id, "positions")
        result.ids = ids if result.has_ids else list(range(len(source)))
        result.repeated = repeated_rows(ids, result.scores) if result.has_ids else None
        vectors = None if vector is None else columns.usual_cells(vector, "", owner)
        result.vectors = as_vectors(vectors, (len(source),), "Candidates")
        return result

    @staticmethod
    def from_table(
        table: TableLike, score: str | None = "score", id: str | None = "id", vector: str | None = None
    ) -> Candidates[Any]:
        """Return the candidates of a pandas, Polars, Arrow or Hugging Face table, or of a dictionary of lists.

        Parameters
        ----------
        table
            One row for each hit. `Ranking.records()` returns rows as dictionaries.
        score
            Column of the scores, higher is better (default: "score", or "_score" if there is none). None takes the
            order of the rows as relevance.
        id
            Column of the ids (default: "id", or "_id" if there is none). Without it, or with None, ids are the index of
            a pandas table if it is unique, otherwise positions.
        vector
            Column of vectors (default: None).

        Examples
        --------
        >>> Candidates.from_table({"id": ["a1", "b2"], "score": [0.9, 0.7], "city": ["Rome", "Oslo"]}).ids
        ['a1', 'b2']
        """
        owner, columns = "Candidates.from_table", dict(named_columns(table, "Candidates.from_table"))
        if score is None:
            scores: Any = np.arange(max(map(len, columns.values()), default=0), 0, -1.0)
        else:
            scores = _column(columns, score, "score", owner, "name another with score=, or use None for their order")
        if id is None or id == "id":
            ids = _usual_ids({} if id is None else columns, table)
        else:
            ids = _column(columns, id, "", owner, "name another with id=")
        vectors = None if vector is None else _column(columns, vector, "", owner, "name another with vector=")
        result: Candidates[Any] = Candidates(scores, ids, columns, vectors)
        result.source = TableRows(table, result.columns)
        result.has_ids = ids is not None
        return result

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        parts = [*self.columns, *(["vectors"] if self.vectors is not None else [])]
        return f"Candidates({len(self)}: {', '.join(parts)})"


def _fields_of(record: Any) -> Mapping[str, Any]:
    fields = as_mapping(record)
    if fields is None:
        kinds = "dictionaries, dataclasses, pydantic objects or named tuples"
        is_row = isinstance(record, tuple) and len(record) == 2 and hasattr(record[1], "to_dict")  # of df.iterrows()
        remedy = "; pass the table itself" if is_row else ""
        raise InputError(f"Candidates.from_records needs {kinds}, got {type(record).__name__}: {record!r:.60}{remedy}")
    return fields


def _descending(ids: Any, columns: Any, vectors: Any) -> Floats:
    """Return scores that fall with the position, as many as there are ids, values or vectors."""
    first = next(iter(dict(named_columns(columns, "Candidates")).values()), None)
    part = next((part for part in (ids, vectors, first) if part is not None), None)
    if part is None:
        raise InputError("Candidates needs scores, ids, columns or vectors, got none of them")
    return np.arange(len(part), 0, -1.0)


def _require_all(values: list[Any], option: str, name: str | None, instead: str) -> None:
    """Raise if a record has no value."""
    at = next((at for at, value in enumerate(values) if value is None), None)
    if at is not None:
        rule = f"in every record, got none at position {at}: name another with {option}=, or use None for {instead}"
        raise InputError(f"Candidates.from_records needs {name!r} {rule}")


def _column(columns: Mapping[str, Any], name: str, usual: str, owner: str, remedy: str) -> Any:
    """Return a column of a table; a usual name may begin with an underscore."""
    for own in (name, f"_{name}") if name == usual else (name,):
        if own in columns:
            return columns[own]
    raise InputError(f"{owner} needs column {name!r}, got columns: {', '.join(map(str, columns)) or 'none'}; {remedy}")


def _usual_ids(columns: Mapping[str, Any], *indexed: Any) -> Any:
    """Return the column `id` or `_id`, else the unique index of a pandas table or column; None if there is neither."""
    for name in ("id", "_id"):
        if name in columns:
            ids = as_ids(columns[name], len(columns[name]), "Candidates")
            at = next((at for at, id_ in enumerate(ids) if is_missing(id_)), None)
            if at is not None:
                raise InputError(f"Candidates.ids must not be missing, got none in column {name!r} at position {at}")
            return ids
    return next((part.index for part in indexed if hasattr(part, "iloc") and part.index.is_unique), None)


def is_table(value: Any) -> bool:
    """Return whether a value is a table of some library, or a dictionary of columns with a score."""
    if isinstance(value, Mapping):
        scores = value.get("score", value.get("_score"))
        return hasattr(scores, "__len__") and not isinstance(scores, (str, bytes, Mapping))
    return any(hasattr(type(value), name) for name in ("columns", "column_names"))


class Batch:
    """The candidates of Q queries as Q x N arrays or nested lists: scores, columns, and vectors Q x N x D.

    Arrays are not copied: do not change them while rankings of them are in use.

    >>> Batch(scores=[[0.9, 0.4], [0.8, 0.7]], columns={"hour": [[9, 17], [3, 4]]})
    Batch(2 x 2: hour)
    """

    __slots__ = ("columns", "scores", "vectors")

    def __init__(self, scores: ArrayLike, columns: TableLike = None, vectors: VectorsLike = None) -> None:
        self.scores: Floats = finite_scores(scores, 2)
        if not self.scores.size:
            raise InputError("Batch.scores must hold at least one candidate, got none")
        shape = (self.scores.shape[0], self.scores.shape[1])
        self.columns: dict[str, NDArray[Any]] = as_columns(columns, shape, "Batch")
        self.vectors: Floats | None = as_vectors(vectors, shape, "Batch")

    def __len__(self) -> int:
        return len(self.scores)

    def queries(self) -> list[Candidates[int]]:
        """Return the candidates of each query."""
        queries, size = [], self.scores.shape[1]
        for q, scores in enumerate(self.scores):
            rows = slice(q * size, (q + 1) * size)
            columns = {name: column[rows] for name, column in self.columns.items()}
            queries.append(
                Candidates(scores, columns=columns, vectors=None if self.vectors is None else self.vectors[rows])
            )
        return queries

    def __repr__(self) -> str:
        return f"Batch({self.scores.shape[0]} x {self.scores.shape[1]}: {', '.join(self.columns)})"


def as_ids(ids: Any, count: int, owner: str, like: str = "candidates") -> list[Hashable]:
    """Return the ids of a list or column, checked: hashable, one for each candidate."""
    if isinstance(ids, (set, frozenset)):
        raise InputError(f"{owner}.ids must be in the order of the {like}, got a {type(ids).__name__}, which has none")
    plain = ids.tolist() if hasattr(ids, "tolist") else ids.to_pylist() if hasattr(ids, "to_pylist") else ids
    names: list[Hashable] = list(plain)
    if len(names) != count:
        raise InputError(f"{owner}.ids must have {count} entries like the {like}, got {len(names)}")
    hashed(names, f"{owner}.ids must be hashable")
    return names


def repeated_rows(ids: Sequence[Hashable], scores: Floats) -> Bools | None:
    """Return which rows have the id of a better row: of one with a higher score, or of an earlier one. None: no row."""
    if len(set(ids)) == len(ids):
        return None
    best: dict[Hashable, int] = {}
    for row in np.argsort(-scores, kind="stable").tolist():
        best.setdefault(ids[row], row)
    repeated = np.ones(len(ids), np.bool_)
    repeated[list(best.values())] = False
    return repeated


def check_types(ids: Sequence[Hashable], rule: str) -> None:
    """Raise if two ids differ only in their type, as 5 and "5" do."""
    id_of: dict[str, Hashable] = {}
    for id_ in ids if len(set(map(type, ids))) > 1 else ():
        other = id_of.setdefault(str(id_), id_)
        if other != id_:
            raise InputError(f"{rule}, got {id_!r}, which differs from the id {other!r} in its type")


def finite_scores(scores: ArrayLike, dimensions: int) -> Floats:
    """Return scores as float64, checked: finite, with this many dimensions. The scores of one query are copied."""
    if dimensions == 1 and isinstance(scores, list) and scores and type(scores[0]) is float:  # the usual case
        try:
            floats = np.frombuffer(bytearray(struct.pack(f"{len(scores)}d", *scores)))  # faster than np.array
            if math.isfinite(np.vdot(floats, floats)):
                return floats
        except (struct.error, OverflowError):
            pass  # a value that is no number is named below
    values = scores if isinstance(scores, np.ndarray) else on_host(scores)
    if not isinstance(values, (np.ndarray, list)) and (hasattr(values, "to_numpy") or hasattr(values, "to_pylist")):
        values = as_array(values)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        at = int(np.flatnonzero(np.ma.getmaskarray(values))[0])
        raise InputError(f"scores must not be masked, got a masked value at position {at}")
    if isinstance(values, np.ndarray) and values.dtype.kind in "cMm":
        raise InputError(f"scores must be numbers, got {values.dtype}")
    try:
        array = np.array(values, np.float64) if dimensions == 1 else np.asarray(values, np.float64)
    except OverflowError:
        raise InputError("scores must be below 1.8e308, got a larger integer") from None
    except (TypeError, ValueError):
        sizes = {len(row) for row in values if isinstance(row, Sized)} if isinstance(values, (list, tuple)) else set()
        if dimensions == 2 and len(sizes) > 1:
            raise InputError(f"scores must have the same number of values in each query, got {_or(sizes)}") from None
        raise InputError(f"scores must be numbers, got {scores!r:.80}") from None
    if array.ndim != dimensions:
        raise InputError(f"scores must have {dimensions} dimension(s), got {array.ndim}")
    # The product is faster for few scores; for many, BLAS would start threads and wait for them.
    if not (array.size < 4096 and math.isfinite(np.vdot(array, array))) and not np.isfinite(array).all():
        bad = ~np.isfinite(array)
        raise InputError(f"scores must be finite, got {array[bad][0]} at position {int(np.flatnonzero(bad)[0])}")
    return array


def scaled(scores: Floats, robust: bool = False) -> Floats:
    """Return scores scaled to 0..1 over the candidates, which is the relevance of rankings."""
    return normalized(scores, robust) if len(scores) else scores


def on_host(values: Any) -> Any:
    """Return a tensor, or a list of tensors, as numpy arrays in main memory; other values unchanged."""
    if hasattr(values, "detach"):
        tensor = values.detach().cpu()
        return (tensor.double() if tensor.is_floating_point() else tensor).numpy()
    if isinstance(values, (list, tuple)) and values and hasattr(values[0], "detach"):
        return [on_host(part) for part in values]
    return values


def as_columns(columns: Any, shape: tuple[int, ...], owner: str, like: str = "scores") -> dict[str, NDArray[Any]]:
    """Return columns as arrays of N values, or of Q * N for a batch; a value may itself be a list."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, values in named_columns(columns, owner):
        if type(values) is np.ndarray and values.shape == shape and len(shape) == 1:  # the usual case
            arrays[name] = values
            continue
        rule = f"{owner}.columns[{name!r}] must have {_by(shape)} values like {like}"
        column = _sequence(values, f"{owner}.columns[{name!r}]")
        arrays[name] = as_array(column if len(shape) == 1 else _flat(column, shape, rule))
        if arrays[name].shape[:1] != (math.prod(shape),):
            raise InputError(f"{rule}, got {_by(arrays[name].shape)}")
    return arrays


def as_corpus(columns: Any, vectors: Any, owner: str) -> tuple[Table, int]:
    """Return the columns and vectors (float32) of a corpus, and the number of its rows, which the first column sets."""
    pairs = named_columns(columns, owner)
    arrays = {name: as_array(_sequence(values, f"{owner}.columns[{name!r}]")) for name, values in pairs}
    matrix = None if vectors is None else vectors_of(_sequence(vectors, f"{owner}.vectors"), f"{owner}.vectors")
    first = next(iter(arrays.values()), matrix)
    if first is None:
        raise InputError(f"{owner}.fit needs columns or vectors, got neither")
    count = len(first) if first.ndim else 0
    if not count:
        raise InputError(f"{owner}.fit needs at least one row, got none")
    like = repr(next(iter(arrays))) if arrays else "its rows"
    if matrix is not None:
        matrix = _checked_vectors(matrix, count, f"{owner}.vectors must be {count} x D like {like}")
    single = None if matrix is None else matrix.astype(np.float32)
    return Table(as_columns(arrays, (count,), owner, like), single), count


def as_vectors(vectors: Any, shape: tuple[int, ...], owner: str) -> Floats | None:
    """Return vectors as an array of N x D numbers, or of Q * N x D for a batch."""
    if vectors is None:
        return None
    rule = f"{owner}.vectors must be {_by(shape)} x D like scores"
    values = _sequence(vectors, f"{owner}.vectors")
    array = vectors_of(values if len(shape) == 1 else _flat(values, shape, rule), f"{owner}.vectors")
    return _checked_vectors(array, math.prod(shape), rule)


def _checked_vectors(array: Floats, count: int, rule: str) -> Floats:
    if array.ndim != 2 or len(array) != count:
        raise InputError(f"{rule}, got {_by(array.shape)}")
    return array


def _sequence(values: Any, owner: str) -> Any:
    """Return a list or an array in main memory; raise for other values."""
    values = on_host(values)
    if hasattr(values, "tocsr"):
        raise InputError(f"{owner} must be dense, got {type(values).__name__} of SciPy: call toarray()")
    if isinstance(values, (set, frozenset)):
        raise InputError(f"{owner} must be in the order of the rows, got a {type(values).__name__}, which has none")
    if not any(hasattr(values, name) for name in ("__iter__", "__array__", "to_numpy", "to_pylist")):
        raise InputError(f"{owner} must be a list or an array of values, got {values!r:.80}")
    return values


def named_columns(columns: Any, owner: str) -> Iterable[tuple[str, Any]]:
    """Return names and columns of a dictionary, or of a pandas, Arrow, Polars or Hugging Face table."""
    if columns is None:
        return ()
    if hasattr(columns, "collect_schema") and hasattr(columns, "collect"):
        raise InputError(f"{owner} needs rows, got a {type(columns).__name__}: call collect() first")
    if hasattr(columns, "column_names") and hasattr(columns, "features"):  # Hugging Face datasets
        return [(name, columns[name]) for name in columns.column_names]
    if hasattr(columns, "items"):
        return columns.items()
    if hasattr(columns, "column_names"):
        return zip(columns.column_names, columns.columns, strict=True)
    if hasattr(columns, "get_columns"):
        return [(column.name, column) for column in columns.get_columns()]
    raise InputError(f"{owner}.columns must be a dictionary or a table, got {type(columns).__name__}")


def _flat(values: Any, shape: tuple[int, ...], rule: str) -> Any:
    """Return Q x N values flattened to an array or list of Q * N values; `rule` begins the message on other shapes."""
    if not isinstance(values, (list, tuple)):
        array = as_array(values)
        if array.ndim > 1:
            if array.shape[:2] != shape:
                raise InputError(f"{rule}, got {_by(array.shape)}")
            return array.reshape(-1, *array.shape[2:])
        values = array
    rows: list[Any] = [row if isinstance(row, (list, tuple)) else _row(row) for row in values]
    if any(row is None for row in rows):
        raise InputError(f"{rule}, got {len(rows)}")
    sizes = {len(row) for row in rows}
    if len(rows) != shape[0] or sizes != {shape[1]}:
        raise InputError(f"{rule}, got {len(rows)} x {_or(sizes)}")
    arrays = [row for row in rows if isinstance(row, np.ndarray)]
    if len(arrays) == len(rows) and len({(row.dtype, row.shape) for row in arrays}) == 1:
        return np.concatenate(arrays)
    return [value for row in rows for value in row]


def _row(values: Any) -> NDArray[Any] | None:
    """Return the values of one query as an array; None for a single value."""
    return as_array(values) if hasattr(values, "__len__") and not isinstance(values, (str, bytes)) else None


def _or(sizes: Iterable[int]) -> str:
    return " or ".join(map(str, sorted(sizes)))


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
