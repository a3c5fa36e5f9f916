"""Converters: what a search returned becomes `Candidates`, whose rankings return the same hits in a new order.

    candidates = from_elasticsearch(client.search(index="products", query=...))
    hits = mascot.rerank(candidates, mascot.spread("seller"), k=10).records()

No converter needs a package of its own or opens a connection, so that clients, pools, asynchronous calls and hybrid
searches work as they are. Columns are read when a wish asks for them: a name is looked up in the fields of a hit, then
in the hit itself, and ``geo.lat`` is the ``lat`` of a dictionary ``geo``. A column that no hit has counts as missing,
with one warning.

Where hits have no scores, their order is the relevance. Where only a part has, the others get the lowest score.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.candidates import Candidates, RecordColumns, as_ids, scaled
from mascot.connect.documents import as_scores, as_vectors
from mascot.connect.nested import stem_of
from mascot.errors import InputError, check_whole, require

Fields = Sequence[Mapping[str, Any]]
Floats = NDArray[np.float64]


class HitColumns(RecordColumns):
    """Columns of hits: a name is looked up in the fields of each hit, then in the hit itself."""

    def __init__(self, fields: Fields, hits: Sequence[Any], unwrap: bool = False) -> None:
        super().__init__(fields)
        self._hits, self._unwrap = hits, unwrap

    def cells(self, name: str) -> list[Any]:
        values = super().cells(name)
        if self._hits is not self._records and all(value is None for value in values):
            values = [self.value(hit, name) for hit in self._hits]
        if self._unwrap:  # engines that return every field as a list
            values = [value[0] if isinstance(value, list) and len(value) == 1 else value for value in values]
        return values


class RowColumns(RecordColumns):
    """Columns of rows that are tuples."""

    def __init__(self, rows: Sequence[Sequence[Any]], names: Sequence[str]) -> None:
        super().__init__(rows)
        self._names = list(names)

    def cells(self, name: str) -> list[Any]:
        stem = stem_of(name, self._names)
        if stem not in self._names:
            return [None] * len(self._records)
        at = self._names.index(stem)
        cells = [row[at] for row in self._records]
        return cells if stem == name else [self.value(cell, name[len(stem) + 1 :]) for cell in cells]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


class TableColumns(RecordColumns):
    """Columns of an Arrow, pandas or Polars table."""

    def __init__(self, table: Any) -> None:
        super().__init__(range(len(table)))
        self._table = table
        self._names = [str(name) for name in getattr(table, "column_names", table.columns)]

    def cells(self, name: str) -> list[Any]:
        stem = stem_of(name, self._names)
        if stem not in self._names:
            return [None] * len(self._records)
        column = self._table[stem]
        cells: list[Any] = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
        return cells if stem == name else [self.value(cell, name[len(stem) + 1 :]) for cell in cells]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


class TableRows(Sequence[dict[str, Any]]):
    """Rows of an Arrow, pandas or Polars table as dictionaries, made when they are asked for."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[position] for position in range(*at.indices(len(self)))]
        table, at = self._table, range(len(self))[at]
        if hasattr(table, "to_pylist"):
            return table.slice(at, 1).to_pylist()[0]
        return table.iloc[at].to_dict() if hasattr(table, "iloc") else table.row(at, named=True)


class ColumnHits(Sequence[dict[str, Any]]):
    """Hits as dictionaries, made when they are asked for, of a response that has a list for each name."""

    def __init__(self, parts: Mapping[str, Sequence[Any]]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts["id"])

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[position] for position in range(*at.indices(len(self)))]
        return {name: part[at] for name, part in self._parts.items()}


