"""Every engine keeps the same promises: what is put in is found again, in the order of exact comparison."""

from __future__ import annotations

import json
import re
import time
import urllib.request
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from engine_stores import DIM, OTHER_VECTORS, PRODUCT_VECTORS, PRODUCTS, Engine, some_rows, unit

import mascot as mc
from mascot.connect.rows import FIELDS
from mascot.connect.source import FewCandidates, Found, NoKey, open_sink, open_source, steer
from mascot.photos.photo import COLUMNS

COUNT = 260
ROWS = some_rows(COUNT)
VECTORS = unit(np.random.default_rng(8).normal(size=(COUNT, DIM)))
QUERY = unit(np.random.default_rng(9).normal(size=(1, DIM)))[0]


def put(uri: str, rows: list[dict[str, Any]], vectors: Any, facts: dict[str, str] | None = None) -> str:
    with open_sink(uri, dim=vectors.shape[-1], tokens=vectors.shape[1] if vectors.ndim == 3 else 1) as sink:
        sink.put(rows, vectors)
        if facts is not None:
            sink.set_facts(facts)
    return uri


def search(uri: str, vector: Any = QUERY, **options: Any) -> Found:
    with open_source(uri) as source:
        return source.search(vector, **options)


def nearest(scores: Any, count: int = 200, among: Any = None) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    return [int(i) for i in order if among is None or among[i]][:count]


def paths(positions: list[int]) -> list[str]:
    return [ROWS[i]["path"] for i in positions]


BEST = nearest(VECTORS @ QUERY)
IN_PORTUGAL = nearest(VECTORS @ QUERY, among=[row["country"] == "PT" and row["rating"] >= 3 for row in ROWS])


@pytest.fixture(scope="session")
def photos(engine: Engine) -> str:
    """The address of a table with all the rows."""
    put(engine.uri("photos"), ROWS, VECTORS, {"encoder": "lite", "fingerprint": "old"})
    return put(engine.uri("photos"), [], VECTORS[:0], {"fingerprint": "abc"})


def test_rows_are_found_as_they_were_put(photos: str) -> None:
    with open_source(photos) as source:
        found = source.search(QUERY)
        assert source.facts() == {"encoder": "lite", "fingerprint": "abc"}
    assert found.ids == paths(BEST)
    assert np.allclose(found.scores, (VECTORS @ QUERY)[BEST], atol=1e-6)
    assert (np.diff(found.scores) <= 0).all()
    assert np.allclose(found.vectors, VECTORS[BEST], atol=1e-6)
    assert set(FIELDS) == {*COLUMNS, "stamp"}
    for name in FIELDS:
        assert found.columns[name] == [ROWS[i][name] for i in BEST], name
    assert found.candidates().columns["keywords"].tolist() == [json.loads(ROWS[i]["keywords"]) for i in BEST]
    records = found.records()
    assert [record["id"] for record in records] == [record["path"] for record in records] == found.ids
    assert [record["score"] for record in records] == found.scores.tolist()
    assert [record["own_id"] for record in records] == found.columns["id"]


def test_a_filter_is_the_engine_s_own(engine: Engine, photos: str) -> None:
    with open_source(photos) as source:
        assert source.search(QUERY, where=engine.portugal).ids == paths(IN_PORTUGAL)
        assert source.search(QUERY, where=" \n").ids == source.search(QUERY, where="").ids == paths(BEST)
        with pytest.raises(mc.OptionError, match="where"):
            source.search(QUERY, where=engine.nonsense)
        with pytest.raises(mc.OptionError, match="where must be text in the engine's own language, got"):
            source.search(QUERY, where={"country": "PT"})


def test_steering_gives_more_places(photos: str) -> None:
    wish = mc.spread(mc.Category("city"))
    with open_source(photos) as source:
        plain = {record["city"] for record in source.search(QUERY).records()[:10]} - {None}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            steered = steer(source, QUERY, [wish, mc.spread(mc.Place())], k=10, method=mc.Mascot(protect=1))
        assert len({record["city"] for record in steered.records()} - {None}) == 4 > len(plain)
        with pytest.warns(FewCandidates, match="candidates=10 and k=10") as caught:
            steer(source, QUERY, wish, k=10, candidates=10)
        assert caught[0].filename == __file__


