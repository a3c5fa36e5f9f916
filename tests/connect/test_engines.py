"""Every engine keeps the same promises: what is put in is found again, in the order of exact comparison.

Engines also work on a client, table or connection of the caller's, and converters on what that client returned.
"""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import mascot as mc
from mascot.connect.engines import EngineHits, NoKey, Steered, asteer, open_sink, open_source, steer, steer_many
from mascot.photos.indexing.table_sink import FIELDS
from tests.connect import engine_stores as stores
from tests.connect.engine_stores import DIM, OTHER_VECTORS, PRODUCT_VECTORS, PRODUCTS, Engine, Shop, some_rows, unit

COUNT = 260
ROWS = some_rows(COUNT)
STATE = ("path", "size", "mtime_ns", "hash", "stamp")
VECTORS = unit(np.random.default_rng(8).normal(size=(COUNT, DIM)))
QUERY = unit(np.random.default_rng(9).normal(size=(1, DIM)))[0]


def put(uri: str, rows: list[dict[str, Any]], vectors: Any, facts: dict[str, str] | None = None) -> str:
    tokens = vectors.shape[1] if vectors.ndim == 3 else 1
    with open_sink(uri, fields=FIELDS, dim=vectors.shape[-1], tokens=tokens) as sink:
        sink.put(rows, vectors)
        if facts is not None:
            sink.set_facts(facts)
    return uri


def search(uri: str, vector: Any = QUERY, **options: Any) -> EngineHits:
    with open_source(uri) as source:
        return source.search(vector, **options)


def nearest(scores: Any, count: int = 200, among: Any = None) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    return [int(i) for i in order if among is None or among[i]][:count]


def paths(positions: list[int]) -> list[str]:
    return [ROWS[i]["path"] for i in positions]


BEST = nearest(VECTORS @ QUERY)
IN_PORTUGAL = nearest(VECTORS @ QUERY, among=[row["country"] == "PT" and row["rating"] >= 3 for row in ROWS])
BEST_PRODUCTS = [f"p{at}" for at in nearest(PRODUCT_VECTORS @ QUERY)]


