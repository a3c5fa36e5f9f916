"""Converters read the responses that engines document.

The document is named beside each response. "From" means that the response is the example of that document, shortened;
"after" means that the document describes the names and nesting, and the values are ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.cli import hit_tables
from mascot.connect import converters

# From https://opensearch.org/docs/2.18/api-reference/multi-search
MSEARCH = {
    "took": 2150,
    "responses": [
        {
            "took": 2149, "timed_out": False, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
            "hits": {"total": {"value": 10000, "relation": "gte"}, "max_score": 1.0, "hits": [
                {"_index": "opensearch_dashboards_sample_data_logs", "_id": "_fnhBXsBgv2Zxgu9dZ8Y", "_score": 1.0,
                 "_source": {"bytes": 4657, "geo": {"src": "CN", "coordinates": {"lat": 42.35083333}}}},
            ]},
            "status": 200,
        },
        {
            "took": 1473, "timed_out": False, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
            "hits": {"total": {"value": 4675, "relation": "eq"}, "max_score": 1.0, "hits": [
                {"_index": "opensearch_dashboards_sample_data_ecommerce", "_id": "efnhBXsBgv2Zxgu9ap7e", "_score": 1.0,
                 "_source": {"currency": "EUR", "order_id": 576942}},
            ]},
            "status": 200,
        },
    ],
}  # fmt: skip


def top_hits(key: str, id_: str, price: int) -> dict[str, Any]:
    source = {"date": "2015/03/01 00:00:00", "price": price}
    hit = {"_index": "sales", "_id": id_, "_source": source, "sort": [1425168000000], "_score": None}
    hits = {"total": {"value": 3, "relation": "eq"}, "max_score": None, "hits": [hit]}
    return {"key": key, "doc_count": 3, "top_sales_hits": {"hits": hits}}


# From https://www.elastic.co/docs/reference/aggregations/search-aggregations-metrics-top-hits-aggregation
TOP_HITS = {
    "took": 1, "timed_out": False, "hits": {"total": {"value": 7}, "max_score": None, "hits": []},
    "aggregations": {"top_tags": {
        "doc_count_error_upper_bound": 0, "sum_other_doc_count": 0,
        "buckets": [
            top_hits("hat", "AVnNBmauCQpcRyxw6ChK", 200), top_hits("t-shirt", "AVnNBmauCQpcRyxw6ChL", 175),
            top_hits("bag", "AVnNBmatCQpcRyxw6ChH", 150),
        ],
    }},
}  # fmt: skip
# After https://api.qdrant.tech/master/api-reference/search/query-batch-points
QDRANT_BATCH = {"time": 1.1, "status": "ok", "result": [{"points": [{"id": 1, "version": 1, "score": 1.1}]},
                                                        {"points": []}]}  # fmt: skip
# From "Grouping API" of https://qdrant.tech/documentation/concepts/search/
QDRANT_GROUPS = {
    "result": {"groups": [
        {"id": "a", "hits": [{"id": 0, "score": 0.91}, {"id": 1, "score": 0.85}]},
        {"id": "b", "hits": [{"id": 1, "score": 0.85}]},
        {"id": 123, "hits": [{"id": 3, "score": 0.79}, {"id": 4, "score": 0.75}]},
        {"id": -10, "hits": [{"id": 5, "score": 0.6}]},
    ]},
    "status": "ok", "time": 0.001,
}  # fmt: skip


def doclist(*docs: dict[str, Any]) -> dict[str, Any]:
    return {"numFound": len(docs), "start": 0, "docs": list(docs)}


# From result-grouping.adoc of the Solr Reference Guide (github.com/apache/solr)
SOLR_FIELD = {"grouped": {"manu_exact": {"matches": 6, "groups": [
    {"groupValue": "Apache Software Foundation",
     "doclist": doclist({"id": "SOLR1000", "name": "Solr, the Enterprise Search Server"})},
    {"groupValue": "Canon Inc.",
     "doclist": doclist({"id": "0579B002", "name": "Canon PIXMA MP500 All-In-One Photo Printer"})},
]}}}  # fmt: skip
SOLR_QUERIES = {"responseHeader": {"status": 0, "QTime": 42}, "grouped": {
    "price:[0 TO 99.99]": {"matches": 5, "doclist": doclist({"name": "CORSAIR ValueSelect 1GB", "price": 74.99})},
    "price:[100 TO *]": {"matches": 5, "doclist": doclist(
        {"name": "CORSAIR XMS 2GB", "price": 185.0}, {"name": "Canon PIXMA MP500", "price": 179.99})},
}}  # fmt: skip
# After https://docs.weaviate.io/weaviate/api/graphql/get (groupBy), and GroupByReturn of weaviate-python-client
WEAVIATE_GROUPS = {"data": {"Get": {"JeopardyQuestion": [
    {"_additional": {"group": {
        "id": at, "groupedBy": {"value": str(points), "path": ["points"]}, "count": 1,
        "hits": [{"question": f"question {at}", "answer": f"answer {at}",
                  "_additional": {"id": f"id-{at}", "distance": 0.1 + at / 10}}],
    }}} for at, points in enumerate([100, 400])
]}}}  # fmt: skip
WEAVIATE_OBJECTS = SimpleNamespace(
    groups={},
    objects=[
        SimpleNamespace(
            uuid=f"id-{at}", properties={"question": f"question {at}"}, vector=None, belongs_to_group=group,
            metadata=SimpleNamespace(distance=0.1 + at / 10),
        )
        for at, group in enumerate(["100", "400"])
    ],
)  # fmt: skip
# After https://typesense.org/docs/29.0/api/multi-search.html; grouped_hits after
# https://schemas.apis.io/schemas/typesense/typesense-search-result/
TYPESENSE_HIT = {"document": {"id": "124", "company_name": "Stark Industries", "country": "USA"}, "text_match": 130916}
TYPESENSE_MULTI = {"results": [
    {"facet_counts": [], "found": 1, "hits": [TYPESENSE_HIT], "out_of": 10, "page": 1, "search_cutoff": False},
    {"facet_counts": [], "found": 0, "hits": [], "out_of": 5, "page": 1, "search_cutoff": False},
]}  # fmt: skip
TYPESENSE_GROUPS = {"found": 1, "grouped_hits": [{"found": 3, "group_key": ["USA"], "hits": [TYPESENSE_HIT]}]}
# After https://docs.vespa.ai/en/reference/default-result-format.html and en/grouping.html (hits per group)
VESPA_GROUPS = {"root": {"id": "toplevel", "relevance": 1.0, "fields": {"totalCount": 20}, "children": [
    {"id": "group:root:0", "relevance": 1.0, "continuation": {"this": ""}, "children": [
        {"id": "grouplist:customer", "relevance": 1.0, "label": "customer", "children": [
            {"id": f"group:string:{name}", "relevance": 1.0, "value": name, "children": [
                {"id": "hitlist:hits", "relevance": 1.0, "label": "hits", "children": [
                    {"id": f"id:purchase:purchase::{at}", "relevance": 1.0 - at / 10, "source": "purchase",
                     "fields": {"customer": name, "price": 8000 - at}}]}]}
            for at, name in enumerate(["Brown", "Jones"])]}]}]}}  # fmt: skip
VESPA_ERROR = {"root": {"id": "toplevel", "relevance": 1.0, "errors": [
    {"code": 4, "summary": "Invalid query parameter", "message": "Could not create query from YQL"}]}}  # fmt: skip
# After https://docs.pinecone.io/guides/manage-cost/check-usage-per-request; records from
# https://docs.pinecone.io/reference/api/2025-01/data-plane/search_records
PINECONE = {"matches": [
    {"id": "C", "score": 0.9, "values": [0.3, 0.3], "metadata": {"genre": "drama"}},
    {"id": "B", "score": 0.8, "values": [], "metadata": {"genre": "action"}},
], "namespace": "example-namespace", "usage": {"readUnits": 1}}  # fmt: skip
PINECONE_RECORDS = {"result": {"hits": [
    {"_id": "rec3", "_score": 0.004399413242936134, "fields": {"category": "immune system"}},
    {"_id": "rec4", "_score": 0.0029235430993139744, "fields": {"category": "endocrine system"}},
]}, "usage": {"embed_total_tokens": 8, "read_units": 6, "rerank_units": 1}}  # fmt: skip
# From https://www.meilisearch.com/docs/capabilities/full_text_search/relevancy/ranking_score.md, and from
# reference/api/multi_search.mdx of github.com/meilisearch/documentation
MEILISEARCH = {"hits": [{"id": 155, "title": "The Dark Knight", "_rankingScore": 0.9546},
                        {"id": 36657, "title": "Batman Begins", "_rankingScore": 0.8103}],
               "query": "batman dark knight"}  # fmt: skip
MEILISEARCH_MULTI = {"results": [
    {"indexUid": "movies", "hits": [{"id": 13682, "title": "Pooh's Heffalump Movie"}], "query": "pooh",
     "processingTimeMs": 26, "limit": 5, "offset": 0, "estimatedTotalHits": 22},
    {"indexUid": "movie_ratings", "hits": [{"id": "Us", "director": "Jordan Peele"}], "query": "Us",
     "processingTimeMs": 0, "limit": 20, "offset": 0, "estimatedTotalHits": 1},
]}  # fmt: skip
# After https://www.mongodb.com/docs/atlas/atlas-vector-search/vector-search-stage
MONGODB = [{"_id": "573a1398", "title": "Great Expectations", "score": 0.93}, {"_id": "573a13a1", "title": "X",
                                                                              "score": 0.91}]  # fmt: skip
# From content/commands/ft.search/index.md of github.com/redis/docs
REDIS_REPLY = [2, "small", ["geom", "POLYGON((1 1, 1 100))"], b"large", [b"geom", b"POLYGON((1 1, 1 200))"]]
# From content/develop/clients/redis-py/vecsearch.md of github.com/redis/docs
REDIS_RESULT = SimpleNamespace(total=2, docs=[
    SimpleNamespace(id="doc:0", payload=None, vector_distance="0.114169985056", content="That is a very happy person"),
    SimpleNamespace(id="doc:1", payload=None, vector_distance="0.610845386982", content="That is a happy dog"),
])  # fmt: skip
# After the replies that clients read with RESP3 (results, extra_attributes); no document shows one in full
REDIS_RESP3 = {"total_results": 1, "warning": [], "attributes": [], "format": "STRING", "results": [
    {"id": "doc:0", "score": 2.0, "extra_attributes": {"content": "That is a happy dog"}, "values": []}]}  # fmt: skip
# After https://docs.azure.cn/en-us/search/search-pagination-page-layout (@search.score) and public copies of the
# semantic ranking examples (@search.rerankerScore), whose page we could not identify
AZURE = {"@odata.count": 30, "@search.answers": [], "value": [
    {"@search.score": 4.555706, "@search.rerankerScore": 2.613231658935547, "HotelId": "24",
     "HotelName": "Uptown Chic Hotel"},
    {"@search.score": 5.004435, "@search.rerankerScore": 2.2718354, "HotelId": "2", "HotelName": "Old Century Hotel"},
]}  # fmt: skip
# After https://cloud.google.com/discovery-engine/docs/reference/rest/v1beta/SearchResult
VERTEX = {"results": [
    {"id": "0", "document": {"name": "projects/1/locations/global/documents/0", "id": "0",
                             "structData": {"brand": "acme"},
                             "derivedStructData": {"title": "Getting Started", "link": "https://docs.litellm.ai/docs/"}}},
    {"id": "1", "document": {"name": "projects/1/locations/global/documents/1", "id": "1",
                             "derivedStructData": {"title": "Callbacks"}}},
], "totalSize": 2}  # fmt: skip

ORDER = None  # the order of the hits is the relevance
# converter, response, options, ids, scores, a column
CASES: dict[str, tuple[str, Any, dict[str, Any], list[Any], list[float] | None, tuple[str, list[Any]]]] = {
    "msearch": ("elasticsearch", MSEARCH, {"query": 0}, ["_fnhBXsBgv2Zxgu9dZ8Y"], [1.0], ("geo.src", ["CN"])),
    "top_hits": (
        "elasticsearch", TOP_HITS, {}, ["AVnNBmauCQpcRyxw6ChK", "AVnNBmauCQpcRyxw6ChL", "AVnNBmatCQpcRyxw6ChH"], ORDER,
        ("group", ["hat", "t-shirt", "bag"])),
    "qdrant groups": (
        "qdrant", QDRANT_GROUPS, {}, [0, 1, 3, 4, 5], [0.91, 0.85, 0.79, 0.75, 0.6],
        ("group", ["a", ["a", "b"], 123, 123, -10])),
    "solr group.field": (
        "solr", SOLR_FIELD, {}, ["SOLR1000", "0579B002"], ORDER,
        ("group", ["Apache Software Foundation", "Canon Inc."])),
    "solr group.query": (
        "solr", SOLR_QUERIES, {}, [0, 1, 2], ORDER,
        ("group", ["price:[0 TO 99.99]", "price:[100 TO *]", "price:[100 TO *]"])),
    "weaviate graphql": (
        "weaviate", WEAVIATE_GROUPS, {}, ["id-0", "id-1"], [-0.1, -0.2], ("group", ["100", "400"])),
    "weaviate client": (
        "weaviate", WEAVIATE_OBJECTS, {}, ["id-0", "id-1"], [-0.1, -0.2], ("group", ["100", "400"])),
    "typesense multi": ("typesense", TYPESENSE_MULTI, {"query": 0}, ["124"], [130916], ("country", ["USA"])),
    "typesense groups": ("typesense", TYPESENSE_GROUPS, {}, ["124"], [130916], ("group", ["USA"])),
    "vespa groups": (
        "vespa", VESPA_GROUPS, {}, ["id:purchase:purchase::0", "id:purchase:purchase::1"], [1.0, 0.9],
        ("group", ["Brown", "Jones"])),
    "pinecone": ("pinecone", PINECONE, {"vectors": True}, ["C", "B"], [0.9, 0.8], ("genre", ["drama", "action"])),
    "pinecone records": (
        "pinecone", PINECONE_RECORDS, {}, ["rec3", "rec4"], [0.004399413242936134, 0.0029235430993139744],
        ("category", ["immune system", "endocrine system"])),
    "meilisearch": (
        "meilisearch", MEILISEARCH, {}, [155, 36657], [0.9546, 0.8103],
        ("title", ["The Dark Knight", "Batman Begins"])),
    "mongodb": (
        "mongodb", iter(MONGODB), {}, ["573a1398", "573a13a1"], [0.93, 0.91], ("title", ["Great Expectations", "X"])),
    "redis reply": (
        "redis", REDIS_REPLY, {}, ["small", "large"], ORDER,
        ("geom", ["POLYGON((1 1, 1 100))", "POLYGON((1 1, 1 200))"])),
    "redis-py": (
        "redis", REDIS_RESULT, {}, ["doc:0", "doc:1"], [-0.114169985056, -0.610845386982],
        ("content", ["That is a very happy person", "That is a happy dog"])),
    "redis resp3": ("redis", REDIS_RESP3, {}, ["doc:0"], [2.0], ("content", ["That is a happy dog"])),
    "azure": (
        "azure_search", AZURE, {"id": "HotelId"}, ["24", "2"], [2.613231658935547, 2.2718354],
        ("HotelName", ["Uptown Chic Hotel", "Old Century Hotel"])),
    "chroma": (
        "chroma", {"ids": [["a", "b"]], "distances": [[0.1, 0.2]], "metadatas": [[{"s": "x"}, None]]}, {}, ["a", "b"],
        [-0.1, -0.2], ("s", ["x", None])),
    "vertex": ("vertex_search", VERTEX, {}, ["0", "1"], ORDER, ("title", ["Getting Started", "Callbacks"])),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
def test_documented_responses_keep_ids_scores_and_columns(name: str) -> None:
    converter, response, options, ids, scores, (column, cells) = CASES[name]
    candidates = getattr(converters, f"from_{converter}")(response, **options)
    assert candidates.ids == ids
    expected = scores or [1 - at / len(ids) for at in range(len(ids))]
    np.testing.assert_allclose(candidates.scores, expected)
    assert list(candidates.columns[column]) == cells
    assert len(mc.rerank(candidates, mc.limit(column, 1), k=1).records()) == 1
    if name == "pinecone":
        np.testing.assert_array_equal(candidates.vectors, [[0.3, 0.3], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("converter", "response", "ids"),
    [
        (converters.from_elasticsearch, MSEARCH, [["_fnhBXsBgv2Zxgu9dZ8Y"], ["efnhBXsBgv2Zxgu9ap7e"]]),
        (converters.from_qdrant, QDRANT_BATCH, [[1], []]),
        (converters.from_qdrant, [SimpleNamespace(points=[SimpleNamespace(id=7, score=1.0)])] * 2, [[7], [7]]),
        (converters.from_typesense, TYPESENSE_MULTI, [["124"], []]),
        (converters.from_meilisearch, MEILISEARCH_MULTI, [[13682], ["Us"]]),
        (converters.from_milvus, [[{"id": 1, "distance": 0.5}], []], [[1], []]),
        (converters.from_chroma, {"ids": [["a"], ["b"]], "distances": [[0.1], [0.2]]}, [["a"], ["b"]]),
        (converters.from_elasticsearch, MSEARCH["responses"][0], [["_fnhBXsBgv2Zxgu9dZ8Y"]]),  # type: ignore[index]
    ],
)
def test_several_queries_are_never_one_list(converter: Any, response: Any, ids: list[list[Any]]) -> None:
    assert [candidates.ids for candidates in converters.each_query(converter, response)] == ids
    if len(ids) > 1:
        with pytest.raises(mc.InputError, match=f"{converter.__name__} needs the response to one query, got 2: set"):
            converter(response)
        with pytest.raises(mc.OptionError, match="query must be below 2, the queries searched, got 2"):
            converter(response, query=2)


# Documented: root.errors of Vespa, status.error of Qdrant (ErrorResponse of qdrant-client), code and message of
# Pinecone, `error` of Azure and Google. The others are bodies that no converter may take for an empty list.
ERRORS: list[tuple[str, Any, str]] = [
    ("vespa", VESPA_ERROR, "Invalid query parameter"),
    ("elasticsearch", {"error": {"type": "index_not_found_exception"}, "status": 404}, "index_not_found"),
    ("qdrant", {"status": {"error": "Not found: Collection `x` doesn't exist!"}, "time": 0.1}, "Not found: Collection"),
    ("weaviate", {"data": {"Get": {"X": None}}, "errors": [{"message": "no such class"}]}, "no such class"),
    ("solr", {"responseHeader": {"status": 400}, "error": {"msg": "undefined field", "code": 400}}, "undefined field"),
    ("azure_search", {"error": {"code": "", "message": "Invalid expression"}}, "Invalid expression"),
    ("meilisearch", {"message": "Index `x` not found.", "code": "index_not_found"}, "message, code"),
    ("redis", [2, "s1", "s2"], "remove NOCONTENT"),
    ("elasticsearch", {"hits": {"hits": []}, "aggregations": {"sites": {"buckets": [{"key": "x"}]}}}, "sites"),
    ("qdrant", [{"payload": {}}, {"payload": {}}], "an id in every hit"),
    ("solr", {"grouped": {"a": {"groups": []}, "b": {"groups": []}}}, "one group.field, got a, b"),
    ("redis", [2, ["brand", "x"], ["brand", "y"]], "a response in a documented form"),  # FT.AGGREGATE
    ("chroma", {"ids": ["abc"], "metadatas": None}, "the dictionary that collection.query returned"),  # collection.get
]


@pytest.mark.parametrize(("converter", "response", "part"), ERRORS)
def test_an_error_is_never_an_empty_list(converter: str, response: Any, part: str) -> None:
    with pytest.raises(mc.InputError, match=f"^from_{converter} needs .*{part}"):
        getattr(converters, f"from_{converter}")(response)


# After https://www.elastic.co/docs/reference/aggregations/search-aggregations-bucket-terms-aggregation, and
# https://cloud.google.com/generative-ai-app-builder/docs/reference/rest/v1/SearchResponse; its JSON has no empty lists
NO_MATCH: dict[str, Any] = {
    "elasticsearch": {"hits": {"total": {"value": 0}, "hits": []}, "aggregations": {"brands": {"buckets": []}}},
    "vertex_search": {"attributionToken": "aQwI", "summary": {}},
}


@pytest.mark.parametrize("converter", NO_MATCH)
def test_a_search_that_matches_nothing_is_no_error(converter: str) -> None:
    assert len(getattr(converters, f"from_{converter}")(NO_MATCH[converter])) == 0


UNNAMED: list[tuple[Any, Any, dict[str, Any], str]] = [
    (converters.from_rows, [{"id": 1, "score": 1.0}], {"id": "sku"}, "column 'sku', got columns: id, score"),
    (converters.from_lance, [{"id": 1, "_distance": 1.0}], {"id": "sku"}, "column 'sku', got columns: _distance, id"),
    (converters.from_redis, REDIS_RESULT, {"score": "points"}, r"a hit with a score \(points\)"),
    (
        converters.from_solr,
        {"docs": [{"id": "1"}, {"sku": "2"}]},
        {},
        "Candidates.ids must be in every hit, got none at",
    ),
]


@pytest.mark.parametrize(("converter", "response", "options", "part"), UNNAMED)
def test_a_name_that_no_hit_has_is_refused(converter: Any, response: Any, options: Any, part: str) -> None:
    with pytest.raises(mc.InputError, match=part):
        converter(response, **options)


def test_hits_without_ids_have_no_pages_by_id() -> None:
    hits = converters.from_azure_search(AZURE)  # whose key is HotelId
    assert hits.ids == [0, 1]
    with pytest.raises(
        mc.InputError, match=r"already must be positions, because the records have no ids: .*, got '24'"
    ):
        mc.rerank(hits, [], already=["24"])


def paths_in(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of a value and of every part of it."""
    yield ()
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from ((key, *path) for path in paths_in(part))