def test_only_what_is_asked_for_comes_along(engine: Engine, photos: str) -> None:
    with open_source(photos) as source:
        whole = source.search(QUERY, candidates=20)
        less = source.search(QUERY, candidates=20, columns=["city"], vectors=False)
        assert (less.ids, less.vectors) == (whole.ids, None)
        assert less.columns == {name: whole.columns[name] for name in ("city", "path")}
        bare = source.search(QUERY, candidates=20, vectors=False)
        assert (bare.columns, bare.vectors) == (whole.columns, None)
        assert np.array_equal(source.search(QUERY, candidates=20, columns=["lat"]).vectors, whole.vectors)
        steered = steer(source, QUERY, mc.spread(mc.Category("city")), k=5, columns=["city"], vectors=False)
        assert set(steered.records()[0]) == {"city", "path", "id", "score"}
        with pytest.raises(mc.OptionError, match="columns must be a list of names, got 'city'"):
            source.search(QUERY, columns="city")
        if engine.name != "qdrant":  # where a point may have anything
            with pytest.raises(mc.InputError, match="has no column 'colour'; it has: "):
                source.search(QUERY, columns=["colour"])


def test_closing_twice_and_at_the_end_of_a_with(engine: Engine, photos: str) -> None:
    with open_sink(engine.uri("closed"), dim=DIM) as sink:
        sink.put(ROWS[:3], VECTORS[:3])
    sink.close()
    with open_source(photos) as source:
        if engine.name != "qdrant":  # in a folder there is one at a time
            with open_source(photos) as other:
                source.close()
                source.close()
                assert len(other.search(QUERY, candidates=3)) == 3
    for use in (
        lambda: sink.put(ROWS[:3], VECTORS[:3]), lambda: dict(sink.states()), lambda: sink.remove(["a"]), sink.facts,
        lambda: sink.set_facts({"a": "b"}), lambda: source.search(QUERY), source.facts,
    ):  # fmt: skip
        with pytest.raises(mc.InputError, match="is closed: open it anew"):
            use()


def test_writing_again_changes_nothing(engine: Engine) -> None:
    uri = engine.uri("again")
    rows, vectors = ROWS[:30], VECTORS[:30]
    with open_sink(uri, dim=DIM) as sink:
        assert (dict(sink.states()), sink.facts()) == ({}, {})
        sink.put([], vectors[:0])
        sink.put(rows, vectors)
        sink.put(rows[:10], vectors[:10])
        # Of one path given twice the later stays; a row need not have every column.
        sink.put([rows[3], {"path": rows[3]["path"], "hash": "new", "lat": float("nan")}], vectors[[3, 4]])
    with open_sink(uri, dim=DIM) as sink:
        known = {row["path"]: (row["size"], row["mtime_ns"], row["hash"], row["stamp"]) for row in rows}
        known[rows[3]["path"]] = (0, 0, "new", "")
        assert dict(sink.states()) == known
        sink.remove([rows[5]["path"], rows[6]["path"], "not there"])
        sink.remove([])
        assert len(dict(sink.states())) == 28
    found = search(uri)
    assert len(found) == 28
    changed = found.ids.index(rows[3]["path"])
    assert found.scores[changed] == pytest.approx(float(vectors[4] @ QUERY), abs=1e-6)
    assert found.columns["lat"][changed] is None
    assert not {rows[5]["path"], rows[6]["path"]} & set(found.ids)


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
def test_scores_are_higher_for_the_better(engine: Engine, metric: str) -> None:
    """Of vectors of any length: cosine, dot product, and 1 - d²/2."""
    vectors = np.random.default_rng(3).normal(size=(30, DIM)).astype(np.float32)
    query = vectors[4] * 2
    scores = {
        "cosine": unit(vectors) @ unit(query),
        "ip": vectors @ query,
        "l2": 1 - ((vectors - query) ** 2).sum(axis=1) / 2,
    }[metric]
    found = search(put(engine.uri(f"by_{metric}", metric=metric), ROWS[:30], vectors), query)
    assert found.ids == paths(nearest(scores))
    assert np.allclose(found.scores, np.sort(scores)[::-1], atol=1e-4)
    if engine.name in ("qdrant", "milvus"):  # a collection knows its metric
        with pytest.raises(mc.OptionError, match=f"made with metric {metric}"):
            search(engine.uri(f"by_{metric}", metric="ip" if metric == "l2" else "l2"))