@pytest.fixture(scope="module", params=["lance", "qdrant", "milvus", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with stores.started(request.param, tmp_path_factory.mktemp(request.param)) as engine:
        yield engine


@pytest.fixture(scope="module")
def products(engine: Engine) -> str:
    """The name of the table of products."""
    return stores.put_products(engine)


@pytest.fixture(scope="module")
def photos(engine: Engine) -> str:
    """The address of a table with all the rows."""
    put(engine.uri("photos"), ROWS, VECTORS, {"encoder": "lite", "fingerprint": "old"})
    return put(engine.uri("photos"), [], VECTORS[:0], {"fingerprint": "abc"})


@pytest.fixture  # in a folder there is one client of Qdrant at a time
def shop(engine: Engine, products: str) -> Iterator[Shop]:
    with engine.client() as client:
        yield stores.SHOPS[engine.name](client, products)


def test_rows_are_found_as_they_were_put_and_as_filtered(engine: Engine, photos: str) -> None:
    with open_source(photos) as source:
        found = source.search(QUERY)
        assert source.facts() == {"encoder": "lite", "fingerprint": "abc"}
        assert source.search(QUERY, where=engine.portugal).ids == paths(IN_PORTUGAL)
        assert source.search(QUERY, where=" \n").ids == paths(BEST)
        with pytest.raises(mc.OptionError, match="where"):
            source.search(QUERY, where=engine.nonsense)
        less = source.search(QUERY, columns=["city"], vectors=False)
        bare = source.search(QUERY, vectors=False)
        assert np.array_equal(source.search(QUERY, columns=["lat"]).vectors, found.vectors)
        if engine.name != "qdrant":  # where a point may have anything
            with pytest.raises(mc.InputError, match="has no column 'colour'; it has: "):
                source.search(QUERY, columns=["colour"])
    assert found.ids == paths(BEST)
    assert np.allclose(found.scores, (VECTORS @ QUERY)[BEST], atol=1e-6)
    assert (np.diff(found.scores) <= 0).all()
    assert np.allclose(found.vectors, VECTORS[BEST], atol=1e-6)
    assert {name: found.columns[name] for name in FIELDS} == {name: [ROWS[i][name] for i in BEST] for name in FIELDS}
    assert found.candidates().columns["keywords"].tolist() == [json.loads(ROWS[i]["keywords"]) for i in BEST]
    best = {"id": ROWS[BEST[0]]["path"], "path": ROWS[BEST[0]]["path"], "score": found.scores[0], "own_id": BEST[0]}
    assert best.items() <= found.records()[0].items()
    assert (bare.columns, bare.vectors) == (found.columns, None)
    assert (less.ids, less.vectors) == (found.ids, None)
    assert less.columns == {name: found.columns[name] for name in ("city", "path")}


def test_writing_again_changes_nothing(engine: Engine) -> None:
    uri = engine.uri("again")
    rows, vectors = ROWS[:30], VECTORS[:30]
    with open_sink(uri, fields=FIELDS, dim=DIM) as sink:
        assert (list(sink.select(STATE)), sink.facts()) == ([], {})
        sink.put([], vectors[:0])
        sink.put(rows, vectors)
        sink.put(rows[:10], vectors[:10])
        # Of one path given twice the later stays; a row need not have every column.
        sink.put([rows[3], {"path": rows[3]["path"], "hash": "new", "lat": float("nan")}], vectors[[3, 4]])
    with open_sink(uri, fields=FIELDS, dim=DIM) as sink:
        states = {tuple(row[name] for name in STATE) for row in rows if row is not rows[3]}
        assert set(sink.select(STATE)) == states | {(rows[3]["path"], None, None, "new", None)}
        sink.remove([rows[5]["path"], rows[6]["path"], "not there"])
        sink.remove([])
        assert len(list(sink.select(["path"]))) == 28
    found = search(uri)
    assert len(found) == 28
    changed = found.ids.index(rows[3]["path"])
    assert found.scores[changed] == pytest.approx(float(vectors[4] @ QUERY), abs=1e-6)
    assert found.columns["lat"][changed] is None
    assert not {rows[5]["path"], rows[6]["path"]} & set(found.ids)


@pytest.mark.parametrize("metric", ["ip", "l2"])
def test_scores_are_higher_for_the_better(engine: Engine, metric: str) -> None:
    """Of vectors of any length: the dot product, and 1 - d²/2."""
    vectors = np.random.default_rng(3).normal(size=(30, DIM)).astype(np.float32)
    query = vectors[4] * 2
    scores = vectors @ query if metric == "ip" else 1 - ((vectors - query) ** 2).sum(axis=1) / 2
    found = search(put(engine.uri(f"by_{metric}", metric=metric), ROWS[:30], vectors), query)
    assert found.ids == paths(nearest(scores))
    assert np.allclose(found.scores, np.sort(scores)[::-1], atol=1e-4)
    if engine.name in ("qdrant", "milvus"):  # a collection knows its metric
        with pytest.raises(mc.OptionError, match=f"uses the metric {metric}, got"):
            search(engine.uri(f"by_{metric}", metric="ip" if metric == "l2" else "l2"))


def test_several_vectors_a_photograph(engine: Engine) -> None:
    """The score of a photograph is the largest over its vectors."""
    vectors = unit(np.random.default_rng(5).normal(size=(40, 3, DIM)))
    if engine.name == "milvus":
        with pytest.raises(mc.OptionError, match="one vector per row"):
            put(engine.uri("tokens"), ROWS[:40], vectors)
        return
    found = search(put(engine.uri("tokens"), ROWS[:40], vectors))
    scores = (vectors @ QUERY).max(axis=1)
    assert found.ids == paths(nearest(scores))
    assert np.allclose(found.scores, np.sort(scores)[::-1], atol=1e-6)
    assert np.allclose(found.vectors, unit(vectors.mean(axis=1))[nearest(scores)], atol=1e-5)


def test_what_this_engine_cannot_is_said(engine: Engine, photos: str) -> None:
    anything = engine.name == "qdrant"  # a point may have anything
    with pytest.warns(NoKey, match="no_such") if anything else pytest.raises(mc.InputError, match="no_such"):
        search(engine.uri("photos", id="no_such"))
    with pytest.raises(mc.InputError, match=r"there is no (table|collection) 'nowhere'"):
        open_source(engine.uri("nowhere"))
    with pytest.raises(mc.InputError, match="one vector of 24 numbers per row, but these rows have one vector of 8"):
        open_sink(photos, fields=FIELDS, dim=8)


@pytest.mark.parametrize("engine", ["lance"], indirect=True)
def test_what_no_engine_can_is_said(engine: Engine, photos: str) -> None:
    with pytest.raises(mc.OptionError, match="metric must be one of cosine, ip, l2, got 'hamming'"):
        open_source(engine.uri("photos", metric="hamming"))
    with open_source(photos) as source, open_source(photos) as other:
        with pytest.raises(mc.InputError, match="24 numbers, but the query has 3"):
            source.search_many([[1.0, 2.0, 3.0]])
        for options, message in (
            ({"candidates": "2"}, "candidates must be a whole number >= 1, got "),
            ({"where": {"country": "PT"}}, "where must be text in the engine's own language, got"),
            ({"columns": "city"}, "columns must be a list of names, got 'city'"),
        ):
            with pytest.raises(mc.OptionError, match=message):
                source.search(QUERY, **options)  # type: ignore[arg-type]
        with pytest.raises(mc.InputError, match="a search needs one vector of finite numbers, got "):
            source.search([[1.0], [1.0, 2.0]])
        source.close()
        assert len(other.search(QUERY, candidates=3)) == 3
    with open_sink(photos, fields=FIELDS, dim=DIM) as sink:
        for row, vectors, message in (
            (ROWS[0], VECTORS[:2], "vectors must be 1 x 1 x 24"),
            (ROWS[0], np.full((1, DIM), np.nan, np.float32), "finite"),
            ({"size": 3}, VECTORS[:1], "a row must have a path"),
            ({"path": "a", "colour": 3}, VECTORS[:1], "colour besides"),
        ):
            with pytest.raises(mc.InputError, match=message):
                sink.put([row], vectors)
    sink.close()
    for use in (lambda: sink.put(ROWS[:3], VECTORS[:3]), lambda: list(sink.select(STATE)), sink.facts, source.facts):
        with pytest.raises(mc.InputError, match="is closed: open it again"):
            use()


def test_a_sink_has_the_columns_and_the_key_of_its_caller(engine: Engine) -> None:
    uri, fields = engine.uri("goods", id="sku"), {"sku": str, "tags": list, "stock": int}
    rows: list[dict[str, Any]] = [
        {"sku": "a'b", "tags": ["x", "y"], "stock": 3},
        {"sku": "b"},
        {"sku": "c", "tags": ["y"]},
    ]
    with open_sink(uri, fields=fields, dim=3) as sink:
        for part in (slice(0, 3), slice(0, 1)):
            sink.put(rows[part], np.eye(3, dtype=np.float32)[part])
        assert sorted(sink.select(["sku", "stock"])) == [("a'b", 3), ("b", None), ("c", None)]
        sink.remove(["b"])
    hits = search(uri, [1.0, 0.5, 0.1])
    assert (hits.ids, hits.candidates().columns["tags"].tolist()) == (["a'b", "c"], [["x", "y"], ["y"]])


def test_tables_of_others(engine: Engine, products: str) -> None:
    with pytest.raises(mc.InputError, match=r"name it with \?vector=; it has: seen, said"):
        search(engine.uri(products))
    found = search(engine.uri(products, vector="seen", id="sku"))
    best = nearest(PRODUCT_VECTORS @ QUERY)
    assert found.ids == BEST_PRODUCTS
    assert found.columns["price"] == [PRODUCTS[i]["price"] for i in best]
    assert not {"seen", "said"} & set(found.columns)
    keyless = pytest.warns(NoKey, match=r"ids are positions in the result; name a column with \?id=")
    with keyless if engine.name == "lance" else nullcontext() as warned:
        source = open_source(engine.uri(products, vector="seen"))
    assert warned is None or [warning.filename for warning in warned] == [__file__]
    with source:
        assert source.facts() == {}
        less = source.search(QUERY, columns=["extra.by", "brand"], vectors=False)
    key = {"milvus": {"number"}, "postgres": {"sku"}}.get(engine.name, set())
    assert (set(less.columns), less.vectors) == ({"extra", "brand"} | key, None)
    assert np.array_equal(less.scores, found.scores)
    assert less.ids == {"lance": list(range(30)), "postgres": found.ids}.get(engine.name, best)  # the table's own key
    assert less.candidates().columns["extra.by"].tolist() == [PRODUCTS[i]["extra"]["by"] for i in best]
    if engine.name != "qdrant":  # where a point may have anything
        with pytest.raises(mc.InputError, match=r"lacks the columns path, .* and \d+ more"):
            open_sink(engine.uri(products), fields=FIELDS, dim=DIM)
    if engine.name == "postgres":
        with engine.client() as connection:  # nothing was left behind
            assert connection.execute("SELECT to_regclass('shop.products_facts')").fetchone() == (None,)


# Through a client of the caller's


@pytest.mark.parametrize("vector", ["seen", "said"])
def test_converters_read_what_the_client_returned(shop: Shop, vector: str) -> None:
    """Similarities and distances alike: the best first, with columns, nested ones and vectors."""
    matrix, query = (PRODUCT_VECTORS, QUERY) if vector == "seen" else (OTHER_VECTORS, OTHER_VECTORS[0])
    order = nearest(matrix @ query if vector == "seen" else -((matrix - query) ** 2).sum(axis=1))
    rows, vectors = (
        {row["sku"]: value for row, value in zip(PRODUCTS, each, strict=True)} for each in (PRODUCTS, matrix)
    )
    for candidates in shop.responses(vector, query):
        assert mc.rerank(candidates, [], k=len(PRODUCTS)).ids == [f"p{at}" for at in order]
        lats = [rows[id_]["extra"]["at"]["lat"] for id_ in candidates.ids]
        assert candidates.columns["extra.at.lat"].tolist() == lats
        assert np.allclose(candidates.vectors, [vectors[id_] for id_ in candidates.ids], atol=1e-6)
        limited = mc.rerank(candidates, mc.limit("brand", 1), k=9)
        assert len(limited.records()) == len({row["brand"] for row in PRODUCTS})


def skus(steered: Steered) -> list[str]:
    return [record["sku"] for record in steered.records()]


def test_several_queries_and_tasks_find_what_single_searches_find(shop: Shop) -> None:
    queries = PRODUCT_VECTORS[:3] + QUERY
    wishes = [mc.limit("brand", 1), mc.spread("brand")]

    async def gather(source: Any) -> tuple[list[EngineHits], list[Steered]]:
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
    assert [part.ids for part in many] == [part.ids for part in tasks] == [part.ids for part in singles]
    for part, single in zip(many, singles, strict=True):
        np.testing.assert_allclose(part.scores, single.scores, atol=1e-6)
        np.testing.assert_allclose(part.vectors, single.vectors, atol=1e-6)
        assert part.columns == single.columns
    assert [skus(part) for part in together] == [skus(part) for part in steered] == expected
    with pytest.raises(mc.InputError, match="is closed"):
        source.search(QUERY)
    with shop.source() as again:  # the client is still open
        assert again.search(QUERY, candidates=3, columns=["price"], vectors=False).ids == BEST_PRODUCTS[:3]


# What only some engines have


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_names_rows_by_a_key_of_one_column(engine: Engine, photos: str) -> None:
    with engine.client() as connection:
        connection.execute("CREATE TABLE pairs (a int, b int, v vector(2), PRIMARY KEY (a, b))")
        connection.execute("INSERT INTO pairs VALUES (7, 8, '[1, 0]')")
    with pytest.warns(NoKey):
        assert search(engine.uri("pairs"), [1.0, 0.0]).ids == [0]


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_lets_a_filter_only_read(engine: Engine, photos: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from mascot.connect.engines import postgres

    with engine.client() as connection:
        connection.execute("CREATE SEQUENCE counter")
        connection.execute(
            "CREATE FUNCTION wipe() RETURNS boolean LANGUAGE plpgsql AS "
            "$$ BEGIN DELETE FROM photos; RETURN true; END $$"
        )
    with open_source(photos) as source:
        for where in (
            "true); DROP TABLE photos; --",
            "true) ORDER BY 1 LIMIT 1; COMMIT; SET default_transaction_read_only = off; DELETE FROM photos; --",
            "wipe()",
            "nextval('counter') > 0",
            "set_config('transaction_read_only', 'off', true) = 'off' AND wipe()",
            "/* true",
        ):
            with pytest.raises(mc.OptionError, match="where"):
                source.search(QUERY, where=where)
        monkeypatch.setattr(postgres, "_TIMEOUT_S", 0.2)
        with pytest.raises(mc.OptionError, match="statement timeout"):
            source.search(QUERY, where="pg_sleep(20) IS NOT NULL")
        monkeypatch.undo()
        assert len(source.search(QUERY, candidates=COUNT)) == COUNT


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_gives_all_candidates_through_an_index(engine: Engine, photos: str) -> None:
    """An index of pgvector gives forty rows unless told otherwise, and filters after it has chosen them."""
    with engine.client() as connection:
        connection.execute("CREATE TABLE indexed AS SELECT * FROM photos")
        connection.execute("CREATE INDEX ON indexed USING hnsw (vector vector_ip_ops)")
    with open_source(engine.uri("indexed", options="-cenable_seqscan%3Doff")) as source:
        found = source.search(QUERY)
        assert len(set(found.ids) & set(paths(BEST))) >= 195
        assert found.scores[0] == pytest.approx(float((VECTORS @ QUERY).max()), abs=1e-6)
        assert source.search(QUERY, where=engine.portugal).ids == paths(IN_PORTUGAL)


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_in_threads_and_after_the_server_has_hung_up(engine: Engine, photos: str) -> None:
    def end_connections() -> None:
        with engine.client() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()"
            )

    with open_source(photos) as source:
        expected = [paths(nearest(VECTORS @ VECTORS[i], 5)) for i in range(8)]
        with ThreadPoolExecutor(8) as pool:
            results = pool.map(lambda i: source.search(VECTORS[i], candidates=5).ids, [*range(8)] * 3)
            assert list(results) == expected * 3
        end_connections()
        assert source.facts() == {"encoder": "lite", "fingerprint": "abc"}
        reads_only = "current_setting('default_transaction_read_only') = 'on'"  # of the new connection too
        assert len(source.search(QUERY, candidates=3, where=reads_only)) == 3
    with open_sink(photos, fields=FIELDS, dim=DIM) as sink:
        end_connections()
        with pytest.raises(mc.InputError, match="cannot use postgresql:"):
            sink.facts()


@pytest.mark.parametrize("engine", ["lance"], indirect=True)
def test_lance_scores_exactly_and_finds_all_through_an_index(engine: Engine) -> None:
    """An index looks into twenty of its cells, and what passes the filter may lie in the others."""
    import pyarrow as pa
    from lancedb.index import IvfFlat, IvfPq

    uri = put(engine.uri("indexed"), ROWS, VECTORS)
    count = 3000
    vectors = unit(np.random.default_rng(0).normal(size=(count, 8)))
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 8)
    rows = pa.table({"id": range(count), "rare": [i % 100 == 0 for i in range(count)], "vector": flat})
    with engine.client() as client:
        config = IvfPq(distance_type="dot", num_partitions=1, num_sub_vectors=6)
        client.open_table("indexed").create_index("vector", config=config)
        client.create_table("rare", rows).create_index(
            "vector", config=IvfFlat(distance_type="cosine", num_partitions=200)
        )
    found = search(uri)
    positions = [paths(list(range(COUNT))).index(id_) for id_ in found.ids]
    assert np.allclose(found.scores, (VECTORS @ QUERY)[positions], atol=1e-6)
    assert (np.diff(found.scores) <= 0).all()
    assert len(set(positions) & set(BEST)) > 160
    rare = search(engine.uri("rare"), vectors[0], candidates=50, where="rare")
    assert rare.ids == nearest(vectors @ vectors[0], among=np.arange(count) % 100 == 0)
    assert len(rare) == 30


@pytest.mark.parametrize("engine", ["lance"], indirect=True)
def test_lance_in_object_storage(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address passes through to LanceDB, which reads keys and endpoint from the environment."""
    moto = pytest.importorskip("moto.server", reason="needs moto[server], a server that speaks S3")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        address = "http://{}:{}".format(*server.get_host_and_port())
        urllib.request.urlopen(urllib.request.Request(f"{address}/bucket", method="PUT")).close()
        settings = {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "REGION": "us-east-1"}
        for name, value in (settings | {"ENDPOINT": address, "ALLOW_HTTP": "true"}).items():
            monkeypatch.setenv(f"AWS_{name}", value)
        uri = put("lance+s3://bucket/libraries/mine/photos", ROWS[:40], VECTORS[:40], {"encoder": "lite"})
        with open_source(uri) as source:
            assert source.search(QUERY).ids == paths(nearest(VECTORS[:40] @ QUERY))
            assert source.facts() == {"encoder": "lite"}
    finally:
        server.stop()


def test_what_a_server_of_qdrant_says_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exceptions = pytest.importorskip("qdrant_client.http.exceptions", reason="needs mascot-rerank[qdrant]")
    body = json.dumps({"status": {"error": "Bad request: Index required"}, "time": 0}).encode()
    refusal = exceptions.UnexpectedResponse(400, "Bad Request", body, {})
    gone = exceptions.ResponseHandlingException(ConnectionError("connection refused"))
    uri = put(f"qdrant+local://{tmp_path}/qdrant/photos", ROWS[:1], VECTORS[:1])
    with open_source(uri) as source:
        fail = Mock(side_effect=refusal)
        monkeypatch.setattr(source._client, "query_batch_points", fail)
        with pytest.raises(mc.OptionError, match=r"^where: Bad request: Index required in "):
            source.search(QUERY, where='{"must": [{"key": "country", "match": {"value": "PT"}}]}')
        for error, message in ((refusal, "Bad request: Index required"), (gone, "connection refused")):
            fail.side_effect = error
            with pytest.raises(mc.InputError, match=f"^cannot use {re.escape(uri)}: {message}$"):
                source.search(QUERY)


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_through_a_pool_or_within_the_callers_transaction(engine: Engine) -> None:
    import psycopg

    from mascot.connect.engines.postgres import PostgresSource

    pools = pytest.importorskip("psycopg_pool", reason="needs psycopg-pool")
    with engine.client() as client:
        client.execute("CREATE EXTENSION IF NOT EXISTS vector")
        client.execute("CREATE TABLE pair (sku text PRIMARY KEY, price numeric, vector vector(2))")
        client.execute("INSERT INTO pair VALUES ('a', 1.5, '[1,0]'), ('b', 2.5, '[0,1]')")
    with pools.ConnectionPool(engine.base, min_size=1, max_size=2, timeout=60) as pool:
        with PostgresSource.from_connection(pool, "pair") as source, ThreadPoolExecutor(4) as threads:
            assert [hits.ids for hits in threads.map(source.search, [[1.0, 0.0]] * 12)] == [["a", "b"]] * 12
        with pytest.raises(mc.InputError, match="is closed"):
            source.search([1.0, 0.0])
        with pool.connection() as connection:  # the pool is still open, and its connections are as before
            assert connection.execute("SHOW transaction_read_only").fetchone() == ("off",)
    with pytest.raises(mc.InputError, match="cannot use"):
        PostgresSource.from_connection(pool, "pair")
    with psycopg.connect(engine.base) as connection:
        # The row is not committed: the source sees it only within the caller's own transaction.
        connection.execute("INSERT INTO pair VALUES ('c', 3.5, '[1,1]')")
        before = connection.execute("SHOW statement_timeout").fetchone()
        source = PostgresSource.from_connection(connection, "pair")
        assert source.search([1.0, 0.0]).ids == ["a", "c", "b"]
        with pytest.raises(mc.OptionError, match="where"):
            source.search([1.0, 0.0], where="no_such > 3")
        source.close()
        assert connection.info.transaction_status.name == "INTRANS"
        assert connection.execute("SHOW statement_timeout").fetchone() == before
        assert connection.execute("SHOW transaction_read_only").fetchone() == ("off",)
        connection.commit()
        idle = PostgresSource.from_connection(connection, "pair")
        assert idle.search([1.0, 0.0]).columns["price"] == [1.5, 3.5, 2.5]
        assert connection.info.transaction_status.name == "IDLE"