class MergedColumns(RecordColumns):
    """Columns of several sources, one after the other; a source without a column has missing values."""

    def __init__(self, parts: Sequence[Candidates[Any]], order: Sequence[int], names: Sequence[str] | None) -> None:
        super().__init__(order)
        self._parts, self._source_names = parts, names

    def cells(self, name: str) -> list[Any]:
        cells: list[Any] = []
        for at, part in enumerate(self._parts):
            if name == "source" and self._source_names is not None:
                cells += [self._source_names[at]] * len(part)
            elif isinstance(part.columns, RecordColumns):
                cells += part.columns.cells(name)
            else:
                cells += list(part.columns[name]) if name in part.columns else [None] * len(part)
        return [cells[position] for position in self._records]

    def __iter__(self) -> Iterator[str]:
        names = [name for part in self._parts for name in part.columns]
        return iter(dict.fromkeys([*names, *([] if self._source_names is None else ["source"])]))


def from_elasticsearch(response: Any, *, vector: str | None = None) -> Candidates[Any]:
    """Return candidates of a search response of Elasticsearch or OpenSearch.

    Parameters
    ----------
    response
        The response of a client, its JSON, or the list of its hits.
    vector
        Name of the vector field in `_source` (default: None, vectors are not read).

    Ids are `_id`, scores `_score`; a search that sorts by a field has none, and its order counts. Columns are the names
    in `_source` and `fields`.

    Examples
    --------
    >>> hit = {"_id": "a1", "_score": 1.3, "_source": {"seller": "acme"}}
    >>> from_elasticsearch({"hits": {"hits": [hit]}}).columns["seller"].tolist()
    ['acme']
    """
    hits = _hits(response, "hits", "from_elasticsearch", ("body", "hits", "hits"))
    fields = [_elastic_fields(hit) for hit in hits]
    scores, ids = [hit.get("_score") for hit in hits], [hit.get("_id") for hit in hits]
    return _candidates(hits, HitColumns(fields, hits), scores, ids, _vector_column(fields, vector))


def from_qdrant(response: Any, *, vector: str | None = None, distances: bool | None = None) -> Candidates[Any]:
    """Return candidates of a search response of Qdrant.

    Parameters
    ----------
    response
        What `query_points` returned, its list of points, or the JSON of a server.
    vector
        Name of the vector, "" for the one without a name (default: None, vectors are not read).
    distances
        Whether scores are distances, which are negated (default: None, they are where they ascend: Qdrant returns the
        best first, and collections that measure Euclid or Manhattan return distances).

    Columns are the names in the payload.
    """
    hits = _hits(response, "points", "from_qdrant", ("result", "points"))
    fields = [payload or {} for payload in _each(hits, "payload")]
    vectors = None if vector is None else _vectors_named(vector, _each(hits, "vector"))
    columns = HitColumns(fields, hits)
    return _candidates(hits, columns, _each(hits, "score"), _each(hits, "id"), vectors, distances)


def from_milvus(
    response: Any, *, vector: str | None = None, distances: bool | None = None, query: int = 0
) -> Candidates[Any]:
    """Return candidates of a search response of Milvus.

    Parameters
    ----------
    response
        What `search` or `hybrid_search` returned, the hits of one query, or the JSON of a server.
    vector
        Name of the vector field (default: None, vectors are not read).
    distances
        Whether scores are distances, which are negated (default: None, they are where they ascend: Milvus returns the
        best first, and calls similarities `distance` too).
    query
        Which query of a response to several (default: 0, the first).

    Columns are the names in the entity. Ids are the primary key.
    """
    queries = _hits(response, "hits of each query", "from_milvus", ("data",))
    hits = _query_of(queries, query, "from_milvus") if queries and _is_list(queries[0]) else queries
    if hits and not isinstance(hits[0], dict):
        raise _unreadable("from_milvus", "hits that are dictionaries", hits[0])
    get = dict.get  # a hit of Milvus has a slower `get` of its own
    fields = [get(hit, "entity") or hit for hit in hits]
    scores, ids = [get(hit, "distance") for hit in hits], [_milvus_id(hit) for hit in hits]
    return _candidates(hits, HitColumns(fields, hits), scores, ids, _vector_column(fields, vector), distances)