def test_several_vectors_a_photograph(engine: Engine) -> None:
    """The score of a photograph is the largest over its vectors."""
    vectors = unit(np.random.default_rng(5).normal(size=(40, 3, DIM)))
    if engine.name == "milvus":
        with pytest.raises(mc.OptionError, match="one vector a photograph"):
            put(engine.uri("tokens"), ROWS[:40], vectors)
        return
    found = search(put(engine.uri("tokens"), ROWS[:40], vectors))
    scores = (vectors @ QUERY).max(axis=1)
    assert found.ids == paths(nearest(scores))
    assert np.allclose(found.scores, np.sort(scores)[::-1], atol=1e-6)
    assert np.allclose(found.vectors, unit(vectors.mean(axis=1))[nearest(scores)], atol=1e-5)


def test_what_cannot_be_is_said(engine: Engine, photos: str) -> None:
    anything = engine.name == "qdrant"  # a point may have anything
    with pytest.warns(NoKey, match="no_such") if anything else pytest.raises(mc.InputError, match="no_such"):
        search(engine.uri("photos", id="no_such"))
    for uri, message in (
        (engine.uri("nowhere"), r"there is no (table|collection) 'nowhere'"),
        (engine.uri("photos", metric="hamming"), "metric must be one of cosine, ip, l2, got 'hamming'"),
    ):
        with pytest.raises(mc.MascotError, match=message):
            open_source(uri)
    with pytest.raises(mc.InputError, match="holds vectors of 1 x 24 numbers, and these have 1 x 8"):
        open_sink(photos, dim=8)
    with open_source(photos) as source:
        with pytest.raises(mc.InputError, match="24 numbers, and the one to search with has 3"):
            source.search(np.ones(3, np.float32))
        for count in (0, "2", 2.5):
            with pytest.raises(mc.OptionError, match="candidates must be a whole number >= 1, got "):
                source.search(QUERY, candidates=count)
        for vector in ("sunset", [[1.0], [1.0, 2.0]], None):
            with pytest.raises(mc.InputError, match="a search needs one vector of finite numbers, got "):
                source.search(vector)
        assert source.search(QUERY.tolist(), candidates=np.int64(3)).ids == paths(BEST[:3])
    with open_sink(photos, dim=DIM) as sink:
        for row, vectors, message in (
            (ROWS[0], VECTORS[:2], "vectors must be 1 x 1 x 24"),
            (ROWS[0], np.full((1, DIM), np.nan, np.float32), "finite"),
            ({"size": 3}, VECTORS[:1], "a row must have a path"),
            ({"path": "a", "colour": 3}, VECTORS[:1], "colour besides"),
        ):
            with pytest.raises(mc.InputError, match=message):
                sink.put([row], vectors)