def damaged(value: Any, path: tuple[Any, ...], part: Any) -> Any:
    """Return a copy in which another part stands at the path."""
    if not path:
        return part
    copied = value.copy()
    copied[path[0]] = damaged(value[path[0]], path[1:], part)
    return copied


@pytest.mark.filterwarnings("ignore:from_.* the response is partial")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if isinstance(case[1], dict | list)])
def test_a_damaged_response_is_read_or_refused_in_a_sentence(name: str) -> None:
    converter, response, options, *_ = CASES[name]
    for path in paths_in(response):
        for part in (None, "x", 3, [], {}, ["x"], [None], [[]], {"x": 1}):
            with suppress(mc.MascotError):
                candidates = getattr(converters, f"from_{converter}")(damaged(response, path, part), **options)
                for column in candidates.columns:
                    assert len(candidates.columns[column]) == len(candidates)


def test_one_failed_search_of_several_is_named() -> None:
    failed = {"results": [TYPESENSE_MULTI["results"][0], {"code": 404, "error": "Not found."}]}
    assert converters.from_typesense(failed, query=0).ids == ["124"]
    with pytest.raises(mc.InputError, match="from_typesense query 1 needs a response without errors, got 'Not found"):
        converters.each_query(converters.from_typesense, failed)


@pytest.mark.parametrize(
    ("converter", "entries", "reason"),
    [
        ("elasticsearch", {"timed_out": True}, "timed_out is True"),
        ("elasticsearch", {"timed_out": False, "_shards": {"total": 5, "failed": 2}}, "_shards.failed is 2"),
        ("typesense", {"search_cutoff": True}, "search_cutoff is True"),
        ("redis", {"results": [], "warning": ["Timeout limit was reached"]}, "Timeout limit"),
        ("elasticsearch", {"body": {"timed_out": True, "hits": {"hits": []}}}, "timed_out is True"),
        ("vespa", {"root": {"coverage": {"degraded": {"timeout": True}}}}, "degraded"),
        ("vespa", {"root": {"coverage": {"degraded": {"timeout": True}}, "children": [{"id": "1"}]}}, "degraded"),
        ("solr", {"responseHeader": {"partialResults": True}, "response": {"docs": []}}, "partialResults is True"),
    ],
)
def test_a_partial_response_warns(converter: str, entries: dict[str, Any], reason: str) -> None:
    hits: dict[str, Any] = {"elasticsearch": {"hits": {"hits": []}}, "typesense": {"hits": []}}.get(converter, {})
    with pytest.warns(RuntimeWarning, match=f"from_{converter}: the response is partial: .*{reason}"):
        candidates = getattr(converters, f"from_{converter}")({**hits, **entries})
    assert len(candidates) == str(entries).count("'id'")