def from_weaviate(response: Any, *, vector: str | None = None) -> Candidates[Any]:
    """Return candidates of a search response of Weaviate.

    Parameters
    ----------
    response
        What a query of the Python client returned, its list of objects, or the JSON of a GraphQL `Get`.
    vector
        Name of the vector; "default" is the one without a name (default: None, vectors are not read).

    The score is the first of rerank score, score and certainty that the query asked for, else the distance, negated:
    ask for one with ``return_metadata=MetadataQuery(score=True)``. Columns are the properties.
    """
    classes = _at(response, ("data", "Get"))
    if isinstance(classes, Mapping) and len(classes) == 1:
        response = next(iter(classes.values()))
    hits = _hits(response, "objects", "from_weaviate", ())
    graphql = bool(hits) and isinstance(hits[0], Mapping)
    details = [detail or {} for detail in _each(hits, "_additional" if graphql else "metadata")]
    kinds = ("rerank_score", "score", "certainty")
    scores = _first_scores(*(_each(details, kind) for kind in kinds)) or _negated(_each(details, "distance"))
    fields = hits if graphql else [hit.properties for hit in hits]
    ids = _each(details, "id") if graphql else _each(hits, "uuid")
    vectors = None if vector is None else _vectors_named(vector, _each(details if graphql else hits, "vector"))
    return _candidates(hits, HitColumns(fields, hits), scores, ids, vectors)


def from_chroma(response: Any, *, vectors: bool = False, query: int = 0) -> Candidates[Any]:
    """Return candidates of what `collection.query` of Chroma returned.

    Parameters
    ----------
    response
        The result: a dictionary with a list for each query under `ids`, `distances`, `metadatas` and so on.
    vectors
        Whether to read `embeddings` (default: False).
    query
        Which query of a result of several (default: 0, the first).

    Chroma returns distances; scores are their negatives. Columns are the metadata keys, and `document`. Chroma has no
    object for a hit: records are dictionaries with `id`, `distance`, `document` and `metadata`.
    """
    if not isinstance(response, Mapping) or not _is_list(response.get("ids")):
        raise _unreadable("from_chroma", "the dictionary that collection.query returned", response)
    parts = {
        name: _query_of(response[plural], query, "from_chroma")
        for plural, name in _CHROMA.items()
        if response.get(plural) is not None
    }
    hits, ids = ColumnHits(parts), parts["id"]
    fields = [metadata or {} for metadata in parts.get("metadata", [None] * len(ids))]
    embeddings = as_vectors(parts.get("embedding", [])) if vectors else None
    scores = parts.get("distance", [None] * len(ids))
    return _candidates(hits, HitColumns(fields, hits), scores, ids, embeddings, distances=True)


def from_faiss(
    scores: Any,
    labels: Any,
    rows: Sequence[Mapping[str, Any]] | Mapping[int, Mapping[str, Any]] | None = None,
    *,
    vectors: Any = None,
    distances: bool | None = None,
    query: int = 0,
) -> Candidates[int]:
    """Return candidates of the two arrays that `index.search` of FAISS returned.

    Parameters
    ----------
    scores, labels
        The arrays, Q x N or N.
    rows
        What the labels stand for: a list of dictionaries in the order of the index, or a dictionary by label. Columns
        are their names, and `records()` returns them (default: None, wishes can only compare vectors).
    vectors
        The third array, of `index.search_and_reconstruct` (default: None).
    distances
        Whether scores are distances, which are negated (default: None, they are where they ascend: FAISS returns the
        best first).
    query
        Which query of several (default: 0, the first).

    Ids are the labels. Places that FAISS could not fill (label -1) are left out.
    """
    check_whole("from_faiss query", query, 0)
    numbers, names = np.asarray(scores, np.float64), np.asarray(labels)
    if numbers.shape != names.shape or numbers.ndim not in (1, 2):
        raise InputError(f"from_faiss needs scores and labels of one shape, got {numbers.shape} and {names.shape}")
    hit_vectors = None if vectors is None else np.asarray(vectors)
    if numbers.ndim == 2:
        require(query < len(numbers), "from_faiss query", f"must be below {len(numbers)}, the queries searched", query)
        numbers, names = numbers[query], names[query]
        hit_vectors = hit_vectors[query] if hit_vectors is not None and hit_vectors.ndim == 3 else hit_vectors
    real = names >= 0
    ids = names[real].tolist()
    try:
        hits: list[Any] = [{} if rows is None else rows[label] for label in ids]
    except (KeyError, IndexError):
        raise InputError("from_faiss needs a row for each label of the index, got fewer") from None
    columns = HitColumns(hits, hits)
    result = _candidates(hits, columns, numbers[real].tolist(), ids, None if hit_vectors is None else hit_vectors[real],
                         distances)  # fmt: skip
    if rows is None:
        result.source = ids
    return result


