"""A converter keeps the hits: what a search returned comes back in a new order, as the same objects."""

from __future__ import annotations

import pickle
import sqlite3
import warnings
from collections import namedtuple
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.candidates import value_of
from mascot.cli.hit_tables import RecordTable
from mascot.connect import converters as convert
from mascot.connect.converters.hit_lists import NamedColumns

SELLERS = ["acme", "acme", "acme", "bolt", "core"]
VECTORS = [[1.0, 0.0], [0.9, 0.1], [0.8, 0.2], [0.0, 1.0], [-1.0, 0.0]]
FIELDS: list[dict[str, Any]] = [
    {"seller": seller, "price": 10 + at, "geo": {"lat": 50.0 + at, "lon": 8.0}, "vector": VECTORS[at]}
    for at, seller in enumerate(SELLERS)
]
SCORES = [0.9, 0.8, 0.7, 0.6, 0.5]
DISTANCES = [0.1, 0.2, 0.3, 0.4, 0.5]
IDS = ["a", "b", "c", "d", "e"]
EACH = list(zip(IDS, SCORES, DISTANCES, FIELDS, strict=True))
NAMES = ["id", "score", "seller", "price", "geo", "vector"]
TUPLES = [(id_, score, *fields.values()) for id_, score, _, fields in EACH]
ELASTIC_HITS = [{"_index": "products", "_id": i, "_score": score, "_source": fields} for i, score, _, fields in EACH]
SOLR_DOCS = [{"id": i, "score": score, **fields, "seller": [fields["seller"]]} for i, score, _, fields in EACH]
CHROMA = {
    "ids": [["z"], IDS], "distances": [[0.0], DISTANCES], "metadatas": [[None], FIELDS], "uris": None, "data": None,
    "documents": [["none"], [f"text {id_}" for id_ in IDS]], "embeddings": [[[0.0, 0.0]], VECTORS],
    "included": ["distances", "metadatas", "documents", "embeddings"],
}  # fmt: skip
Case = tuple[mc.Candidates[Any], Sequence[Any]]


def point(id_: Any, score: float, fields: dict[str, Any]) -> Any:
    """As a point of Qdrant: an object, not a dictionary."""
    return SimpleNamespace(id=id_, score=score, payload=fields, vector=fields.get("vector"))


def vector_engines() -> Iterator[tuple[str, mc.Candidates[Any], Sequence[Any]]]:
    """Yield the name of a form of response, its candidates, and the hits that rankings must return."""
    points = [point(id_, score, fields) for id_, score, _, fields in EACH]
    yield "qdrant", convert.from_qdrant(SimpleNamespace(points=points), vector=""), points
    apart = [point(id_, far, fields) for id_, _, far, fields in EACH]
    yield "qdrant distances", convert.from_qdrant(apart, vector=""), apart
    plain = [{"version": 0, **vars(hit)} for hit in points]
    yield "qdrant json", convert.from_qdrant({"result": {"points": plain}, "status": "ok"}, vector=""), plain
    hits = [{"id": id_, "distance": score, "entity": fields} for id_, score, _, fields in EACH]
    yield "milvus", convert.from_milvus([hits], vector="vector"), hits
    far_hits = [{"id": id_, "distance": far, "entity": fields} for id_, _, far, fields in EACH]
    yield "milvus distances", convert.from_milvus(far_hits, vector="vector"), far_hits
    flat = [{"id": id_, "distance": score, **fields} for id_, score, _, fields in EACH]
    yield "milvus json", convert.from_milvus({"code": 0, "data": flat}, vector="vector"), flat
    for name, kinds in (("weaviate", ["distance"]), ("weaviate hybrid", ["score", "distance"])):
        objects = [
            SimpleNamespace(
                uuid=id_,
                properties=fields,
                metadata=SimpleNamespace(**{kind: {"distance": far, "score": score}[kind] for kind in kinds}),
                vector={"default": fields["vector"]},
            )
            for id_, score, far, fields in EACH
        ]
        yield name, convert.from_weaviate(SimpleNamespace(objects=objects), vector="default"), objects
    rows = [
        {**fields, "_additional": {"id": id_, "distance": far, "vector": fields["vector"]}}
        for id_, _, far, fields in EACH
    ]
    yield "weaviate graphql", convert.from_weaviate({"data": {"Get": {"Product": rows}}}, vector="default"), rows
    chroma = convert.from_chroma(CHROMA, vectors=True, query=1)
    yield "chroma", chroma, list(chroma.source or ())
    labels, distances = np.array([[0, 1, 2, 3, 4, -1]]), np.array([[*DISTANCES, 3.4e38]], np.float32)
    products = [{**fields, "id": id_} for id_, _, _, fields in EACH]
    faiss = convert.from_faiss(distances, labels, products, vectors=np.array([[*VECTORS, [0.0, 0.0]]]))
    yield "faiss", faiss, products
    lance = [{"id": id_, "_distance": far, **fields} for id_, _, far, fields in EACH]
    yield "lance", convert.from_lance(lance, vector="vector"), lance


