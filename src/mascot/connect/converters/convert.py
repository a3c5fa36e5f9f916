"""Converters turn the response of a search into `Candidates`, whose rankings return the same hits in a new order.

    candidates = from_elasticsearch(client.search(index="products", query=...))
    hits = mascot.rerank(candidates, mascot.spread("seller"), k=10).records()

Converters need no extra packages and open no connections: use your own client, pool or asynchronous call. Columns are
read when a wish needs them. A name is looked up in the fields of a hit, then in the hit itself; ``geo.lat`` is the
``lat`` of a dictionary ``geo``. A wish on a column that no hit has is an error.

If no hit has a score, the order of the hits is their relevance. If only some have one, the others get the lowest score.

Several converters have these options. `vector` is the field of vectors (default: None, vectors are not read).
`distances` says whether scores are distances, which are negated (default: None, they are if they ascend, because
engines return the best first). `query` is the position of one query in a response to several (default: 0).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from mascot.candidates import Candidates, RecordColumns, scaled
from mascot.connect.converters import hit_lists
from mascot.connect.converters.hit_lists import Floats, HitColumns, LazyHits, as_vectors, candidates_of, each, row_of
from mascot.errors import InputError, check_whole, require


def from_elasticsearch(response: Any, *, vector: str | None = None) -> Candidates[Any]:
    """Convert a response of an Elasticsearch or OpenSearch client, its JSON, or the list of its hits.

    Ids are `_id` and scores `_score`; the hits of a search sorted by a field have no scores. Columns are the names in
    `_source` and `fields`.

    Examples
    --------
    >>> hit = {"_id": "a1", "_score": 1.3, "_source": {"seller": "acme"}}
    >>> from_elasticsearch({"hits": {"hits": [hit]}}).columns["seller"].tolist()
    ['acme']
    """
    hits = hit_lists.hits_of(response, "hits", "from_elasticsearch", ("body", "hits", "hits"))
    return candidates_of(hits, map(_elastic_fields, hits), "_score", "_id", vector)


def from_qdrant(response: Any, *, vector: str | None = None, distances: bool | None = None) -> Candidates[Any]:
    """Convert the result of Qdrant's `query_points`, its list of points, or the JSON of a server.

    Columns are the names in the payload. `vector` is "" for unnamed vectors. Scores are distances in collections that
    use Euclid or Manhattan.
    """
    hits = hit_lists.hits_of(response, "points", "from_qdrant", ("result", "points"))
    return candidates_of(hits, "payload", "score", "id", _vectors_named(vector, hits), distances)


def from_milvus(
    response: Any, *, vector: str | None = None, distances: bool | None = None, query: int = 0
) -> Candidates[Any]:
    """Convert the result of Milvus's `search` or `hybrid_search`, the hits of one query, or the JSON of a server.

    Columns are the names in the entity. Ids are the primary key. Milvus also calls similarities `distance`.
    """
    queries = hit_lists.hits_of(response, "hits of each query", "from_milvus", ("data",))
    hits = _query_of(queries, query, "from_milvus") if queries and hit_lists.is_list(queries[0]) else queries
    if hits and not isinstance(hits[0], dict):
        raise hit_lists.unreadable("from_milvus", "hits that are dictionaries", hits[0])
    get = dict.get  # the hits of Milvus override `get` with a slower one
    fields = [get(hit, "entity") or hit for hit in hits]
    scores, ids = [get(hit, "distance") for hit in hits], [_milvus_id(hit) for hit in hits]
    return candidates_of(hits, fields, scores, ids, vector, distances)


def from_weaviate(response: Any, *, vector: str | None = None) -> Candidates[Any]:
    """Convert the result of Weaviate's Python client, its list of objects, or the JSON of a GraphQL `Get`.

    The score is the first of rerank score, score and certainty in the response, otherwise the negated distance. Request
    it with ``return_metadata=MetadataQuery(score=True)``. Columns are the properties. `vector` is "default" for unnamed
    vectors.
    """
    classes = hit_lists.entry(hit_lists.entry(response, "data"), "Get")
    if isinstance(classes, Mapping) and len(classes) == 1:
        response = next(iter(classes.values()))
    hits = hit_lists.hits_of(response, "objects", "from_weaviate")
    graphql = bool(hits) and isinstance(hits[0], Mapping)
    details = [detail or {} for detail in each(hits, "_additional" if graphql else "metadata")]
    kinds = ("rerank_score", "score", "certainty")
    scores = _first_scores(*(each(details, kind) for kind in kinds)) or _negated(each(details, "distance"))
    if graphql:
        return candidates_of(hits, hits, scores, each(details, "id"), _vectors_named(vector, details))
    return candidates_of(hits, "properties", scores, "uuid", _vectors_named(vector, hits))


def from_chroma(response: Any, *, vectors: bool = False, query: int = 0) -> Candidates[Any]:
    """Convert the dictionary that Chroma's `collection.query` returned; `vectors` reads `embeddings`.

    Chroma returns distances; scores are their negatives. Columns are the metadata keys and `document`. Records are
    dictionaries with `id`, `distance`, `document` and `metadata`.
    """
    if not isinstance(response, Mapping) or not hit_lists.is_list(response.get("ids")):
        raise hit_lists.unreadable("from_chroma", "the dictionary that collection.query returned", response)
    plurals = ("ids", "distances", "documents", "metadatas", "embeddings", "uris", "data")
    parts = {
        plural.removesuffix("s"): _query_of(response[plural], query, "from_chroma")
        for plural in plurals
        if response.get(plural) is not None
    }
    ids = parts["id"]
    nothing = [None] * len(ids)
    hits = LazyHits(len(ids), partial(row_of, parts))
    embeddings = as_vectors(parts.get("embedding", [])) if vectors else None
    fields, scores = parts.get("metadata", nothing), parts.get("distance", nothing)
    return candidates_of(hits, fields, scores, ids, embeddings, distances=True)


def from_faiss(
    scores: Any,
    labels: Any,
    rows: Sequence[Mapping[str, Any]] | Mapping[int, Mapping[str, Any]] | None = None,
    *,
    vectors: Any = None,
    distances: bool | None = None,
    query: int = 0,
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
    check_whole("from_faiss query", query, 0)
    numbers, names = np.asarray(scores, np.float64), np.asarray(labels)
    if numbers.shape != names.shape or numbers.ndim not in (1, 2):
        raise InputError(f"from_faiss needs scores and labels of one shape, got {numbers.shape} and {names.shape}")
    matrix = None if vectors is None else np.asarray(vectors)
    if numbers.ndim == 2:
        require(query < len(numbers), "from_faiss query", f"must be below {len(numbers)}, the queries searched", query)
        numbers, names = numbers[query], names[query]
        matrix = matrix[query] if matrix is not None and matrix.ndim == 3 else matrix
    real = names >= 0
    ids = names[real].tolist()
    try:
        hits: list[Any] = [{} if rows is None else rows[label] for label in ids]
    except (KeyError, IndexError):
        raise InputError("from_faiss needs a row for each label of the index, got fewer") from None
    hit_vectors = None if matrix is None else matrix[real]
    result = candidates_of(hits, hits, numbers[real].tolist(), ids, hit_vectors, distances)
    if rows is None:
        result.source = ids
    return result


def from_lance(result: Any, *, id: str = "id", vector: str | None = None) -> Candidates[Any]:
    """Convert the result of `to_arrow`, `to_list`, `to_pandas` or `to_polars` of a LanceDB search.

    The score is `_relevance_score` of a hybrid search, `_score` of a full-text search, otherwise the negated
    `_distance`. `id` is the column of ids (default: "id"); without it ids are positions. Records of a table are
    dictionaries, made on demand.
    """
    if hit_lists.is_table(result):
        hits, columns = hit_lists.table_of(result)
    else:
        hits = hit_lists.hits_of(result, "rows", "from_lance")
        columns = RecordColumns(hits)
    scores = _first_scores(columns.cells("_relevance_score"), columns.cells("_score"))
    scores = scores or _negated(columns.cells("_distance"))
    return candidates_of(hits, columns, scores, columns.cells(id), vector)


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
        Columns of scores and ids (default: "score" and "id"). None means the order of the rows, and their positions.
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
    hits, columns = hit_lists.rows_of(rows, names)
    nothing = [None] * len(hits)
    scores = nothing if score is None else columns.cells(score)
    if score is not None and hits and all(value is None for value in scores):
        raise InputError(f"from_rows needs a column of scores, got none named {score!r} in: {', '.join(columns)}")
    ids = nothing if id is None else columns.cells(id)
    return candidates_of(hits, columns, scores, ids, vector, distances)


def from_typesense(response: Any, *, vector: str | None = None) -> Candidates[Any]:
    """Convert a response of Typesense, one result of a `multi_search`, or a list of hits.

    The score is the first of `rank_fusion_score`, the negated `vector_distance`, and `text_match` in the response.
    Columns are the names in the document. Grouped hits are read group by group.
    """
    response = hit_lists.only_result(response)
    groups = hit_lists.entry(response, "grouped_hits")
    if isinstance(groups, list):
        response = [hit for group in groups for hit in group["hits"]]
    hits = hit_lists.hits_of(response, "hits", "from_typesense")
    fields = [document or {} for document in each(hits, "document")]
    fused = each([info or {} for info in each(hits, "hybrid_search_info")], "rank_fusion_score")
    scores = _first_scores(fused, _negated(each(hits, "vector_distance"))) or each(hits, "text_match")
    return candidates_of(hits, fields, scores, each(fields, "id"), vector)


def from_vespa(response: Any, *, vector: str | None = None) -> Candidates[Any]:
    """Convert a query response of pyvespa, its JSON, or the list of its hits.

    The score is `relevance`. Ids are those of the hits, such as ``id:shop:product::a1``. Columns are the fields;
    `vector` is one of them, a tensor.
    """
    root = hit_lists.entry(response, "root")
    if isinstance(root, Mapping) and not root.get("children"):  # absent if nothing matches
        response = []
    hits = hit_lists.hits_of(response, "hits", "from_vespa", ("root", "children"))
    hits = [hit for hit in hits if not str(hit.get("id", "")).startswith("group:")]
    return candidates_of(hits, "fields", "relevance", "id", vector)


def from_solr(response: Any, *, id: str = "id", vector: str | None = None) -> Candidates[Any]:
    """Convert a select response of Solr as JSON, the results of pysolr, or the list of documents.

    The score is `score`, which the request includes by ``fl=*,score``; without it the order is the relevance. `id` is
    the unique key (default: "id"). A list of one value becomes the value, because a schemaless core returns lists.
    """
    hits = hit_lists.hits_of(response, "docs", "from_solr", ("response", "docs"))
    return candidates_of(hits, HitColumns(hits, hits, unwrap=True), "score", id, vector)


def from_algolia(response: Any) -> Candidates[Any]:
    """Convert a search response of Algolia, or one result of several.

    Algolia returns no scores, so the order is the relevance. Ids are `objectID`. Columns are the attributes, such as
    ``_geoloc.lat``.
    """
    hits = hit_lists.hits_of(hit_lists.only_result(response), "hits", "from_algolia")
    if not hits or isinstance(hits[0], Mapping):
        return candidates_of(hits, hits, [None] * len(hits), "objectID")
    # Models of the client store attributes separately from their own fields.
    fields = [getattr(hit, "model_extra", None) or vars(hit) for hit in hits]
    return candidates_of(hits, fields, [None] * len(hits), "object_id")


def merge(
    *candidates: Candidates[Any], names: Sequence[str] | None = None, rescale: bool = True, best: int | None = None
) -> Candidates[Any]:
    """Merge the candidates of several sources, best first.

    Parameters
    ----------
    candidates
        The candidates of each source.
    names
        A name for each source (default: None). Ids become (name, id), and a column `source` holds the name. Names are
        needed if one id means different things in two sources, or if ids are positions.
    rescale
        Whether the scores of each source are rescaled to 0..1, its best to 1 and its last to 0; outliers are clipped
        (default: True). Use False for shards of one index, whose scores are comparable.
    best
        The largest number of candidates to return (default: None, all).

    If several sources return the same id, the one with the highest score is kept. A column that a source does not have
    is missing there. Vectors are kept if all sources have the same dimension.

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
    sources = [part.source for part in candidates if part.source is not None]
    if len(sources) == len(candidates):
        hits = [hit for source in sources for hit in source]
        result.source = [hits[at] for at in order]
    widths = {part.vectors.shape[1] for part in candidates if part.vectors is not None}
    if len(widths) == 1:
        width = widths.pop()
        blocks = [np.full((len(part), width), np.nan) if part.vectors is None else part.vectors for part in candidates]
        result.vectors = np.concatenate(blocks)[order]
    return result