def from_lance(result: Any, *, id: str = "id", vector: str | None = None) -> Candidates[Any]:
    """Return candidates of a search result of LanceDB.

    Parameters
    ----------
    result
        What `to_arrow`, `to_list`, `to_pandas` or `to_polars` of a search returned.
    id
        Column of ids (default: "id"); positions where there is none.
    vector
        Column of vectors (default: None, vectors are not read).

    The score is `_relevance_score` of a hybrid search, `_score` of a full-text search, else `_distance`, negated.
    Records of a table are dictionaries, made when they are asked for.
    """
    if _is_table(result):
        columns: RecordColumns = TableColumns(result)
        hits: Sequence[Any] = TableRows(result)
    else:
        hits = _hits(result, "rows", "from_lance", ())
        columns = RecordColumns(hits)
    scores = _first_scores(columns.cells("_relevance_score"), columns.cells("_score"))
    scores = scores or _negated(columns.cells("_distance"))
    vectors = None if vector is None else as_vectors([_numbers(cell) for cell in columns.cells(vector)])
    return _candidates(hits, columns, scores, columns.cells(id), vectors)


def from_rows(
    rows: Any,
    names: Sequence[str] | None = None,
    *,
    score: str | None = "score",
    id: str | None = "id",
    vector: str | None = None,
    distances: bool = False,
) -> Candidates[Any]:
    """Return candidates of the rows of a database: DB-API, SQLAlchemy, DuckDB, or a table.

    Parameters
    ----------
    rows
        A cursor or result, which is fetched; or its rows: tuples, named tuples, dictionaries, `sqlite3.Row`, rows of
        SQLAlchemy; or an Arrow, pandas or Polars table.
    names
        Names of the columns (default: None, the rows or the cursor know them; plain tuples do not).
    score
        Column of scores (default: "score"); None where the order is all there is.
    id
        Column of ids (default: "id"); positions where there is none.
    vector
        Column of vectors, or of their text (default: None, vectors are not read).
    distances
        Whether scores are distances, as of pgvector's operators: they are negated (default: False).

    Examples
    --------
    >>> candidates = from_rows([(7, 0.2, "acme")], ["id", "distance", "seller"], score="distance", distances=True)
    >>> candidates.ids, candidates.scores.tolist()
    ([7], [-0.2])
    """
    hits, columns = _rows_of(rows, names)
    scores: Sequence[Any] = [None] * len(hits)
    if score is not None:
        scores = columns.cells(score)
        if hits and all(value is None for value in scores):
            raise InputError(f"from_rows needs a column of scores, got none named {score!r} in: {', '.join(columns)}")
    ids = [None] * len(hits) if id is None else columns.cells(id)
    vectors = None if vector is None else as_vectors([_numbers(cell) for cell in columns.cells(vector)])
    return _candidates(hits, columns, scores, ids, vectors, distances)