def test_nested_top_hits_of_one_document_stay_apart() -> None:
    hit = {"_id": "1", "_score": 0.36, "_source": {"comment": "better brakes"}}
    hits = [{**hit, "_nested": {"field": "comments", "offset": at}} for at in range(2)]
    node = {"by_user": {"buckets": {"baddriver007": {"doc_count": 2, "by_nested": {"hits": {"hits": hits}}}}}}
    candidates = converters.from_elasticsearch({"hits": {"hits": []}, "aggregations": {"by_sale": node}})
    assert candidates.ids == [("1", "comments", 0), ("1", "comments", 1)]
    assert candidates.columns["group"].tolist() == ["baddriver007"] * 2


@pytest.mark.parametrize(
    ("scores", "sign"),
    [([[0.1, 0.5], [0.2, 0.9]], -1), ([[0.1], [0.2]], -1), ([[0.9, 0.2], [0.8]], 1), ([[0.9], [0.8]], 1), ([[0.5]], 1)],
)
def test_distances_in_groups_are_recognised(scores: list[list[float]], sign: int) -> None:
    groups = [{"id": at, "hits": [{"id": f"{at}.{x}", "score": x} for x in part]} for at, part in enumerate(scores)]
    candidates = converters.from_qdrant({"result": {"groups": groups}})
    assert candidates.scores.tolist() == [sign * score for part in scores for score in part]