class MergedColumns(RecordColumns):
    """The concatenated columns of several sources; a source without a column has missing values."""

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


def _first_scores(*kinds: list[Any]) -> list[Any] | None:
    """Return the first list that holds a score."""
    return next((scores for scores in kinds if any(score is not None for score in scores)), None)


def _negated(distances: Iterable[Any]) -> list[Any]:
    """Return distances as scores."""
    return [None if distance is None else -float(distance) for distance in distances]


def _vectors_named(vector: str | None, hits: Sequence[Any]) -> Floats | None:
    """Return the vectors with this name, or the only ones."""
    if vector is None:
        return None
    entries = each(hits, "vector")
    return as_vectors([entry.get(vector) if isinstance(entry, Mapping) else entry for entry in entries])


def _query_of(queries: Any, query: int, owner: str) -> list[Any]:
    check_whole(f"{owner} query", query, 0)
    require(query < len(queries), f"{owner} query", f"must be below {len(queries)}, the queries searched", query)
    return list(queries[query])


def _elastic_fields(hit: Mapping[str, Any]) -> Mapping[str, Any]:
    source, fields = hit.get("_source") or {}, hit.get("fields")
    if not fields:
        return source
    # Elasticsearch returns each of `fields` as a list.
    return {**source, **{name: cells[0] if len(cells) == 1 else cells for name, cells in fields.items()}}


def _milvus_id(hit: Any) -> Any:
    """Return the primary key: `id`, or the first entry if the field has another name."""
    if "id" in hit:
        return hit["id"]
    return next((value for name, value in hit.items() if name not in ("distance", "entity")), None)