def text_engines() -> Iterator[tuple[str, mc.Candidates[Any], Sequence[Any]]]:
    body = {"took": 3, "hits": {"total": {"value": 5}, "max_score": 0.9, "hits": ELASTIC_HITS}}
    for name, response in {"elasticsearch": body, "elasticsearch client": SimpleNamespace(body=body)}.items():
        yield name, convert.from_elasticsearch(response, vector="vector"), ELASTIC_HITS
    details: dict[str, dict[str, Any]] = {
        "typesense": {"text_match": [5, 4, 3, 2, 1]},
        "typesense vector": {"vector_distance": DISTANCES},
        "typesense hybrid": {
            "text_match": [1, 2, 3, 4, 5], "vector_distance": [0.5] * 5,
            "hybrid_search_info": [{"rank_fusion_score": score} for score in SCORES],
        },
    }  # fmt: skip
    for name, parts in details.items():
        matches = [
            {"document": {"id": id_, **fields}, **{kind: values[at] for kind, values in parts.items()}}
            for at, (id_, _, _, fields) in enumerate(EACH)
        ]
        yield name, convert.from_typesense({"results": [{"found": 5, "hits": matches}]}, vector="vector"), matches
    children = [{"id": id_, "relevance": score, "source": "shop", "fields": fields} for id_, score, _, fields in EACH]
    group = {"id": "group:root:0", "relevance": 1.0, "children": []}
    root = {"id": "toplevel", "fields": {"totalCount": 5}, "children": [*children, group]}
    yield "vespa", convert.from_vespa({"root": root}, vector="vector"), children
    solr = {"responseHeader": {"status": 0}, "response": {"numFound": 5, "docs": SOLR_DOCS}}
    yield "solr", convert.from_solr(solr, vector="vector"), SOLR_DOCS
    algolia = [{"objectID": id_, **fields, "_highlightResult": {}} for id_, _, _, fields in EACH]
    yield "algolia", convert.from_algolia({"hits": algolia, "nbHits": 5, "page": 0}), algolia
    yield "rows", convert.from_rows(TUPLES, NAMES, vector="vector"), TUPLES
    named = [namedtuple("Row", NAMES)(*row) for row in TUPLES]
    yield "named tuples", convert.from_rows(named, vector="vector"), named


CASES: dict[str, Case] = {name: (candidates, hits) for name, candidates, hits in [*vector_engines(), *text_engines()]}


FAR = ["qdrant distances", "milvus distances", "weaviate", "weaviate graphql", "chroma", "faiss", "lance"]
SCALES = {key: [-far for far in DISTANCES] for key in [*FAR, "typesense vector"]} | {"typesense": [5, 4, 3, 2, 1]}