def test_distances_are_compared_as_numbers() -> None:
    hits = [{"id": "a", "distance": "9.5"}, {"id": "b", "distance": "10.2"}]
    assert converters.from_redis(hits, score="distance").scores.tolist() == [-9.5, -10.2]


def test_rows_with_underscore_id_are_not_shown_again() -> None:
    rows = [{"_id": f"L{at}", "score": 1.0 - at / 10} for at in range(4)]
    assert mc.rerank(converters.from_rows(rows), [], k=2, already=["L0"]).ids == ["L1", "L2"]


def test_merge_counts_an_id_once_for_each_source_and_a_single_hit_as_the_best() -> None:
    chunks, other = mc.Candidates([3.0, 2.0, 1.0], ["a", "a", "b"]), mc.Candidates([0.2], ["c"])
    fused = converters.merge(chunks, other, by="rank")
    assert (fused.ids, fused.scores.tolist()) == (["a", "c", "b"], [1 / 61, 1 / 61, 1 / 63])
    assert converters.merge(chunks, other).scores[converters.merge(chunks, other).ids.index("c")] == 1


@pytest.mark.parametrize("by", ["score", "rank"])
def test_merge_refuses_ids_that_cannot_be_compared(by: str) -> None:
    texts, numbers = mc.Candidates([1.0], ["5"]), mc.Candidates([1.0, 0.5], [5, 6])
    with pytest.raises(
        mc.InputError, match="merge needs names or ids of one type, got 5, which differs from the id '5'"
    ):
        converters.merge(texts, numbers, by=by)
    with pytest.raises(mc.InputError, match="merge needs ids or names, got hits without ids"):
        converters.merge(converters.from_azure_search(AZURE), texts, by=by)
    named = converters.merge(converters.from_azure_search(AZURE), numbers, texts, names=["x", "y", "z"], by=by)
    assert len(named) == 5