def test_tables_of_others(engine: Engine, products: str) -> None:
    with pytest.raises(mc.InputError, match=r"name it with \?vector=; it has: seen, said"):
        search(engine.uri(products))
    with pytest.raises(mc.InputError, match="'felt'; it has: seen, said"):
        search(engine.uri(products, vector="felt"))
    found = search(engine.uri(products, vector="seen", id="sku"))
    best = nearest(PRODUCT_VECTORS @ QUERY)
    assert found.ids == [f"p{i}" for i in best]
    assert found.columns["price"] == [PRODUCTS[i]["price"] for i in best]
    assert not {"seen", "said"} & set(found.columns)
    wishes = [mc.spread(mc.Number("price")), mc.focus(mc.Category("brand"), near="Acme")]
    assert len(mc.rerank(found.candidates(), wishes, k=5)) == 5
    inner = [mc.spread(mc.Category("extra.by")), mc.spread(mc.Place("extra.at.lat", "extra.at.lon"))]
    positions = mc.rerank(found.candidates(), inner, k=4, method=mc.Mascot(1.0, protect=1)).positions
    assert len({found.columns["extra"][i]["by"] for i in positions}) == 4
    keyless = pytest.warns(NoKey, match=r"ids are places in the result; name a column with \?id=")
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
        with pytest.raises(mc.InputError, match=r"not a table of photographs, its columns lack path, .* and \d+ more"):
            open_sink(engine.uri(products), dim=DIM)
    if engine.name == "postgres":
        with engine.client() as connection:  # nothing was left behind
            assert connection.execute("SELECT to_regclass('shop.products_facts')").fetchone() == (None,)
    assert len(search(engine.uri(products, vector="said", id="sku"), OTHER_VECTORS[0], candidates=5)) == 5


# What only some engines have


@pytest.mark.parametrize("engine", ["qdrant", "milvus"], indirect=True)
def test_a_row_without_a_path_is_named_by_its_own_id(engine: Engine) -> None:
    rows: list[dict[str, Any]] = [{"path": "a"}, {"path": None}, {}]
    with engine.client() as client:
        if engine.name == "qdrant":
            from qdrant_client import models

            shape = models.VectorParams(size=2, distance=models.Distance.COSINE)
            client.create_collection("pathless", vectors_config=shape)
            points = [models.PointStruct(id=i, vector=[1.0, i / 9], payload=row) for i, row in enumerate(rows)]
            client.upsert("pathless", points)
        else:
            client.create_collection("pathless", dimension=2, metric_type="COSINE", consistency_level="Strong")
            client.insert("pathless", [{"id": i, "vector": [1.0, i / 9]} | row for i, row in enumerate(rows)])
    assert search(engine.uri("pathless"), [1.0, 0.0]).ids == ["a", 1, 2]
    assert search(engine.uri("pathless", id="path"), [1.0, 0.0]).ids == ["a", None, None]


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_names_rows_by_a_key_of_one_column_and_takes_options(engine: Engine, photos: str) -> None:
    with engine.client() as connection:
        connection.execute("CREATE TABLE pairs (a int, b int, v vector(2), PRIMARY KEY (a, b))")
        connection.execute("CREATE TABLE named (a int, id int, v vector(2), PRIMARY KEY (a) INCLUDE (id))")
        connection.execute("INSERT INTO pairs VALUES (7, 8, '[1, 0]')")
        connection.execute("INSERT INTO named VALUES (7, 8, '[1, 0]')")
    with pytest.warns(NoKey):
        assert search(engine.uri("pairs"), [1.0, 0.0]).ids == [0]
    assert search(engine.uri("pairs", id="b"), [1.0, 0.0]).ids == [8]
    assert search(engine.uri("named"), [1.0, 0.0]).ids == [7]
    assert len(search(engine.uri("photos", options="-c%20search_path%3Dpublic"), candidates=3)) == 3
    with pytest.raises(mc.InputError, match="there is no table 'photos'"):
        search(engine.uri("photos", options="-c%20search_path%3Dnowhere"))


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_lets_a_filter_only_read(engine: Engine, photos: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from mascot.connect import postgres

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
        began = time.monotonic()
        with pytest.raises(mc.OptionError, match="statement timeout"):
            source.search(QUERY, where="pg_sleep(20) IS NOT NULL")
        assert time.monotonic() - began < 15
        monkeypatch.undo()
        assert len(source.search(QUERY, candidates=COUNT)) == COUNT


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_gives_all_candidates_through_an_index(engine: Engine, photos: str) -> None:
    """An index of pgvector gives forty rows unless told otherwise, and filters after it has chosen them."""
    with engine.client() as connection:
        for table, index in (("indexed", "hnsw (vector vector_ip_ops)"),
                             ("listed", "ivfflat (vector vector_l2_ops) WITH (lists = 16)")):  # fmt: skip
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM photos")
            connection.execute(f"CREATE INDEX ON {table} USING {index}")
    with open_source(engine.uri("indexed", options="-cenable_seqscan%3Doff")) as source:
        found = source.search(QUERY)
        assert len(set(found.ids) & set(paths(BEST))) >= 195
        assert found.scores[0] == pytest.approx(float((VECTORS @ QUERY).max()), abs=1e-6)
        assert source.search(QUERY, where=engine.portugal).ids == paths(IN_PORTUGAL)
    found = search(engine.uri("listed", options="-cenable_seqscan%3Doff"), candidates=50)
    assert len(set(found.ids)) == 50  # which they are is up to the index, whose lists begin at random
    first = paths(list(range(COUNT))).index(found.ids[0])
    assert found.scores[0] == pytest.approx(float(VECTORS[first] @ QUERY), abs=1e-5)


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
            for _ in range(3):
                assert list(pool.map(lambda i: source.search(VECTORS[i], candidates=5).ids, range(8))) == expected
        end_connections()
        assert source.search(VECTORS[0], candidates=5).ids == expected[0]
        end_connections()
        assert source.facts() == {"encoder": "lite", "fingerprint": "abc"}
        reads_only = "current_setting('default_transaction_read_only') = 'on'"  # of the new connection too
        assert len(source.search(QUERY, candidates=3, where=reads_only)) == 3
    with open_sink(photos, dim=DIM) as sink:
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
        for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "REGION": "us-east-1",
                            "ENDPOINT": address, "ALLOW_HTTP": "true"}.items():  # fmt: skip
            monkeypatch.setenv(f"AWS_{name}", value)
        uri = put("lance+s3://bucket/libraries/mine/photos", ROWS[:40], VECTORS[:40], {"encoder": "lite"})
        with open_sink(uri, dim=DIM) as sink:
            sink.put(ROWS[:5], VECTORS[:5])
            assert len(dict(sink.states())) == 40
        with open_source(uri) as source:
            assert source.search(QUERY).ids == paths(nearest(VECTORS[:40] @ QUERY))
            assert source.facts() == {"encoder": "lite"}
        stored = urllib.request.urlopen(f"{address}/bucket?prefix=libraries/mine/photos.lance").read()
        assert b"photos.lance" in stored
    finally:
        server.stop()