def from_typesense(response: Any, *, vector: str | None = None) -> Candidates[Any]:
    """Return candidates of a search response of Typesense.

    Parameters
    ----------
    response
        The response, one result of a `multi_search`, or a list of hits. Grouped hits are taken group by group.
    vector
        Name of the vector field (default: None, vectors are not read).

    The score is `rank_fusion_score` of a hybrid search, else `vector_distance`, negated, else `text_match`. Columns are
    the names in the document.
    """
    results = _at(response, ("results",))
    if isinstance(results, list) and len(results) == 1:
        response = results[0]
    groups = _at(response, ("grouped_hits",))
    if isinstance(groups, list):
        response = [hit for group in groups for hit in group["hits"]]
    hits = _hits(response, "hits", "from_typesense", ())
    fields = [hit.get("document") or {} for hit in hits]
    fused = _each([hit.get("hybrid_search_info") or {} for hit in hits], "rank_fusion_score")
    scores, distances = _first_scores(fused), _each(hits, "vector_distance")
    if scores is None and _first_scores(distances) is not None:
        scores = _negated(distances)
    scores = scores or _each(hits, "text_match")
    ids = [field.get("id") for field in fields]
    return _candidates(hits, HitColumns(fields, hits), scores, ids, _vector_column(fields, vector))


def from_vespa(response: Any, *, vector: str | None = None) -> Candidates[Any]:
    """Return candidates of a query response of Vespa.

    Parameters
    ----------
    response
        The response of pyvespa, its JSON, or the list of its hits.
    vector
        Name of the tensor field (default: None, vectors are not read).

    The score is `relevance`. Ids are those of the hits, such as ``id:shop:product::a1``. Columns are the fields.
    """
    hits = _hits(response, "hits", "from_vespa", ("root", "children"), empty=("root",))
    hits = [hit for hit in hits if not str(hit.get("id", "")).startswith("group:")]
    fields = [hit.get("fields") or {} for hit in hits]
    vectors = None
    if vector is not None:
        tensors = [field.get(vector) for field in fields]
        vectors = as_vectors([tensor.get("values") if isinstance(tensor, Mapping) else tensor for tensor in tensors])
    scores, ids = [hit.get("relevance") for hit in hits], [hit.get("id") for hit in hits]
    return _candidates(hits, HitColumns(fields, hits), scores, ids, vectors)


def from_solr(response: Any, *, id: str = "id", vector: str | None = None) -> Candidates[Any]:
    """Return candidates of a select response of Solr.

    Parameters
    ----------
    response
        The JSON, the results of pysolr, or the list of documents.
    id
        Name of the unique key (default: "id").
    vector
        Name of the vector field (default: None, vectors are not read).

    The score is `score`, which the request names in ``fl=*,score``; without it the order counts. A list of one value is
    that value: fields of a schemaless core are lists.
    """
    hits = _hits(response, "docs", "from_solr", ("response", "docs"))
    columns = HitColumns(hits, hits, unwrap=True)
    scores, ids = [hit.get("score") for hit in hits], [hit.get(id) for hit in hits]
    return _candidates(hits, columns, scores, ids, _vector_column(hits, vector))


def from_algolia(response: Any) -> Candidates[Any]:
    """Return candidates of a search response of Algolia, or of one result of several.

    Algolia ranks by rules and returns no score: the order is the relevance. Ids are `objectID`. Columns are the
    attributes, such as ``_geoloc.lat``.
    """
    results = _of(response, "results")
    if isinstance(results, list) and len(results) == 1:
        response = results[0]
    hits = _hits(response, "hits", "from_algolia", ())
    fields, ids = hits, _each(hits, "objectID")
    if hits and not isinstance(hits[0], Mapping):  # models of the client, which keep attributes beside their own fields
        fields = [getattr(hit, "model_extra", None) or vars(hit) for hit in hits]
        ids = _each(hits, "object_id")
    return _candidates(hits, HitColumns(fields, hits), [None] * len(hits), ids)