def test_reciprocal_rank_fusion() -> None:
    text, image = mc.Candidates([12.0, 3.0, 1.0], ["a", "b", "c"]), mc.Candidates([0.3, 0.2], ["b", "d"])
    fused = converters.merge(text, image, by="rank")
    assert fused.ids == ["b", "a", "d", "c"]
    np.testing.assert_allclose(fused.scores, [1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63])
    weighted = converters.merge(text, image, by="rank", weights=[1, 3], rank_constant=1, best=2)
    assert (weighted.ids, weighted.scores.tolist()) == (["b", "d"], [1 / 3 + 3 / 2, 1.0])
    assert converters.merge(text, image, weights=[1, 2]).ids[0] == "b"
    for options, message in [
        ({"by": "votes"}, "merge by must be 'score' or 'rank', got 'votes'"),
        ({"weights": [1]}, "merge weights must be 2, one for each source"),
        ({"weights": [1, -1]}, "merge weights must be > 0, got -1"),
        ({"rank_constant": 0}, "merge rank_constant must be > 0"),
    ]:
        with pytest.raises(mc.OptionError, match=message):
            converters.merge(text, image, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("engine", "response", "columns"),
    [
        ("elasticsearch", MSEARCH, {"id": ["_fnhBXsBgv2Zxgu9dZ8Y", "efnhBXsBgv2Zxgu9ap7e"], "query": [0, 1]}),
        ("qdrant", QDRANT_BATCH, {"id": [1], "query": [0]}),
        ("qdrant", QDRANT_GROUPS, {"id": [0, 1, 3, 4, 5], "group": ["a", ["a", "b"], 123, 123, -10]}),
        ("pinecone", PINECONE, {"id": ["C", "B"], "score": [0.9, 0.8], "genre": ["drama", "action"]}),
    ],
)
def test_the_command_line_reads_responses(engine: str, response: Any, columns: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "response.json"
    path.write_text(json.dumps(response))
    table = hit_tables.read(str(path), engine)
    assert {name: table.columns.cells(name) for name in columns} == columns
    path.write_text(json.dumps({"error": "no such index"}))
    with pytest.raises(mc.InputError, match=r"response.json: from_.* needs a response without errors, got 'no such"):
        hit_tables.read(str(path), engine)


def test_fields_named_as_those_of_the_command_line_are_renamed(tmp_path: Path) -> None:
    path = tmp_path / "response.json"
    sources = [{"id": "sku", "score": 7, "query": "boots"}, {"id": "sku", "score": 8, "query": "shoes"}]
    hits = [{"_id": f"h{at}", "_score": 1.0 - at, "_source": source} for at, source in enumerate(sources)]
    path.write_text(json.dumps({"hits": {"hits": hits}}))
    (query,) = hit_tables.queries(hit_tables.read(str(path), "elasticsearch"))
    assert query.records == [
        {"id": f"h{at}", "score": 1.0 - at, "own_id": "sku", "own_score": 7 + at, "own_query": source["query"]}
        for at, source in enumerate(sources)
    ]
    path.write_text(json.dumps({"docs": [{"id": "1", "score": 1.5, "query": "x"}]}))
    assert hit_tables.read(str(path), "solr").records == [{"id": "1", "score": 1.5, "own_query": "x"}]