@pytest.mark.parametrize("name", list(CASES))
def test_records_are_the_hits_and_columns_their_fields(name: str) -> None:
    candidates, hits = CASES[name]
    assert candidates.ids in (IDS, [0, 1, 2, 3, 4])
    columns = {column: candidates.columns[column].tolist() for column in ("seller", "price", "geo.lat")}
    assert columns == {"seller": SELLERS, "price": [10, 11, 12, 13, 14], "geo.lat": [50.0, 51.0, 52.0, 53.0, 54.0]}
    if name == "algolia":  # the order of the hits alone
        assert (np.diff(candidates.scores) < 0).all()
    else:
        np.testing.assert_allclose(candidates.scores, SCALES.get(name, SCORES), rtol=1e-6)
        np.testing.assert_allclose(candidates.vectors, VECTORS, rtol=1e-6)
    ranking = mc.rerank(candidates, mc.limit("seller", 1), k=3)
    records = ranking.records()
    if name == "chroma":  # has no object for a hit
        assert records == [hits[at] for at in (0, 3, 4)]
    else:
        assert [id(record) for record in records] == [id(hits[at]) for at in (0, 3, 4)], "the same objects"
    rest = mc.rerank(candidates, mc.spread("seller"), k=5, already=[*ranking.ids, "gone", 77])
    assert sorted(rest.positions.tolist()) == [1, 2]
    with pytest.raises(mc.InputError, match=r"^Category needs column 'colour', got columns: "):
        mc.rerank(candidates, mc.spread("colour"), k=3)


def test_hits_without_scores_and_with_lists_of_one_value() -> None:
    hits = [{"_index": f"i{at}", "_id": id_, "_score": None, "fields": {"seller": ["acme"], "tags": ["x", "y"]}}
            for at, id_ in enumerate(IDS)]  # fmt: skip
    candidates = convert.from_elasticsearch(hits)
    assert mc.rerank(candidates, [], k=5).ids == IDS
    columns = {name: candidates.columns[name].tolist()[1] for name in ("seller", "tags", "_index")}
    assert columns == {"seller": "acme", "tags": ["x", "y"], "_index": "i1"}