def merge(
    *candidates: Candidates[Any], names: Sequence[str] | None = None, rescale: bool = True, best: int | None = None
) -> Candidates[Any]:
    """Return the candidates of several sources as those of one, best first.

    Parameters
    ----------
    candidates
        What each source returned.
    names
        A name for each source (default: None). Ids become (name, id), and a column `source` holds the name. Needed
        where the same id means different things in two sources, or where ids are positions.
    rescale
        Whether the scores of each source are rescaled to 0..1, its best to 1 and its last to 0; far outliers count as
        the outermost of the others (default: True). False for shards of one index, whose scores are comparable.
    best
        How many to return at most (default: None, all).

    Of a result that several sources return, by its id, the one with the highest score stays. A column that a source
    does not have is missing there. Vectors are kept where those of all sources have one length.

    Examples
    --------
    >>> text = Candidates([12.0, 3.0], ["a", "b"])
    >>> image = Candidates([0.31, 0.30], ["b", "c"])
    >>> merge(text, image).ids
    ['a', 'b', 'c']
    """
    for part in candidates:
        if not isinstance(part, Candidates):
            raise InputError(f"merge needs Candidates, got {type(part).__name__}")
    if best is not None:
        check_whole("merge best", best, 1)
    if names is not None:
        valid = not isinstance(names, str) and len(names) == len(set(names)) == len(candidates)
        require(valid, "merge names", f"must be {len(candidates)} different names, one for each source", names)
    rescaled = [scaled(part.scores, robust=True) if rescale else part.scores for part in candidates]
    scores = np.concatenate([np.zeros(0), *rescaled])
    ids: list[Hashable] = []
    for at, part in enumerate(candidates):
        ids += part.ids if names is None else [(names[at], id_) for id_ in part.ids]
    places: dict[Hashable, int] = {}
    for at in np.argsort(-scores, kind="stable").tolist():
        places.setdefault(ids[at], at)
    order = list(places.values())[:best]
    result: Candidates[Any] = Candidates(scores[order], [ids[at] for at in order])
    result.columns = MergedColumns(candidates, order, names)
    if all(part.source is not None for part in candidates):
        offsets = [(part, at) for part in candidates for at in range(len(part))]
        result.source = [(part.source or ())[at] for part, at in (offsets[position] for position in order)]
    widths = {part.vectors.shape[1] for part in candidates if part.vectors is not None}
    if len(widths) == 1:
        width = widths.pop()
        blocks = [np.full((len(part), width), np.nan) if part.vectors is None else part.vectors for part in candidates]
        result.vectors = np.concatenate(blocks)[order]
    return result


_CHROMA = {
    "ids": "id",
    "distances": "distance",
    "documents": "document",
    "metadatas": "metadata",
    "embeddings": "embedding",
    "uris": "uri",
    "data": "data",
}


def _candidates(
    hits: Sequence[Any], columns: RecordColumns, scores: Sequence[Any], ids: Sequence[Any],
    vectors: NDArray[Any] | None = None, distances: bool | None = False,
) -> Candidates[Any]:  # fmt: skip
    """Return candidates that keep the hits; None for `distances` decides by the order of the scores."""
    numbers = as_scores(scores, bool(distances))
    if distances is None and _ascend(numbers):
        numbers = as_scores(scores, distances=True)
    result: Candidates[Any] = Candidates(numbers)
    if not all(id_ is None for id_ in ids):
        result.ids = as_ids(ids, len(hits), "Candidates")
    result.columns, result.source, result.vectors = columns, hits, vectors
    return result


def _ascend(scores: Floats) -> bool:
    return len(scores) > 1 and bool(scores[0] < scores[-1]) and bool((np.diff(scores) >= 0).all())


def _hits(response: Any, noun: str, owner: str, path: tuple[str, ...], empty: tuple[str, ...] = ()) -> list[Any]:
    """Return the list of hits: the response itself, or the list at a path in it, whose first keys may be missing."""
    if _is_list(response):
        return list(response)
    for start in range(len(path)):
        inner = _at(response, path[start:])
        if _is_list(inner):
            return list(inner)
    for name in ("points", "objects", "hits", "docs", "result"):
        inner = _of(response, name)
        if _is_list(inner):
            return list(inner)
    if empty and isinstance(_at(response, empty), Mapping):  # Vespa leaves the list out where nothing matches
        return []
    raise _unreadable(owner, f"a response with a list of {noun}", response)


