"""Engines work on a client, table or connection of the caller's; pages, limits and shares reach every connector."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_stores import postgres, unit

import mascot as mc
from mascot import errors
from mascot.connect.convert import from_rows, merge
from mascot.connect.source import Found, Steered, asteer, steer, steer_many

DIM, COUNT = 8, 40
VECTORS = unit(np.random.default_rng(3).normal(size=(COUNT, DIM)))
QUERY = unit(np.random.default_rng(5).normal(size=(1, DIM)))[0]
ROWS = [{"sku": f"p{at}", "seller": "acme" if at % 2 else f"s{at % 5}", "price": float(at)} for at in range(COUNT)]
BEST = [f"p{at}" for at in np.argsort(-(VECTORS @ QUERY), kind="stable")]


@dataclass
class Shop:
    """A table of products that the caller has open."""

    source: Callable[[], Any]  # a new source over the client
    count: Callable[[], int]  # asks the client itself: it must still be open
    schema: bool  # whether rows have fixed columns


def lance_shop(folder: Path) -> Iterator[Shop]:
    lancedb = pytest.importorskip("lancedb", reason="needs mascot-rerank[lance]")
    from mascot.connect.lance import LanceSource

    rows = [{**row, "vector": vector.tolist()} for row, vector in zip(ROWS, VECTORS, strict=True)]
    table = lancedb.connect(folder).create_table("shop", rows)
    yield Shop(lambda: LanceSource.from_table(table, id="sku"), table.count_rows, True)


def qdrant_shop(folder: Path) -> Iterator[Shop]:
    qdrant = pytest.importorskip("qdrant_client", reason="needs mascot-rerank[qdrant]")
    from mascot.connect.qdrant import QdrantSource

    client, models = qdrant.QdrantClient(":memory:"), qdrant.models
    client.create_collection("shop", vectors_config=models.VectorParams(size=DIM, distance=models.Distance.COSINE))
    client.upsert(
        "shop", points=[models.PointStruct(id=at, vector=VECTORS[at].tolist(), payload=ROWS[at]) for at in range(COUNT)]
    )
    yield Shop(lambda: QdrantSource.from_client(client, "shop", id="sku"), lambda: client.count("shop").count, False)
    client.close()


def milvus_shop(folder: Path) -> Iterator[Shop]:
    pytest.importorskip("milvus_lite", reason="needs mascot-rerank[milvus] and milvus-lite")
    pymilvus = pytest.importorskip("pymilvus", reason="needs mascot-rerank[milvus]")
    from mascot.connect.milvus import MilvusSource

    client = pymilvus.MilvusClient(str(folder / "shop.db"))
    schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("sku", pymilvus.DataType.VARCHAR, is_primary=True, max_length=16)
    schema.add_field("vector", pymilvus.DataType.FLOAT_VECTOR, dim=DIM)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="COSINE")
    client.create_collection("shop", schema=schema, index_params=index, consistency_level="Strong")
    client.insert("shop", [{**row, "vector": vector.tolist()} for row, vector in zip(ROWS, VECTORS, strict=True)])

    def count() -> int:
        return int(client.query("shop", filter="", output_fields=["count(*)"])[0]["count(*)"])

    yield Shop(lambda: MilvusSource.from_client(client, "shop"), count, False)
    client.close()


def postgres_shop(folder: Path) -> Iterator[Shop]:
    psycopg = pytest.importorskip("psycopg", reason="needs mascot-rerank[postgres]")
    from mascot.connect.postgres import PostgresSource

    with postgres() as base, psycopg.connect(base, row_factory=psycopg.rows.dict_row) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(
            f"CREATE TABLE shop (sku text PRIMARY KEY, seller text, price numeric, vector vector({DIM}))"
        )
        for row, vector in zip(ROWS, VECTORS, strict=True):
            values = [*row.values(), str(vector.tolist())]
            connection.execute("INSERT INTO shop VALUES (%s, %s, %s, %s::vector)", values)
        connection.commit()

        def count() -> int:
            # Rows are dictionaries, and numbers Decimals, as the caller's connection has them.
            number: int = connection.execute("SELECT count(*) AS n FROM shop").fetchone()["n"]
            connection.rollback()
            return number

        yield Shop(lambda: PostgresSource.from_connection(connection, "shop"), count, True)


SHOPS = {"lance": lance_shop, "qdrant": qdrant_shop, "milvus": milvus_shop, "postgres": postgres_shop}


@pytest.fixture(scope="module", params=list(SHOPS))
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    yield from SHOPS[request.param](tmp_path_factory.mktemp(request.param))


def test_a_source_searches_through_the_callers_client_and_leaves_it_open(shop: Shop) -> None:
    with shop.source() as source:
        found = source.search(QUERY, candidates=10)
        assert found.ids == BEST[:10]
        assert source.facts() == {}
    with pytest.raises(mc.InputError, match="is closed"):
        source.search(QUERY)
    assert shop.count() == COUNT
    with shop.source() as again:
        assert again.search(QUERY, candidates=3, columns=["price"], vectors=False).ids == BEST[:3]


def skus(steered: Steered) -> list[str]:
    return [record["sku"] for record in steered.records()]


def test_several_queries_and_tasks_find_what_single_searches_find(shop: Shop) -> None:
    queries = VECTORS[:3] + QUERY
    wishes = [mc.limit("seller", 1), mc.spread("seller")]

    async def gather(source: Any) -> tuple[list[Found], list[Steered]]:
        hits = await asyncio.gather(*(source.asearch(query, candidates=9, vectors=False) for query in queries))
        steered = await asyncio.gather(*(asteer(source, query, wishes, 4, candidates=20) for query in queries))
        return hits, steered

    with shop.source() as source:
        singles = [source.search(query, candidates=9) for query in queries]
        many = source.search_many(queries, candidates=9)
        tasks, steered = asyncio.run(gather(source))
        expected = [skus(steer(source, query, wishes, 4, candidates=20)) for query in queries]
        together = steer_many(source, queries, wishes, 4, candidates=20)
        assert source.search_many(np.empty((0, DIM))) == []
        with pytest.raises(mc.InputError, match="numbers, and the one to search with has 3"):
            source.search_many([[1.0, 2.0, 3.0]])
    assert [part.ids for part in many] == [part.ids for part in tasks] == [part.ids for part in singles]
    for one, other in zip(many, singles, strict=True):
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)
        np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-6)  # type: ignore[arg-type]
        assert one.columns == other.columns
    assert [skus(part) for part in together] == [skus(part) for part in steered] == expected
    with pytest.raises(mc.InputError, match="is closed"):
        source.search_many(queries)


def test_postgres_searches_through_a_pool_in_threads() -> None:
    psycopg = pytest.importorskip("psycopg", reason="needs mascot-rerank[postgres]")
    pools = pytest.importorskip("psycopg_pool", reason="needs psycopg-pool")
    from mascot.connect.postgres import PostgresSource

    with postgres() as base:
        with psycopg.connect(base) as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute("CREATE TABLE shop (sku text PRIMARY KEY, vector vector(2))")
            connection.execute("INSERT INTO shop VALUES ('a', '[1,0]'), ('b', '[0,1]')")
        with pools.ConnectionPool(base, min_size=1, max_size=2, timeout=60) as pool:
            with PostgresSource.from_connection(pool, "shop") as source, ThreadPoolExecutor(4) as threads:
                assert [hits.ids for hits in threads.map(source.search, [[1.0, 0.0]] * 12)] == [["a", "b"]] * 12
                with pytest.raises(mc.OptionError, match="where"):
                    source.search([1.0, 0.0], where="no_such > 3")
                assert source.facts() == {}
            with pytest.raises(mc.InputError, match="is closed"):
                source.search([1.0, 0.0])
            with pool.connection() as connection:  # the pool is still open, and its connections are as before
                assert connection.execute("SHOW transaction_read_only").fetchone() == ("off",)
        with pytest.raises(mc.InputError, match="cannot use"):
            PostgresSource.from_connection(pool, "shop")


def test_pages_limits_and_shares_pass_through(shop: Shop) -> None:
    with shop.source() as source:
        wishes = [mc.limit("seller", 2)]
        first = steer(source, QUERY, wishes, k=6, candidates=COUNT)
        assert first.ranking is not None
        sellers = [record["seller"] for record in first.records()]
        assert max(map(sellers.count, sellers)) == 2
        second = steer(source, QUERY, wishes, k=6, candidates=COUNT, already=[*first.ranking.ids, "sold out", 7])
        third = steer(source, QUERY, wishes, k=6, candidates=COUNT, already=first.ranking)
        assert second.ranking is not None
        assert third.ranking is not None
        assert second.ranking.ids == third.ranking.ids
        assert set(first.ranking.ids).isdisjoint(second.ranking.ids)
        assert second.ranking.records() == second.records()
        shares = steer(source, QUERY, mc.share("seller", {"acme": 0.25}), k=8, candidates=COUNT)
        assert [record["seller"] for record in shares.records()].count("acme") == 2


def test_a_column_that_no_row_has_is_missing_with_one_warning(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_WARNINGS", set())
    with shop.source() as source:
        with pytest.warns(RuntimeWarning, match="no record has 'colour': its values count as missing"):
            first = steer(source, QUERY, mc.spread("colour"), k=5, candidates=COUNT)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = steer(source, QUERY, mc.spread("colour"), k=5, candidates=COUNT)
        assert first.ranking is not None
        assert again.ranking is not None
        assert first.ranking.ids == again.ranking.ids == BEST[:5]


def test_several_sources_are_merged_before_re_ranking(shop: Shop) -> None:
    with shop.source() as source:
        found = source.search(QUERY, candidates=20)
    half = [found_part(found, slice(start, None, 2)) for start in range(2)]
    merged = merge(*(part.candidates() for part in half), rescale=False)
    assert merged.ids == found.ids
    wish = mc.spread("seller")
    ranking = mc.rerank(merged, wish, k=6)
    assert ranking.ids == mc.rerank(found.candidates(), wish, k=6).ids
    assert [record["sku"] for record in ranking.records()] == ranking.ids


def found_part(found: Found, part: slice) -> Found:
    columns = {name: values[part] for name, values in found.columns.items()}
    return Found(found.ids[part], found.scores[part], columns)


def test_a_found_with_columns_of_other_lengths_is_refused() -> None:
    with pytest.raises(mc.InputError, match=r"Found.columns\['seller'\] must have 2 values like ids, got 1"):
        Found(["a", "b"], np.array([1.0, 0.5]), {"seller": ["x"]}).candidates()


def test_postgres_leaves_the_callers_transaction_and_settings_alone() -> None:
    psycopg = pytest.importorskip("psycopg", reason="needs mascot-rerank[postgres]")
    from mascot.connect.postgres import PostgresSource

    with postgres() as base, psycopg.connect(base) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE shop (sku text PRIMARY KEY, seller text, price numeric, vector vector(2))")
        connection.execute("INSERT INTO shop VALUES ('a', 'acme', 1.5, '[1,0]'), ('b', 'bolt', 2.5, '[0,1]')")
        # The table is not committed: the source sees it only within the caller's own transaction.
        before = connection.execute("SHOW statement_timeout").fetchone()
        source = PostgresSource.from_connection(connection, "shop")
        assert source.search([1.0, 0.0]).ids == ["a", "b"]
        with pytest.raises(mc.OptionError, match="where"):
            source.search([1.0, 0.0], where="no_such > 3")
        source.close()
        assert connection.info.transaction_status.name == "INTRANS"
        assert connection.execute("SHOW statement_timeout").fetchone() == before
        assert connection.execute("SHOW transaction_read_only").fetchone() == ("off",)
        connection.execute("INSERT INTO shop VALUES ('c', 'core', 3.5, '[1,1]')")
        connection.commit()
        idle = PostgresSource.from_connection(connection, "shop")
        assert idle.search([1.0, 0.0]).columns["price"] == [1.5, 3.5, 2.5]
        assert connection.info.transaction_status.name == "IDLE"
        cursor = connection.execute(
            "SELECT sku AS id, seller, vector <=> '[1,0]' AS far, vector FROM shop ORDER BY far"
        )
        rows = from_rows(cursor, score="far", distances=True, vector="vector")
        assert mc.rerank(rows, mc.spread("seller"), k=3).ids == ["a", "c", "b"]
        assert rows.vectors is not None
        assert rows.vectors.tolist() == [[1, 0], [1, 1], [0, 1]]


# Frameworks

SOURCES = ["guide", "guide", "guide", "forum", "news"]


def langchain_documents(ids: bool) -> list[Any]:
    documents = pytest.importorskip("langchain_core.documents", reason="needs mascot-rerank[langchain]")
    return [
        documents.Document(page_content=f"text {at}", metadata={"source": source}, id=f"d{at}" if ids else None)
        for at, source in enumerate(SOURCES)
    ]


@pytest.mark.parametrize("ids", [True, False])
def test_langchain_takes_k_wishes_and_already_of_a_call(ids: bool) -> None:
    hits = langchain_documents(ids)
    from mascot.connect.langchain import SteeredCompressor
    from mascot.connect.langchain import steer as steered

    compressor = SteeredCompressor(wishes=[], k=5)
    assert compressor.compress_documents(hits, "query") == hits
    wish = mc.limit("source", 1)
    first = compressor.compress_documents(hits, "query", k=2, wishes=wish)
    assert [hits.index(hit) for hit in first] == [0, 3]
    rest = compressor.compress_documents(hits, k=2, already=first)
    assert [hits.index(hit) for hit in rest] == [1, 2]
    if ids:
        assert compressor.compress_documents(hits, k=2, already=["d0", "d3", "gone"]) == rest
    runnable = steered([], k=5)
    assert runnable.invoke(hits, k=2, wishes=[wish]) == first
    call = {"configurable": {"mascot": {"k": 2, "already": first}}}
    assert runnable.invoke(hits, call) == rest
    from langchain_core.runnables import RunnableLambda

    chain = RunnableLambda(lambda question: hits) | runnable
    assert chain.invoke("question", call) == rest
    assert chain.invoke("question") == hits
    pairs = [(hit, 1 - at / 10) for at, hit in enumerate(hits)]
    assert runnable.invoke(pairs, k=2, already=first) == [pairs[1], pairs[2]]
    with pytest.raises(mc.OptionError, match=r"configurable\['mascot'\] takes k, wishes and already, got top"):
        runnable.invoke(hits, {"configurable": {"mascot": {"top": 2}}})
    with pytest.raises(mc.OptionError, match="k must be a whole number >= 1, got 0"):
        compressor.compress_documents(hits, k=0)
    with pytest.raises(mc.InputError, match="already must be a list of ids or of documents"):
        compressor.compress_documents(hits, already="d0")


def test_llamaindex_takes_k_wishes_and_already_of_a_call() -> None:
    schema = pytest.importorskip("llama_index.core.schema", reason="needs mascot-rerank[llamaindex]")
    from mascot.connect.llamaindex import SteeredPostprocessor

    nodes = [
        schema.NodeWithScore(
            node=schema.TextNode(id_=f"n{at}", text=f"{at}", metadata={"source": source}), score=1 - at / 9
        )
        for at, source in enumerate(SOURCES)
    ]
    steered = SteeredPostprocessor(wishes=[], k=5)
    assert steered.postprocess_nodes(nodes, query_str="query") == nodes
    first = steered.postprocess_nodes(nodes, k=2, wishes=mc.limit("source", 1))
    assert [node.node_id for node in first] == ["n0", "n3"]
    for already in (first, ["n0", "n3", "gone"], [node.node for node in first]):
        assert [node.node_id for node in steered.postprocess_nodes(nodes, k=2, already=already)] == ["n1", "n2"]
    assert steered.postprocess_nodes([], k=2) == []


def test_haystack_takes_query_top_k_and_already() -> None:
    haystack = pytest.importorskip("haystack", reason="needs mascot-rerank[haystack]")
    from mascot.connect.haystack import SteeredRanker

    documents = [
        haystack.Document(id=f"h{at}", content=f"{at}", meta={"source": source}, score=1 - at / 9)
        for at, source in enumerate(SOURCES)
    ]
    ranker = SteeredRanker([mc.limit("source", 1, fill=True)], top_k=4)

    def ids(**options: Any) -> list[str]:
        return [document.id for document in ranker.run(documents=documents, **options)["documents"]]

    assert ids(query="query") == ids(query="query", top_k=4)
    assert ids(query="query", top_k=2) == ids(k=2) == ["h0", "h3"]
    assert ids(top_k=1, already=["h0", "h3", "gone"]) == ids(top_k=1, already=[documents[0], documents[3]])
    assert set(ids(already=["h0", "h3"])) == {"h1", "h2", "h4"}
    assert SteeredRanker.from_dict(ranker.to_dict()).run(documents=documents) == ranker.run(documents=documents)
    pipeline = haystack.Pipeline()
    pipeline.add_component("ranker", ranker)
    result = pipeline.run({"ranker": {"documents": documents, "query": "query", "top_k": 2}})
    assert [document.id for document in result["ranker"]["documents"]] == ["h0", "h3"]
    with pytest.raises(mc.OptionError, match="top_k is another name for k"):
        ids(top_k=1, k=2)