def test_a_response_without_hits_is_no_candidates() -> None:
    hits: dict[str, Any] = {"hits": []}
    responses: dict[str, Any] = {
        "elasticsearch": {"hits": hits}, "typesense": {"found": 0, **hits}, "algolia": hits,
        "solr": {"response": {"docs": []}}, "chroma": {"ids": [[]], "distances": [[]], "metadatas": [[]]},
        "qdrant": [], "milvus": [[]], "weaviate": [], "lance": [], "rows": [], "vespa": {"root": {"id": "0"}},
        "pinecone": {"matches": []}, "meilisearch": hits, "mongodb": [], "redis": [0], "azure_search": {"value": []},
        "vertex_search": {"results": []},
    }  # fmt: skip
    empty = [getattr(convert, f"from_{name}")(response) for name, response in responses.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for candidates in (
            *empty, convert.from_faiss([[3.4e38]], [[-1]]), convert.from_qdrant({"result": {"groups": []}}),
            convert.from_solr({"grouped": {"a": {"groups": []}}}),
        ):  # fmt: skip
            assert mc.rerank(candidates, mc.spread("seller"), k=3).records() == []


@pytest.mark.parametrize("name", [name for name in dir(convert) if name.startswith("from_") and name != "from_faiss"])
def test_what_cannot_be_read_is_named(name: str) -> None:
    for response in ({"error": "index_not_found"}, None, 3, "text"):
        with pytest.raises(mc.InputError, match=f"^{name} needs .*, got "):
            getattr(convert, name)(response)


TABLE = "CREATE TABLE product (id TEXT, score DOUBLE, seller TEXT{})"
BY_SCORE = "SELECT * FROM product ORDER BY score DESC"


def sqlite_rows() -> Iterator[Any]:
    connection = sqlite3.connect(":memory:")
    connection.execute(TABLE.format(""))
    connection.executemany("INSERT INTO product VALUES (?, ?, ?)", [row[:3] for row in TUPLES])
    yield connection.execute(BY_SCORE)
    connection.row_factory = sqlite3.Row
    yield connection.execute(BY_SCORE).fetchall()


class Result:
    """What SQLAlchemy and DuckDB return: rows to fetch, and the names of their columns."""

    def __init__(self, rows: Sequence[Any], **named: Any) -> None:
        vars(self).update(named, fetchall=lambda: rows)


def sqlalchemy_rows() -> Iterator[Any]:
    row = namedtuple("Row", NAMES[:3])
    for rows in (
        [row(*cells[:3]) for cells in TUPLES],
        [dict(zip(NAMES[:3], cells, strict=False)) for cells in TUPLES],
    ):
        yield Result(rows, keys=lambda: NAMES[:3])
        yield rows


def duckdb_rows() -> Iterator[Any]:
    rows = [dict(zip(NAMES[:3], cells, strict=False)) | {"geo": {"lat": 1.5}} for cells in TUPLES]
    table = pytest.importorskip("pyarrow").Table.from_pylist(rows)
    names = [*NAMES[:3], "geo"]
    description, cells = [(name, "TYPE") for name in names], [tuple(row.values()) for row in rows]
    relation = Result(cells, description=description, columns=names, shape=(5, 4))
    for result in (table, table.to_pandas(), pytest.importorskip("polars").from_arrow(table), relation):
        assert convert.from_rows(result).columns["geo.lat"].tolist() == [1.5] * 5
        yield result
    yield Result(cells, description=description)


@pytest.mark.parametrize("results", [sqlite_rows, sqlalchemy_rows, duckdb_rows])
def test_rows_of_databases_in_every_form(results: Any) -> None:
    for rows in results():
        ranking = mc.rerank(convert.from_rows(rows), mc.limit("seller", 1), k=3)
        assert ranking.ids == ["a", "d", "e"]
        record = ranking.records()[1]
        assert (record["seller"] if hasattr(record, "keys") else record[2]) == "bolt"
        assert not isinstance(rows, list) or record is rows[3]


def test_results_of_lance_in_every_form() -> None:
    rows = [{"id": id_, "_distance": distance, **fields} for id_, _, distance, fields in EACH]
    table = pytest.importorskip("pyarrow").Table.from_pylist(rows)
    polars = pytest.importorskip("polars").from_arrow(table)
    for result in (table, rows, table.to_pandas(), polars):
        candidates = convert.from_lance(result, vector="vector")
        assert np.allclose(candidates.scores, np.negative(DISTANCES))
        assert np.allclose(candidates.vectors, VECTORS)
        assert mc.rerank(candidates, mc.limit("seller", 1), k=3).ids == ["a", "d", "e"]


def test_vectors_of_pgvector_are_text() -> None:
    rows = [("a", 0.9, "[1,0.5]"), ("b", 0.8, "[0,1]")]
    assert convert.from_rows(rows, ["id", "score", "v"], vector="v").vectors.tolist() == [[1.0, 0.5], [0.0, 1.0]]


@pytest.mark.parametrize("far", [[[0.0, 0.02, 0.08, 2.0, 4.0]], [[1.0, 0.9, 0.8, 0.0, -1.0]]], ids=["L2", "cosine"])
def test_arrays_of_faiss_by_both_metrics(far: list[list[float]]) -> None:
    scores, labels = np.array(far, np.float32), np.arange(5)[None]
    unfilled = np.full((1, 3), -1)  # more were asked for than there are
    padded = (
        np.hstack([scores, unfilled * np.sign(scores[0, -1] - scores[0, 0]) * -1e38]),
        np.hstack([labels, unfilled]),
    )
    ranking = mc.rerank(convert.from_faiss(*padded, FIELDS), mc.limit("seller", 1), k=3)
    assert ranking.ids == [0, 3, 4]
    assert ranking.records()[1] is FIELDS[3]
    compared = convert.from_faiss(scores, labels, dict(enumerate(FIELDS)), vectors=np.array([VECTORS]))
    assert np.allclose(compared.vectors, VECTORS)
    assert mc.rerank(convert.from_faiss(scores, labels), [], k=2).records() == [0, 1]


def test_merge_rescales_each_source_and_keeps_the_better_of_two() -> None:
    text = convert.from_elasticsearch(ELASTIC_HITS)
    image = convert.from_qdrant(
        [point("c", 0.31, {"seller": "acme", "colour": "red"}), point("x", 0.2, {"seller": "dust"})]
    )
    merged = convert.merge(text, image)
    assert merged.ids == ["a", "c", "b", "d", "e", "x"]
    assert merged.scores.tolist() == pytest.approx([1, 1, 0.75, 0.25, 0, 0], abs=1e-6)
    assert merged.columns["colour"].tolist() == [None, "red", None, None, None, None]
    assert merged.columns["seller"].tolist() == ["acme", "acme", "acme", "bolt", "core", "dust"]
    records = mc.rerank(merged, mc.limit("seller", 1), k=4).records()
    assert records[0] is (text.source or ())[0]
    assert records[-1] is (image.source or ())[1]
    assert convert.merge(text, image, best=2).ids == ["a", "c"]
    shards = convert.merge(text, image, rescale=False)
    assert (shards.ids, shards.scores.tolist()) == ([*IDS, "x"], [*SCORES, 0.2])


def test_merge_with_names_keeps_ids_apart_and_vectors_of_one_length() -> None:
    shop = mc.Candidates([3.0, 2.0], columns={"seller": ["a", "b"]}, vectors=np.eye(2))
    blog = mc.Candidates([0.9, 0.8], columns={"author": ["x", "y"]})
    merged = convert.merge(shop, blog, names=["shop", "blog"])
    assert sorted(merged.ids) == [("blog", 0), ("blog", 1), ("shop", 0), ("shop", 1)]
    assert mc.rerank(merged, mc.limit("source", 1), k=4).ids == [("shop", 0), ("blog", 0)]
    assert merged.source is None
    assert np.isnan(merged.vectors).all(axis=1).sum() == 2
    assert convert.merge(shop, mc.Candidates([1.0], ["c"], vectors=np.eye(3)[:1])).vectors is None
    assert len(convert.merge()) == 0
    with pytest.raises(mc.OptionError, match="merge names must be 2 different names"):
        convert.merge(shop, blog, names=["shop"])


def test_candidates_may_be_sent_to_another_process() -> None:
    table = pytest.importorskip("pyarrow").table({"id": IDS, "score": SCORES, "seller": SELLERS})
    for candidates in (CASES["chroma"][0], CASES["rows"][0], convert.from_rows(table)):
        again = pickle.loads(pickle.dumps(candidates))
        assert mc.rerank(again, mc.limit("seller", 1), k=3).records() == [
            (candidates.source or ())[at] for at in (0, 3, 4)
        ]


LEAVES = st.none() | st.integers() | st.text(max_size=3)
ROWS = st.dictionaries(
    st.sampled_from(["a", "b", "a.b", "b.a"]),
    st.recursive(LEAVES, lambda inner: st.dictionaries(st.sampled_from(["a", "b", "a.b"]), inner, max_size=2)),
)


@given(ROWS)
@settings(max_examples=25)
def test_a_column_of_that_name_comes_first_and_dictionaries_are_looked_into(row: dict[str, Any]) -> None:
    columns = NamedColumns(1, row, {name: [value] for name, value in row.items()}.__getitem__)
    for name, value in row.items():
        assert value_of(row, name) == value
        for key, inner in value.items() if isinstance(value, dict) else ():
            RecordTable("t", [row], [1]).require(f"{name}.{key}", "it is there, even if its value is None")
            if f"{name}.{key}" not in row and inner is not None:
                assert columns.cells(f"{name}.{key}") == [value_of(row, f"{name}.{key}")]
