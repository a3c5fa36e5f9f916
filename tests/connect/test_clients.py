"""Engines work on a client, table or connection of the caller's, and converters on what that client returned."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from engine_stores import DIM, OTHER_VECTORS, PRODUCT_VECTORS, PRODUCTS, Engine, new_database, unit

import mascot as mc
from mascot import errors
from mascot.connect import convert
from mascot.connect.source import Found, Steered, asteer, steer, steer_many

QUERY = unit(np.random.default_rng(5).normal(size=(1, DIM)))[0]
BEST = [f"p{at}" for at in np.argsort(-(PRODUCT_VECTORS @ QUERY), kind="stable")]
NEAR = OTHER_VECTORS[0]
NEAR_FIRST = [f"p{at}" for at in np.argsort(((OTHER_VECTORS - NEAR) ** 2).sum(axis=1), kind="stable")]
ALL = len(PRODUCTS)


@dataclass
class Shop:
    """A table of products that the caller has open."""

    source: Callable[[], Any]  # a new source over the client
    responses: Callable[[str, Any], list[mc.Candidates[Any]]]  # what converters make of the client's own searches
    count: Callable[[], int]  # asks the client itself: it must still be open


@pytest.fixture(scope="module")  # in a folder there is one client of Qdrant at a time
def shop(engine: Engine, products: str) -> Iterator[Shop]:
    with engine.client() as client:
        yield SHOPS[engine.name](client, products)


def lance_shop(client: Any, name: str) -> Shop:
    from mascot.connect.lance import LanceSource

    table = client.open_table(name)

    def responses(vector: str, query: Any) -> list[Any]:
        search = table.search(query, vector_column_name=vector).limit(ALL)
        results = (search.to_arrow(), search.to_list(), search.to_pandas(), search.to_polars())
        return [convert.from_lance(result, id="sku", vector=vector) for result in results]

    return Shop(partial(LanceSource.from_table, table, id="sku", vector="seen"), responses, table.count_rows)


def qdrant_shop(client: Any, name: str) -> Shop:
    from mascot.connect.qdrant import QdrantSource

    def responses(vector: str, query: Any) -> list[Any]:
        response = client.query_points(name, query=query.tolist(), using=vector, limit=ALL, with_vectors=True)
        candidates = convert.from_qdrant(response, vector=vector)
        candidates.ids = [point.payload["sku"] for point in response.points]
        assert candidates.source is not None
        assert candidates.source[0] is response.points[0]
        return [candidates]

    source = partial(QdrantSource.from_client, client, name, id="sku", vector="seen")
    return Shop(source, responses, lambda: client.count(name).count)


def milvus_shop(client: Any, name: str) -> Shop:
    from mascot.connect.milvus import MilvusSource

    def responses(vector: str, query: Any) -> list[Any]:
        fields = ["sku", "price", "brand", "extra", vector]
        response = client.search(name, data=[query], anns_field=vector, limit=ALL, output_fields=fields)
        candidates = convert.from_milvus(response, vector=vector)
        assert candidates.ids == [hit["number"] for hit in response[0]]
        candidates.ids = candidates.columns["sku"].tolist()
        return [candidates]

    source = partial(MilvusSource.from_client, client, name, id="sku", vector="seen")
    return Shop(source, responses, lambda: len(client.query(name, filter="number >= 0", output_fields=["number"])))


def postgres_shop(client: Any, name: str) -> Shop:
    from psycopg.rows import dict_row

    from mascot.connect.postgres import PostgresSource

    client.autocommit, client.row_factory = False, dict_row

    def responses(vector: str, query: Any) -> list[Any]:
        operator = "<=>" if vector == "seen" else "<->"
        cursor = client.execute(
            f"SELECT *, {vector} {operator} %s::vector AS far FROM {name} WHERE {vector} IS NOT NULL ORDER BY far",
            [str(query.tolist())],
        )
        candidates = convert.from_rows(cursor, id="sku", score="far", distances=True, vector=vector)
        client.rollback()
        return [candidates]

    def count() -> int:
        # Rows are dictionaries, as the caller's connection has them; one has no vector.
        number: int = client.execute(f"SELECT count(*) - 1 AS n FROM {name}").fetchone()["n"]
        client.rollback()
        return number

    return Shop(partial(PostgresSource.from_connection, client, name, vector="seen"), responses, count)


SHOPS = {"lance": lance_shop, "qdrant": qdrant_shop, "milvus": milvus_shop, "postgres": postgres_shop}


def test_a_source_searches_through_the_callers_client_and_leaves_it_open(shop: Shop) -> None:
    with shop.source() as source:
        assert source.search(QUERY, candidates=10).ids == BEST[:10]
        assert source.facts() == {}
    with pytest.raises(mc.InputError, match="is closed"):
        source.search(QUERY)
    assert shop.count() == ALL
    with shop.source() as again:
        assert again.search(QUERY, candidates=3, columns=["price"], vectors=False).ids == BEST[:3]


@pytest.mark.parametrize(
    ("vector", "query", "expected"), [("seen", QUERY, BEST), ("said", OTHER_VECTORS[0], NEAR_FIRST)]
)
def test_converters_read_what_the_client_returned(shop: Shop, vector: str, query: Any, expected: list[str]) -> None:
    """Similarities and distances alike: the best first, with columns, nested ones and vectors."""
    rows = {row["sku"]: row for row in PRODUCTS}
    vectors = dict(zip(rows, PRODUCT_VECTORS if vector == "seen" else OTHER_VECTORS, strict=True))
    for candidates in shop.responses(vector, query):
        assert mc.rerank(candidates, [], k=ALL).ids == expected
        assert candidates.columns["extra.at.lat"].tolist() == [
            rows[id_]["extra"]["at"]["lat"] for id_ in candidates.ids
        ]
        assert np.allclose(candidates.vectors, [vectors[id_] for id_ in candidates.ids], atol=1e-6)
        limited = mc.rerank(candidates, mc.limit("brand", 1), k=9)
        assert len(limited.records()) == len({row["brand"] for row in PRODUCTS})


def skus(steered: Steered) -> list[str]:
    return [record["sku"] for record in steered.records()]


def test_several_queries_and_tasks_find_what_single_searches_find(shop: Shop) -> None:
    queries = PRODUCT_VECTORS[:3] + QUERY
    wishes = [mc.limit("brand", 1), mc.spread("brand")]

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
    for part, single in zip(many, singles, strict=True):
        np.testing.assert_allclose(part.scores, single.scores, atol=1e-6)
        np.testing.assert_allclose(part.vectors, single.vectors, atol=1e-6)
        assert part.columns == single.columns
    assert [skus(part) for part in together] == [skus(part) for part in steered] == expected
    with pytest.raises(mc.InputError, match="is closed"):
        source.search_many(queries)


def test_pages_limits_shares_and_missing_columns_pass_through(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_WARNINGS", set())
    with shop.source() as source:
        page = partial(steer, source, QUERY, mc.limit("brand", 2), k=6, candidates=ALL)
        first = page()
        assert first.ranking is not None
        brands = [record["brand"] for record in first.records()]
        assert max(map(brands.count, brands)) == 2
        second, third = page(already=[*first.ranking.ids, "sold out", 7]), page(already=first.ranking)
        assert skus(second) == skus(third)
        assert set(skus(first)).isdisjoint(skus(second))
        assert second.ranking is not None
        assert second.ranking.records() == second.records()
        shares = steer(source, QUERY, mc.share("brand", {"Acme": 0.25}), k=8, candidates=ALL)
        assert [record["brand"] for record in shares.records()].count("Acme") == 2
        with pytest.warns(RuntimeWarning, match="no record has 'colour': its values count as missing"):
            colours = steer(source, QUERY, mc.spread("colour"), k=5, candidates=ALL)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert skus(steer(source, QUERY, mc.spread("colour"), k=5, candidates=ALL)) == skus(colours) == BEST[:5]


@pytest.fixture
def pairs(server: str) -> str:
    """A database with a table of two rows."""
    psycopg = pytest.importorskip("psycopg", reason="needs mascot-rerank[postgres]")
    base = new_database(server)
    with psycopg.connect(base) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE shop (sku text PRIMARY KEY, price numeric, vector vector(2))")
        connection.execute("INSERT INTO shop VALUES ('a', 1.5, '[1,0]'), ('b', 2.5, '[0,1]')")
    return base


def test_postgres_searches_through_a_pool_in_threads(pairs: str) -> None:
    pools = pytest.importorskip("psycopg_pool", reason="needs psycopg-pool")
    from mascot.connect.postgres import PostgresSource

    with pools.ConnectionPool(pairs, min_size=1, max_size=2, timeout=60) as pool:
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


def test_postgres_leaves_the_callers_transaction_and_settings_alone(pairs: str) -> None:
    import psycopg

    from mascot.connect.postgres import PostgresSource

    with psycopg.connect(pairs) as connection:
        # The row is not committed: the source sees it only within the caller's own transaction.
        connection.execute("INSERT INTO shop VALUES ('c', 3.5, '[1,1]')")
        before = connection.execute("SHOW statement_timeout").fetchone()
        source = PostgresSource.from_connection(connection, "shop")
        assert source.search([1.0, 0.0]).ids == ["a", "c", "b"]
        with pytest.raises(mc.OptionError, match="where"):
            source.search([1.0, 0.0], where="no_such > 3")
        source.close()
        assert connection.info.transaction_status.name == "INTRANS"
        assert connection.execute("SHOW statement_timeout").fetchone() == before
        assert connection.execute("SHOW transaction_read_only").fetchone() == ("off",)
        connection.commit()
        idle = PostgresSource.from_connection(connection, "shop")
        assert idle.search([1.0, 0.0]).columns["price"] == [1.5, 3.5, 2.5]
        assert connection.info.transaction_status.name == "IDLE"
