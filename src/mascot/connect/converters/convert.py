"""Converters turn the response of a search into `Candidates`, whose rankings return the same hits in a new order.

    candidates = from_elasticsearch(client.search(index="products", query=...))
    hits = mascot.rerank(candidates, mascot.spread("seller"), k=10).records()

Converters need no extra packages and open no connections: use your own client, pool or asynchronous call. Columns are
read when a wish needs them. A name is looked up in the fields of a hit, then in the hit itself; ``geo.lat`` is the
``lat`` of a dictionary ``geo``. A wish on a column that no hit has is an error.

If no hit has a score, the order of the hits is their relevance. If only some have one, the others get the lowest score.
Grouped hits become one list, and the column `group` holds the group of each; a hit of several groups occurs once, with
the list of its groups. A response that reports an error is an error, and a partial one (a timeout, a failed shard)
gives a warning.

Several converters have these options. `vector` is the field of vectors (default: None, vectors are not read).
`distances` says whether scores are distances, which are negated (default: None, they are if they ascend, because
engines return the best first). `query` is the position of one query in a response to several (default: None, the
response must answer one query); `each_query` converts them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from inspect import signature
from typing import Any

from mascot.candidates import Candidates
from mascot.connect.converters import response_readers as responses
from mascot.connect.converters.hit_lists import entry, is_list, reading
from mascot.connect.converters.response_readers import Shape, each_at, listed
from mascot.errors import InputError, OptionError


def _elastic_fields(hits: Sequence[Any]) -> list[Any]:
    sources, fields = each_at(hits, "_source"), each_at(hits, "fields")
    if not any(fields):
        return sources
    # Elasticsearch returns each of `fields` as a list.
    values = [{name: cells[0] if len(cells) == 1 else cells for name, cells in (row or {}).items()} for row in fields]
    return [{**(source or {}), **row} for source, row in zip(sources, values, strict=True)]


def _elastic_ids(hits: Sequence[Any]) -> list[Any]:
    """Return the ids; nested hits share that of their document, and add the name and position of their field."""
    ids, nested = each_at(hits, "_id"), each_at(hits, "_nested")
    if not any(nested):
        return ids
    return [(id_, at["field"], at["offset"]) if at else id_ for id_, at in zip(ids, nested, strict=True)]


def _milvus_ids(hits: Sequence[Any]) -> list[Any]:
    """Return the primary keys: `id`, or the first entry if the field has another name."""
    names = dict.fromkeys(name for hit in hits for name in hit if name not in ("distance", "entity"))
    return each_at(hits, "id" if "id" in names else next(iter(names), "id"))


def _milvus_fields(hits: Sequence[Any]) -> list[Any]:
    return [fields or hit for hit, fields in zip(hits, each_at(hits, "entity"), strict=True)]


def _typesense_groups(response: Any) -> responses.Groups | None:
    groups = entry(response, "grouped_hits")
    return None if groups is None else [(", ".join(map(str, group["group_key"])), group["hits"]) for group in groups]


def _qdrant_groups(response: Any) -> responses.Groups | None:
    groups = entry(entry(response, "result") or response, "groups")
    return None if groups is None else [(entry(group, "id"), entry(group, "hits")) for group in groups]


_SHAPES = {
    shape.owner.removeprefix("from_"): shape
    for shape in (
        Shape(
            "from_elasticsearch", ("hits.hits",), (_elastic_ids,), ("_score",), (_elastic_fields,),
            queries=("responses",), groups=responses.elastic_groups, needs_ids="_id", envelope="body",
        ),
        Shape(
            "from_qdrant", ("result.points", "points", "result"), fields=("payload",), vector="vector",
            queries=("result", ""), groups=_qdrant_groups, needs_ids="id",
        ),
        Shape("from_milvus", ("data",), (_milvus_ids,), ("distance",), (_milvus_fields,), queries=("data", "")),
        Shape(
            "from_weaviate", ("objects",), ("uuid",),
            ("metadata.rerank_score", "metadata.score", "metadata.certainty", "-metadata.distance"), ("properties",),
            vector="vector", queries=("data.Get.*",), groups=responses.weaviate_groups,
        ),
        Shape("from_chroma", queries=("ids",)),
        Shape(
            "from_typesense", ("hits",), ("document.id",),
            ("hybrid_search_info.rank_fusion_score", "-vector_distance", "text_match"), ("document",),
            queries=("results",), groups=_typesense_groups,
        ),
        Shape(
            "from_vespa", ("root.children", "hits"), scores=("relevance",), fields=("fields",),
            groups=responses.vespa_groups, needs_ids="id", empty="root",
        ),
        Shape("from_solr", ("response.docs", "docs"), groups=responses.solr_groups, unwrap=True),
        Shape("from_algolia", ("hits",), ("objectID", "object_id"), (), queries=("results",), needs_ids="objectID"),
        Shape(
            "from_pinecone", ("matches", "result.hits"), ("id", "_id"), ("score", "_score"), ("metadata", "fields"),
            vector="values", needs_ids="id",
        ),
        Shape(
            "from_meilisearch", ("hits",), scores=("_federation.weightedRankingScore", "_rankingScore"),
            queries=("results",),
        ),
        Shape("from_mongodb", ("cursor.firstBatch",), ("_id",)),
        Shape(
            "from_redis", ("docs", "results"), scores=("hybrid_score", "-vector_distance", "score"),
            fields=("", "extra_attributes"), needs_ids="id",
        ),
        Shape(
            "from_azure_search", ("value",),
            scores=(
                "@search.rerankerBoostedScore", "@search.reranker_boosted_score", "@search.rerankerScore",
                "@search.reranker_score", "@search.score",
            ),
        ),
        Shape(
            "from_vertex_search", ("results",), ("id", "document.id", "chunk.id"), ("chunk.relevanceScore",),
            ("document.structData", "document.derivedStructData", "document.struct_data",
             "document.derived_struct_data", "chunk"),
            empty="attributionToken",
        ),
    )
}  # fmt: skip
ENGINES = tuple(_SHAPES)
_WEAVIATE_JSON = replace(
    _SHAPES["weaviate"], ids=("_additional.id",), fields=("",), vector="_additional.vector",
    scores=tuple(path.replace("metadata", "_additional") for path in _SHAPES["weaviate"].scores),
)  # fmt: skip


def _with_id(engine: str, id: str) -> Shape:
    return replace(_SHAPES[engine], ids=(id,), needs_ids=None if id == "id" else id)


def from_engine(engine: str, response: Any, names: Mapping[str, str]) -> Candidates[Any]:
    """Convert the response of an engine; `names` are options of its converter."""
    converters = import_module("mascot.connect.converters")
    converter: Callable[..., Candidates[Any]] = getattr(converters, f"from_{engine}")
    for name in names.keys() - signature(converter).parameters.keys():
        raise OptionError(f"{name} is not an option of from_{engine}")
    return converter(response, **names)


def each_query(converter: Callable[..., Candidates[Any]], response: Any, **options: Any) -> list[Candidates[Any]]:
    """Convert a response to several queries: `msearch`, `query_batch_points`, `multi_search`.

    Examples
    --------
    >>> batch = {"result": [{"points": [{"id": 1, "score": 0.9}]}, {"points": []}]}
    >>> [candidates.ids for candidates in each_query(from_qdrant, batch)]
    [[1], []]
    """
    shape = _SHAPES.get(converter.__name__.removeprefix("from_"))
    if shape is None:
        raise InputError(f"each_query needs a converter of responses, got {converter.__name__}")
    if not shape.queries:  # the engine answers one query at a time
        return [converter(response, **options)]
    return [converter(response, query=at, **options) for at in range(len(shape.answers(response)))]


def from_elasticsearch(response: Any, *, vector: str | None = None, query: int | None = None) -> Candidates[Any]:
    """Convert a response of an Elasticsearch or OpenSearch client, its JSON, or the list of its hits.

    Ids are `_id` and scores `_score`; the hits of a search sorted by a field have no scores. Columns are the names in
    `_source` and `fields`. If there are no hits (``size=0``), those of `top_hits` aggregations are read, grouped by the
    innermost bucket.

    Examples
    --------
    >>> hit = {"_id": "a1", "_score": 1.3, "_source": {"seller": "acme"}}
    >>> from_elasticsearch({"hits": {"hits": [hit]}}).columns["seller"].tolist()
    ['acme']
    """
    return _SHAPES["elasticsearch"].candidates(response, query=query, vector=vector)


def from_qdrant(
    response: Any, *, vector: str | None = None, distances: bool | None = None, query: int | None = None
) -> Candidates[Any]:
    """Convert the result of Qdrant's `query_points`, of its batch or group variant, or the JSON of a server.

    Columns are the names in the payload. `vector` is "" for unnamed vectors. Scores are distances in collections that
    use Euclid or Manhattan.
    """
    return _SHAPES["qdrant"].candidates(response, query=query, vector=vector, distances=distances)


def from_milvus(
    response: Any, *, vector: str | None = None, distances: bool | None = None, query: int | None = None
) -> Candidates[Any]:
    """Convert the result of Milvus's `search` or `hybrid_search`, the hits of one query, or the JSON of a server.

    Columns are the names in the entity. Ids are the primary key. Milvus also calls similarities `distance`.
    """
    return _SHAPES["milvus"].candidates(response, query=query, vector=vector, distances=distances)


def from_weaviate(response: Any, *, vector: str | None = None, query: int | None = None) -> Candidates[Any]:
    """Convert the result of Weaviate's Python client, its list of objects, or the JSON of a GraphQL `Get`.

    The score is the first of rerank score, score and certainty in the response, otherwise the negated distance. Request
    it with ``return_metadata=MetadataQuery(score=True)``. Columns are the properties. `vector` is "default" for unnamed
    vectors. Both forms of `group_by` are read; a `Get` of several classes is a response to several queries.
    """
    first = response[0] if is_list(response) and response else response
    shape = _WEAVIATE_JSON if isinstance(first, Mapping) else _SHAPES["weaviate"]
    return shape.candidates(response, query=query, vector=vector)


def from_typesense(response: Any, *, vector: str | None = None, query: int | None = None) -> Candidates[Any]:
    """Convert a response of Typesense, also of a `multi_search` or with `grouped_hits`, or a list of hits.

    The score is the first of `rank_fusion_score`, the negated `vector_distance`, and `text_match` in the response.
    Columns are the names in the document. Its points are [latitude, longitude]: write ``Place("geo.0", "geo.1")``.
    """
    return _SHAPES["typesense"].candidates(response, query=query, vector=vector)


def from_vespa(response: Any, *, vector: str | None = None) -> Candidates[Any]:
    """Convert a query response of pyvespa, its JSON, or the list of its hits.

    The score is `relevance`. Ids are those of the hits, such as ``id:shop:product::a1``. Columns are the fields;
    `vector` is one of them, a tensor. The hits of groups are read if there are no other hits.
    """
    shape = _SHAPES["vespa"]
    with reading(shape.owner, response):
        if responses.vespa_groups(response) is None:
            shape.check(response, shape.owner)
            response = [hit for hit in shape.unchecked_hits(response) if not responses.is_group(hit)]
        return shape.candidates(response, vector=vector)


def from_solr(response: Any, *, id: str = "id", vector: str | None = None) -> Candidates[Any]:
    """Convert a select response of Solr as JSON, the results of pysolr, or the list of documents.

    The score is `score`, which the request includes by ``fl=*,score``; without it the order is the relevance. `id` is
    the unique key (default: "id"). A list of one value becomes the value, because a schemaless core returns lists.
    Results of `group.field` and `group.query` are read.
    """
    return _with_id("solr", id).candidates(response, vector=vector)


def from_algolia(response: Any, *, query: int | None = None) -> Candidates[Any]:
    """Convert a search response of Algolia, to one query or several.

    Algolia returns no scores, so the order is the relevance. Ids are `objectID`. Columns are the attributes, such as
    ``_geoloc.lat``.
    """
    return _SHAPES["algolia"].candidates(response, query=query)


def from_pinecone(response: Any, *, vectors: bool = False, distances: bool | None = None) -> Candidates[Any]:
    """Convert the result of Pinecone's `query` or `search`; `vectors` reads `values`.

    Columns are the metadata, or the fields of records. Scores are distances in indexes with the metric euclidean.
    """
    return _SHAPES["pinecone"].candidates(response, vector="" if vectors else None, distances=distances)


def from_meilisearch(
    response: Any, *, id: str = "id", vector: str | None = None, query: int | None = None
) -> Candidates[Any]:
    """Convert a search response of Meilisearch, also of a multi-search or a federated search.

    The score is `_rankingScore`, which the request includes by ``showRankingScore``; without it the order is the
    relevance. `id` is the primary key (default: "id").
    """
    return _with_id("meilisearch", id).candidates(response, query=query, vector=vector)


def from_mongodb(documents: Any, *, score: str = "score", vector: str | None = None) -> Candidates[Any]:
    """Convert the documents, or the cursor, of an aggregation with ``$search`` or ``$vectorSearch``.

    `score` is the field (default: "score") that the pipeline adds by ``{"$meta": "searchScore"}`` or
    ``{"$meta": "vectorSearchScore"}``; without it the order is the relevance. Ids are `_id`.
    """
    shape = replace(_SHAPES["mongodb"], scores=(score,), needs_scores=None if score == "score" else score)
    return shape.candidates(listed(documents), vector=vector)


def from_redis(
    response: Any, *, score: str | None = None, vector: str | None = None, distances: bool | None = None
) -> Candidates[Any]:
    """Convert the result of `ft().search` of redis-py, a query of RedisVL, or the reply to FT.SEARCH.

    The score is the first of `hybrid_score`, the negated `vector_distance` and `score`, or the field named `score`.
    Redis returns text: numbers in other fields stay text. Its points, "longitude,latitude", must be split.
    """
    shape = _SHAPES["redis"]
    if score is not None:
        shape = replace(shape, scores=(score, f"extra_attributes.{score}"), needs_scores=score)
    with reading(shape.owner, response):
        return shape.candidates(_redis_reply(response), vector=vector, distances=distances if score else False)


def from_azure_search(response: Any, *, id: str = "id", vector: str | None = None) -> Candidates[Any]:
    """Convert the results of Azure AI Search: of the Python client, or the JSON of the REST API.

    The score is the boosted reranker score, the reranker score or `@search.score`. `id` is the key of the index
    (default: "id").
    """
    return _with_id("azure_search", id).candidates(listed(response), vector=vector)


def from_vertex_search(response: Any, *, vector: str | None = None) -> Candidates[Any]:
    """Convert the results of Vertex AI Search (Discovery Engine): of the Python client, or the JSON of the REST API.

    The order is the relevance; chunks have a score. Columns are `structData` and `derivedStructData`.
    """
    return _SHAPES["vertex_search"].candidates(listed(response), vector=vector)


def _redis_reply(reply: Any) -> Any:
    """Return the hits of a reply that lists the total, then the id, the score if requested, and the names and values.

    Other replies are returned unchanged, with text instead of bytes.
    """
    reply = _decoded(reply)
    if not is_list(reply) or not reply or not isinstance(reply[0], int):
        return reply
    return list(_redis_hits(reply[1:]))


def _redis_hits(parts: list[Any]) -> Iterator[dict[str, Any]]:
    names: list[Any] = []
    for part in parts:
        if not is_list(part) and part is not None:
            names.append(part)
            continue
        cells = part or []  # None if the key expired during the search
        score = {"score": float(names[1])} if len(names) > 1 else {}
        yield {"id": names[0], **score, **dict(zip(cells[::2], cells[1::2], strict=True))}
        names = []
    if names:
        raise InputError(f"from_redis needs the fields of each document, got {names[0]!r} alone: remove NOCONTENT")


def _decoded(value: Any) -> Any:
    """Return text for bytes that are UTF-8, also within lists and dictionaries."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:  # a vector
            return value
    if isinstance(value, list) and any(isinstance(part, (bytes, list, dict)) for part in value):
        return [_decoded(part) for part in value]
    if isinstance(value, dict) and any(isinstance(part, (bytes, list, dict)) for part in [*value, *value.values()]):
        return {_decoded(name): _decoded(part) for name, part in value.items()}
    return value
