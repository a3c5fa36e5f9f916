"""Converters for arrays, tables and rows: Chroma, FAISS, LanceDB, databases. `convert` describes their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mascot.candidates import Candidates, RecordColumns
from mascot.connect.converters import hit_lists
from mascot.connect.converters.hit_lists import as_vectors, candidates_of, reading, records_of
from mascot.connect.converters.response_readers import query_at
from mascot.errors import InputError


def from_chroma(response: Any, *, vectors: bool = False, query: int | None = None) -> Candidates[Any]:
    """Convert the dictionary that Chroma's `collection.query` returned; `vectors` reads `embeddings`.

    Chroma returns distances; scores are their negatives. Columns are the metadata keys and `document`. Records are
    dictionaries with `id`, `distance`, `document` and `metadata`.
    """
    ids: Any = response.get("ids") if isinstance(response, Mapping) else None
    if not hit_lists.is_list(ids) or not all(map(hit_lists.is_list, ids)):
        raise hit_lists.unreadable("from_chroma", "the dictionary that collection.query returned", response)
    at = query_at("from_chroma", len(ids), query)
    plurals = ("ids", "distances", "documents", "metadatas", "embeddings", "uris", "data")
    with reading("from_chroma", response):
        lists = {plural: response[plural] for plural in plurals if response.get(plural) is not None}
        parts = {plural.removesuffix("s"): list(values[at]) for plural, values in lists.items()}
        nothing = [None] * len(parts["id"])
        embeddings = as_vectors(parts.get("embedding", [])) if vectors else None
        fields, records = [dict(field or {}) for field in parts.get("metadata", nothing)], records_of(parts)
        columns, scores = hit_lists.HitColumns(fields, records), parts.get("distance", nothing)
        return candidates_of(records, columns, scores, parts["id"], embeddings, distances=True)


def from_faiss(
    scores: Any,
    labels: Any,
    rows: Sequence[Mapping[str, Any]] | Mapping[int, Mapping[str, Any]] | None = None,
    *,
    vectors: Any = None,
    distances: bool | None = None,
    query: int | None = None,
) -> Candidates[int]:
    """Convert the two arrays that `index.search` of FAISS returned, Q x N or N.

    Parameters
    ----------
    scores, labels, vectors
        The arrays, and the third array of `index.search_and_reconstruct` (default: None).
    rows
        The dictionaries of the indexed items, as a list in the order of the index or by label. Columns are their names,
        and `records()` returns them (default: None, wishes can only compare vectors).

    Ids are the labels. Places that FAISS could not fill (label -1) are omitted.
    """
    numbers, names = np.asarray(scores, np.float64), np.asarray(labels)
    if numbers.shape != names.shape or numbers.ndim not in (1, 2):
        raise InputError(f"from_faiss needs scores and labels of one shape, got {numbers.shape} and {names.shape}")
    matrix = None if vectors is None else np.asarray(vectors)
    if numbers.ndim == 2:
        at = query_at("from_faiss", len(numbers), query)
        numbers, names = numbers[at], names[at]
        matrix = matrix[at] if matrix is not None and matrix.ndim == 3 else matrix
    real = names >= 0
    ids = names[real].tolist()
    try:
        hits: list[Any] = [{} if rows is None else rows[label] for label in ids]
    except (KeyError, IndexError):
        raise InputError("from_faiss needs a row for each label of the index, got fewer") from None
    hit_vectors = None if matrix is None else matrix[real]
    result = candidates_of(hits, RecordColumns(hits), numbers[real].tolist(), ids, hit_vectors, distances)
    if rows is None:
        result.source = ids
    return result


def from_lance(result: Any, *, id: str = "id", vector: str | None = None) -> Candidates[Any]:
    """Convert the result of `to_arrow`, `to_list`, `to_pandas` or `to_polars` of a LanceDB search.

    The score is `_relevance_score` of a hybrid search, `_score` of a full-text search, otherwise the negated
    `_distance`. `id` is the column of ids (default: "id", or "_id" if there is none); without it ids are
    positions. Records of a table are dictionaries, made on demand.
    """
    hits, columns = hit_lists.rows_of(result, None, "from_lance")
    kinds = (columns.cells("_relevance_score"), columns.cells("_score"), hit_lists.negated(columns.cells("_distance")))
    scores = next((kind for kind in kinds if any(score is not None for score in kind)), kinds[-1])
    return candidates_of(hits, columns, scores, columns.usual_cells(id, "id", "from_lance"), vector)


def from_rows(
    rows: Any,
    names: Sequence[str] | None = None,
    *,
    score: str | None = "score",
    id: str | None = "id",
    vector: str | None = None,
    distances: bool = False,
) -> Candidates[Any]:
    """Convert the rows of a database: DB-API, SQLAlchemy, DuckDB, or a table.

    Parameters
    ----------
    rows
        A cursor or result, which is fetched; its rows as tuples, named tuples, dictionaries, `sqlite3.Row` or rows of
        SQLAlchemy; or an Arrow, pandas or Polars table.
    names
        Names of the columns, which plain tuples need (default: None, those of the rows or the cursor).
    score, id
        Columns of scores and ids (default: "score", and "id", or "_id" if there is none). None means the order of the
        rows, and their positions.
    vector
        Column of vectors, or of their text (default: None).
    distances
        Whether scores are distances, such as those of pgvector, which are negated (default: False).

    Examples
    --------
    >>> candidates = from_rows([(7, 0.2, "acme")], ["id", "distance", "seller"], score="distance", distances=True)
    >>> candidates.ids, candidates.scores.tolist()
    ([7], [-0.2])
    """
    hits, columns = hit_lists.rows_of(rows, names, "from_rows")
    nothing = [None] * len(hits)
    scores = nothing if score is None else columns.usual_cells(score, "", "from_rows")
    ids = nothing if id is None else columns.usual_cells(id, "id", "from_rows")
    return candidates_of(hits, columns, scores, ids, vector, distances)