def _unreadable(owner: str, needed: str, response: Any) -> InputError:
    text = f"a dictionary of {', '.join(map(str, response))}" if isinstance(response, Mapping) else repr(response)
    return InputError(f"{owner} needs {needed}, got {text:.120}")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_table(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "shape") and not hasattr(value, "fetchall")


def _of(value: Any, name: str) -> Any:
    """Return the value of a dictionary's key or of an object's attribute, else None."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _at(value: Any, path: Iterable[str]) -> Any:
    for name in path:
        value = _of(value, name)
    return value


def _each(hits: Sequence[Any], name: str) -> list[Any]:
    """Return the value of a key of each dictionary, or of an attribute of each object."""
    if hits and isinstance(hits[0], Mapping):
        return [hit.get(name) for hit in hits]
    return [getattr(hit, name, None) for hit in hits]


def _vectors_named(vector: str, vectors: list[Any]) -> NDArray[np.float64] | None:
    """Return the vectors of a name, where hits have several, or the only ones."""
    return as_vectors([entry.get(vector) if isinstance(entry, Mapping) else entry for entry in vectors])


def _first_scores(*kinds: Iterable[Any]) -> list[Any] | None:
    """Return the first kind of score that any hit has."""
    for kind in kinds:
        scores = list(kind)
        if any(score is not None for score in scores):
            return scores
    return None


def _negated(distances: Iterable[Any]) -> list[Any]:
    """Return distances as scores."""
    return [None if distance is None else -float(distance) for distance in distances]


def _vector_column(fields: Fields, vector: str | None) -> NDArray[np.float64] | None:
    return None if vector is None else as_vectors([RecordColumns.value(field, vector) for field in fields])


def _query_of(queries: Any, query: int, owner: str) -> list[Any]:
    check_whole(f"{owner} query", query, 0)
    require(query < len(queries), f"{owner} query", f"must be below {len(queries)}, the queries searched", query)
    return list(queries[query])


def _elastic_fields(hit: Mapping[str, Any]) -> Mapping[str, Any]:
    source, fields = hit.get("_source") or {}, hit.get("fields")
    if not fields:
        return source
    # Elasticsearch returns every one of `fields` as a list.
    return {**source, **{name: cells[0] if len(cells) == 1 else cells for name, cells in fields.items()}}


def _milvus_id(hit: Any) -> Any:
    """Return the primary key: `id`, or the first entry where the field has another name."""
    if "id" in hit:
        return hit["id"]
    return next((value for name, value in hit.items() if name not in ("distance", "entity")), None)


def _rows_of(rows: Any, names: Sequence[str] | None) -> tuple[Sequence[Any], RecordColumns]:
    """Return the rows and their columns."""
    if _is_table(rows):
        return TableRows(rows), TableColumns(rows)
    if hasattr(rows, "fetchall"):
        if names is None:
            names = [entry[0] for entry in getattr(rows, "description", None) or ()] or _keys_of(rows)
        rows = rows.fetchall()
    elif not isinstance(rows, Iterable) or isinstance(rows, (str, Mapping)):
        raise _unreadable("from_rows", "a cursor, a result or a list of rows", rows)
    hits = list(rows)
    if not hits or isinstance(hits[0], Mapping):
        return hits, RecordColumns(hits)
    names = names or _keys_of(hits[0])
    width = len(hits[0]) if hasattr(hits[0], "__len__") else 0
    if not names or len(names) != width:
        raise InputError(f"from_rows needs the names of {width} columns, got {', '.join(names or ()) or 'none'}")
    return hits, RowColumns(hits, names)


def _keys_of(row: Any) -> list[str]:
    """Return the names that a result or a row knows."""
    keys: Callable[[], Iterable[str]] | None = getattr(row, "keys", None)
    return list(getattr(row, "_fields", None) or (keys() if callable(keys) else ()))


def _numbers(cell: Any) -> Any:
    """Return a vector; pgvector's is text where no adapter is registered."""
    return json.loads(cell) if isinstance(cell, str) else cell