def test_what_a_server_of_qdrant_says_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exceptions = pytest.importorskip("qdrant_client.http.exceptions", reason="needs mascot-rerank[qdrant]")
    body = json.dumps({"status": {"error": "Bad request: Index required"}, "time": 0}).encode()
    refusal = exceptions.UnexpectedResponse(400, "Bad Request", body, {})
    gone = exceptions.ResponseHandlingException(ConnectionError("connection refused"))
    uri = put(f"qdrant+local://{tmp_path}/qdrant/photos", ROWS[:1], VECTORS[:1])
    where = '{"must": [{"key": "country", "match": {"value": "PT"}}]}'

    def fail(table: Any, error: Exception) -> None:
        for method in ("collection_exists", "query_batch_points", "scroll", "upsert", "delete"):
            monkeypatch.setattr(table._client, method, Mock(side_effect=error))

    with open_source(uri) as source:
        fail(source, refusal)
        with pytest.raises(mc.OptionError, match=r"^where: Bad request: Index required in "):
            source.search(QUERY, where=where)
        for error, message in ((refusal, "Bad request: Index required"), (gone, "connection refused")):
            fail(source, error)
            for use in (lambda: source.search(QUERY), source.facts):
                with pytest.raises(mc.InputError, match=f"^cannot use {re.escape(uri)}: {message}$"):
                    use()
        with pytest.raises(mc.InputError, match="connection refused"):
            source.search(QUERY, where=where)
    with open_sink(uri, dim=DIM) as sink:
        fail(sink, gone)
        for write in (
            sink.facts, lambda: dict(sink.states()), lambda: sink.remove(["a"]), lambda: sink.set_facts({"a": "b"}),
            lambda: sink.put(ROWS[:1], VECTORS[:1]),
        ):  # fmt: skip
            with pytest.raises(mc.InputError, match=f"^cannot use {re.escape(uri)}: connection refused$"):
                write()
