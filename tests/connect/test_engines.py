"""Every engine keeps the same promises: what is put in is found again, in the order of exact comparison."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from engine_stores import Engine, some_rows, started, unit

import mascot as mc
from mascot import errors
from mascot.connect.address import read_address
from mascot.connect.rows import FIELDS
from mascot.connect.source import FewCandidates, Found, NoKey, open_sink, open_source, steer
from mascot.photos.library import Library
from mascot.photos.photo import COLUMNS
from retelling import environment

DIM, COUNT = 24, 260
ROWS = some_rows(COUNT)
VECTORS = unit(np.random.default_rng(8).normal(size=(COUNT, DIM)))
QUERY = unit(np.random.default_rng(9).normal(size=(1, DIM)))[0]


@pytest.fixture(scope="module", params=["lance", "qdrant", "milvus", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with started(request.param, tmp_path_factory.mktemp(request.param)) as engine:
        yield engine


@pytest.fixture(scope="module")
def photos(engine: Engine) -> str:
    """The address of a table with all the rows."""
    uri = engine.uri("photos")
    sink = open_sink(uri, dim=DIM)
    sink.put(ROWS, VECTORS)
    sink.set_facts({"encoder": "lite", "fingerprint": "old"})
    sink.set_facts({"fingerprint": "abc"})
    sink.close()
    return uri


def search(uri: str, vector: Any = QUERY, **options: Any) -> Found:
    source = open_source(uri)
    try:
        return source.search(vector, **options)
    finally:
        source.close()


def nearest(scores: Any, count: int = 200, among: Any = None) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    return [int(i) for i in order if among is None or among[i]][:count]


def test_the_columns_are_those_of_a_photograph() -> None:
    assert set(FIELDS) == {*COLUMNS, "stamp"}


def test_the_best_200_are_those_of_exact_comparison(photos: str) -> None:
    found = search(photos)
    best = nearest(VECTORS @ QUERY)
    assert found.ids == [ROWS[i]["path"] for i in best]
    assert np.allclose(found.scores, (VECTORS @ QUERY)[best], atol=1e-6)
    assert (np.diff(found.scores) <= 0).all()
    assert found.vectors is not None
    assert np.allclose(found.vectors, VECTORS[best], atol=1e-6)
    assert len(search(photos, candidates=7)) == 7


def test_every_value_survives(photos: str) -> None:
    found = search(photos)
    best = nearest(VECTORS @ QUERY)
    for name in FIELDS:
        assert found.columns[name] == [ROWS[i][name] for i in best], name
    keywords = found.candidates().columns["keywords"].tolist()
    assert keywords == [json.loads(ROWS[i]["keywords"]) for i in best]


def test_a_filter_is_the_engine_s_own(engine: Engine, photos: str) -> None:
    among = np.array([row["country"] == "PT" and row["rating"] >= 3 for row in ROWS])
    best = nearest(VECTORS @ QUERY, among=among)
    assert search(photos, where=engine.portugal).ids == [ROWS[i]["path"] for i in best]
    with pytest.raises(mc.OptionError, match="where"):
        search(photos, where=engine.nonsense)
    for nothing in ("", " \n"):
        assert search(photos, where=nothing).ids == search(photos).ids
    with pytest.raises(mc.OptionError, match="where must be text in the engine's own language, got"):
        search(photos, where={"country": "PT"})


def test_steering_gives_more_places(photos: str) -> None:
    source = open_source(photos)
    found = source.search(QUERY)
    plain = {found.columns["city"][i] for i in range(10)} - {None}
    wish = mc.spread(mc.Category("city"))
    ranking = mc.rerank(found.candidates(), [wish, mc.spread(mc.Place())], k=10, method=mc.Mascot(protect=1))
    cities = {found.columns["city"][i] for i in ranking.positions} - {None}
    assert len(cities) > len(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steered = steer(source, QUERY, wish, k=10, method=mc.Mascot(protect=1))
    assert len({record["city"] for record in steered.records()} - {None}) == 4
    with pytest.warns(FewCandidates, match="candidates=10 and k=10") as caught:
        steer(source, QUERY, wish, k=10, candidates=10)
    assert caught[0].filename == __file__
    source.close()


def test_facts_are_kept(photos: str) -> None:
    with open_source(photos) as source:
        assert source.facts() == {"encoder": "lite", "fingerprint": "abc"}


def test_records_are_named_by_their_ids(photos: str) -> None:
    found = search(photos, candidates=5)
    records = found.records()
    assert [record["id"] for record in records] == [record["path"] for record in records] == found.ids
    assert [record["score"] for record in records] == found.scores.tolist()
    assert [record["own_id"] for record in records] == found.columns["id"]


def test_only_what_is_asked_for_comes_along(engine: Engine, photos: str) -> None:
    with open_source(photos) as source:
        whole = source.search(QUERY, candidates=20)
        less = source.search(QUERY, candidates=20, columns=["city"], vectors=False)
        assert (less.ids, less.vectors) == (whole.ids, None)
        assert less.columns == {name: whole.columns[name] for name in ("city", "path")}
        bare = source.search(QUERY, candidates=20, vectors=False)
        assert (bare.columns, bare.vectors) == (whole.columns, None)
        named = source.search(QUERY, candidates=20, columns=["lat", "lon"])
        assert np.array_equal(named.vectors, whole.vectors)
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
    for use in (lambda: sink.put(ROWS[:3], VECTORS[:3]), lambda: dict(sink.states()), lambda: sink.remove(["a"]),
                lambda: sink.set_facts({"a": "b"}), sink.facts):  # fmt: skip
        with pytest.raises(mc.InputError, match="is closed: open it anew"):
            use()
    if engine.name == "qdrant":  # in a folder there is one at a time
        with open_source(photos) as source:
            pass
    else:
        with open_source(photos) as other, open_source(photos) as source:
            source.close()
            source.close()
            assert len(other.search(QUERY, candidates=3)) == 3
    source.close()
    for use in (lambda: source.search(QUERY), source.facts):
        with pytest.raises(mc.InputError, match="is closed: open it anew"):
            use()


def test_writing_again_changes_nothing(engine: Engine) -> None:
    uri = engine.uri("again")
    rows, vectors = ROWS[:30], VECTORS[:30]
    sink = open_sink(uri, dim=DIM)
    assert dict(sink.states()) == {}
    assert sink.facts() == {}
    sink.put([], vectors[:0])
    sink.put(rows, vectors)
    sink.put(rows[:10], vectors[:10])
    # Of one path given twice the later stays; a row need not have every column.
    sink.put([rows[3], {"path": rows[3]["path"], "hash": "new", "lat": float("nan")}], vectors[[3, 4]])
    sink.close()
    sink = open_sink(uri, dim=DIM)
    known = {row["path"]: (row["size"], row["mtime_ns"], row["hash"], row["stamp"]) for row in rows}
    known[rows[3]["path"]] = (0, 0, "new", "")
    assert dict(sink.states()) == known
    sink.remove([rows[5]["path"], rows[6]["path"], "not there"])
    sink.remove([])
    assert len(dict(sink.states())) == 28
    sink.close()
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
    uri = engine.uri(f"by_{metric}", metric=metric)
    sink = open_sink(uri, dim=DIM)
    sink.put(ROWS[:30], vectors)
    sink.close()
    scores = {
        "cosine": unit(vectors) @ unit(query),
        "ip": vectors @ query,
        "l2": 1 - ((vectors - query) ** 2).sum(axis=1) / 2,
    }[metric]
    found = search(uri, query)
    assert found.ids == [ROWS[i]["path"] for i in nearest(scores)]
    assert np.allclose(found.scores, np.sort(scores)[::-1], atol=1e-4)


@pytest.mark.parametrize("engine", ["qdrant", "milvus"], indirect=True)
def test_another_metric_than_the_collection_s_is_refused(engine: Engine) -> None:
    with pytest.raises(mc.OptionError, match="made with metric l2"):
        search(engine.uri("by_l2", metric="ip"))


def test_several_vectors_a_photograph(engine: Engine) -> None:
    """The score of a photograph is the largest over its vectors."""
    uri = engine.uri("tokens")
    if engine.name == "milvus":
        with pytest.raises(mc.OptionError, match="one vector a photograph"):
            open_sink(uri, dim=DIM, tokens=3)
        return
    vectors = unit(np.random.default_rng(5).normal(size=(40, 3, DIM)))
    sink = open_sink(uri, dim=DIM, tokens=3)
    sink.put(ROWS[:40], vectors)
    sink.close()
    found = search(uri)
    scores = (vectors @ QUERY).max(axis=1)
    best = nearest(scores)
    assert found.ids == [ROWS[i]["path"] for i in best]
    assert np.allclose(found.scores, scores[best], atol=1e-6)
    assert found.vectors is not None
    assert np.allclose(found.vectors, unit(vectors.mean(axis=1))[best], atol=1e-5)


def test_what_cannot_be_is_said(engine: Engine, photos: str) -> None:
    with pytest.raises(mc.InputError, match="24 numbers, and the one to search with has 3"):
        search(photos, np.ones(3, np.float32))
    with pytest.raises(mc.InputError, match="holds vectors of 1 x 24 numbers, and these have 1 x 8"):
        open_sink(photos, dim=8)
    with pytest.raises(mc.InputError, match=r"there is no (table|collection) 'nowhere'"):
        search(engine.uri("nowhere"))
    anything = engine.name == "qdrant"  # a point may have anything
    with pytest.warns(NoKey, match="no_such") if anything else pytest.raises(mc.InputError, match="no_such"):
        search(engine.uri("photos", id="no_such"))
    with pytest.raises(mc.OptionError, match="metric"):
        open_source(engine.uri("photos", metric="hamming"))
    for wrong in (0, "2", 2.5):
        with pytest.raises(mc.OptionError, match="candidates must be a whole number >= 1, got "):
            search(photos, candidates=wrong)
    for wrong in ("sunset", [[1.0], [1.0, 2.0]], None):
        with pytest.raises(mc.InputError, match="a search needs one vector of finite numbers, got "):
            search(photos, wrong)
    assert search(photos, QUERY.tolist(), candidates=np.int64(3)).ids == search(photos).ids[:3]
    sink = open_sink(photos, dim=DIM)
    try:
        with pytest.raises(mc.InputError, match="vectors must be 1 x 1 x 24"):
            sink.put(ROWS[:1], VECTORS[:2])
        with pytest.raises(mc.InputError, match="finite"):
            sink.put(ROWS[:1], np.full((1, DIM), np.nan, np.float32))
        with pytest.raises(mc.InputError, match="a row must have a path"):
            sink.put([{"size": 3}], VECTORS[:1])
        with pytest.raises(mc.InputError, match="colour besides"):
            sink.put([{"path": "a", "colour": 3}], VECTORS[:1])
    finally:
        sink.close()


# Tables that others have made


def make_products(engine: Engine) -> str:
    """A shop's table, made with the engine's own package: other names, two columns of vectors."""
    names, prices = [f"p{i}" for i in range(30)], [None if i == 4 else i / 2 for i in range(30)]
    brands = ["Acme" if i % 3 else "Other" for i in range(30)]
    extras = [{"by": f"m{i % 4}", "at": {"lat": float(i), "lon": 0.0}} for i in range(30)]
    vectors, others = VECTORS[:30], VECTORS[30:60, :4]
    if engine.name == "lance":
        import lancedb
        import pyarrow as pa

        def column(rows: Any) -> Any:
            return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(rows).ravel()), rows.shape[1])

        table = pa.table({"sku": names, "price": prices, "brand": brands, "extra": extras, "seen": column(vectors),
                          "said": column(others)})  # fmt: skip
        lancedb.connect(engine.base.removeprefix("lance://")).create_table("products", table)
    elif engine.name == "qdrant":
        from qdrant_client import QdrantClient, models

        client = QdrantClient(path=engine.base.removeprefix("qdrant+local://"))
        shapes = {"seen": models.VectorParams(size=DIM, distance=models.Distance.COSINE),
                  "said": models.VectorParams(size=4, distance=models.Distance.DOT)}  # fmt: skip
        client.create_collection("products", vectors_config=shapes)
        points = [
            models.PointStruct(id=i, vector={"seen": vectors[i].tolist(), "said": others[i].tolist()},
                               payload={"sku": names[i], "brand": brands[i], "extra": extras[i]}
                               | ({} if prices[i] is None else {"price": prices[i]}))
            for i in range(30)
        ]  # fmt: skip
        client.upsert("products", points)
        client.close()
    elif engine.name == "milvus":
        from pymilvus import DataType, MilvusClient

        client = MilvusClient(engine.base.removeprefix("milvus://"))
        schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
        schema.add_field("number", DataType.INT64, is_primary=True)
        schema.add_field("seen", DataType.FLOAT_VECTOR, dim=DIM)
        schema.add_field("said", DataType.FLOAT_VECTOR, dim=4)
        index = client.prepare_index_params()
        index.add_index("seen", index_type="HNSW", metric_type="COSINE", params={"M": 16, "efConstruction": 100})
        index.add_index("said", index_type="FLAT", metric_type="L2")
        client.create_collection("products", schema=schema, index_params=index)
        rows = [{"number": i, "sku": names[i], "brand": brands[i], "extra": extras[i],
                 "seen": vectors[i], "said": others[i]}
                | ({} if prices[i] is None else {"price": prices[i]}) for i in range(30)]  # fmt: skip
        client.insert("products", rows)
        client.close()
    else:
        import psycopg

        with psycopg.connect(engine.base) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute("CREATE SCHEMA shop")
            connection.execute(
                f"CREATE TABLE shop.products (sku uuid PRIMARY KEY, price numeric(8, 2), brand text, tags text[], "
                f"seen vector({DIM}), said vector(4), extra jsonb, added timestamptz)"
            )
            for i in range(30):
                connection.execute(
                    "INSERT INTO shop.products VALUES (%s::uuid, %s, %s, %s, %s::vector, %s::vector, %s, now())",
                    [
                        f"{i:032x}",
                        prices[i],
                        brands[i],
                        ["a", "b"],
                        str(vectors[i].tolist()),
                        str(others[i].tolist()),
                        json.dumps(extras[i]),
                    ],
                )
            connection.execute("INSERT INTO shop.products (sku) VALUES (%s::uuid)", [f"{77:032x}"])  # no vector
        return "shop.products"
    return "products"


def test_tables_of_others(engine: Engine) -> None:
    table = make_products(engine)
    with pytest.raises(mc.InputError, match=r"name it with \?vector=; it has: seen, said"):
        search(engine.uri(table))
    with pytest.raises(mc.InputError, match="'felt'; it has: seen, said"):
        search(engine.uri(table, vector="felt"))
    found = search(engine.uri(table, vector="seen", id="sku"))
    best = nearest(VECTORS[:30] @ QUERY)
    assert [str(id_).replace("-", "") for id_ in found.ids] == (
        [f"{i:032x}" for i in best] if engine.name == "postgres" else [f"p{i}" for i in best]
    )
    assert found.columns["price"] == [None if i == 4 else i / 2 for i in best]
    assert not {"seen", "said"} & set(found.columns)
    wishes = [mc.spread(mc.Number("price")), mc.focus(mc.Category("brand"), near="Other")]
    assert len(mc.rerank(found.candidates(), wishes, k=5)) == 5
    inner = [mc.spread(mc.Category("extra.by")), mc.spread(mc.Place("extra.at.lat", "extra.at.lon"))]
    made = mc.rerank(found.candidates(), inner, k=4, method=mc.Mascot(1.0, protect=1)).positions
    assert len({found.columns["extra"][i]["by"] for i in made}) == 4
    keyless = pytest.warns(NoKey, match=r"ids are places in the result; name a column with \?id=")
    with keyless if engine.name == "lance" else nullcontext() as warned:
        source = open_source(engine.uri(table, vector="seen"))
    assert warned is None or [one.filename for one in warned] == [__file__]
    with source:
        assert source.facts() == {}
        less = source.search(QUERY, columns=["extra.by", "brand"], vectors=False)
        key = {"milvus": {"number"}, "postgres": {"sku"}}.get(engine.name, set())
        assert (set(less.columns), less.vectors) == ({"extra", "brand"} | key, None)
        assert np.array_equal(less.scores, found.scores)
        named = {"lance": list(range(30)), "postgres": found.ids}.get(engine.name, best)  # else by the table's own key
        assert less.ids == named
        by = [extra["by"] for extra in found.columns["extra"]]
        assert [extra["by"] for extra in less.columns["extra"]] == by
        assert less.candidates().columns["extra.by"].tolist() == by
    if engine.name != "qdrant":  # where a point may have anything
        with pytest.raises(mc.InputError, match=r"not a table of photographs, its columns lack path, .* and \d+ more"):
            open_sink(engine.uri(table), dim=DIM)
    if engine.name == "postgres":
        import psycopg

        with psycopg.connect(engine.base) as connection:  # nothing was left behind
            assert connection.execute("SELECT to_regclass('shop.products_facts')").fetchone() == (None,)
    assert len(search(engine.uri(table, vector="said", id="sku"), VECTORS[0, :4], candidates=5)) == 5


# What only one engine has


@pytest.mark.parametrize("engine", ["qdrant", "milvus"], indirect=True)
def test_a_row_without_a_path_is_named_by_its_own_id(engine: Engine) -> None:
    rows: list[dict[str, Any]] = [{"path": "a"}, {"path": None}, {}]
    if engine.name == "qdrant":
        from qdrant_client import QdrantClient, models

        client = QdrantClient(path=engine.base.removeprefix("qdrant+local://"))
        shape = models.VectorParams(size=2, distance=models.Distance.COSINE)
        client.create_collection("pathless", vectors_config=shape)
        points = [models.PointStruct(id=i, vector=[1.0, i / 9], payload=row) for i, row in enumerate(rows)]
        client.upsert("pathless", points)
    else:
        from pymilvus import MilvusClient

        client = MilvusClient(engine.base.removeprefix("milvus://"))
        client.create_collection("pathless", dimension=2, metric_type="COSINE", consistency_level="Strong")
        client.insert("pathless", [{"id": i, "vector": [1.0, i / 9]} | row for i, row in enumerate(rows)])
    client.close()
    assert search(engine.uri("pathless"), [1.0, 0.0]).ids == ["a", 1, 2]
    assert search(engine.uri("pathless", id="path"), [1.0, 0.0]).ids == ["a", None, None]


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_a_key_of_several_columns_names_nothing(engine: Engine) -> None:
    import psycopg

    with psycopg.connect(engine.base) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE TABLE pairs (a int, b int, v vector(2), PRIMARY KEY (a, b))")
        connection.execute("CREATE TABLE named (a int, id int, v vector(2), PRIMARY KEY (a) INCLUDE (id))")
        connection.execute("INSERT INTO pairs VALUES (7, 8, '[1, 0]')")
        connection.execute("INSERT INTO named VALUES (7, 8, '[1, 0]')")
    with pytest.warns(NoKey):
        assert search(engine.uri("pairs"), [1.0, 0.0]).ids == [0]
    assert search(engine.uri("pairs", id="b"), [1.0, 0.0]).ids == [8]
    assert search(engine.uri("named"), [1.0, 0.0]).ids == [7]


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_lets_a_filter_only_read(engine: Engine, photos: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    from mascot.connect import postgres

    with psycopg.connect(engine.base, autocommit=True) as connection:
        connection.execute("CREATE SEQUENCE counter")
        connection.execute(
            "CREATE FUNCTION wipe() RETURNS boolean LANGUAGE plpgsql AS "
            "$$ BEGIN DELETE FROM photos; RETURN true; END $$"
        )
    source = open_source(photos)
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
    assert len(source.search(QUERY, candidates=COUNT)) == COUNT
    source.close()


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_gives_all_candidates_through_an_index(engine: Engine, photos: str) -> None:
    """An index of pgvector gives forty rows unless told otherwise, and filters after it has chosen them."""
    import psycopg

    with psycopg.connect(engine.base, autocommit=True) as connection:
        connection.execute("CREATE TABLE indexed AS SELECT * FROM photos")
        connection.execute("CREATE INDEX ON indexed USING hnsw (vector vector_ip_ops)")
    uri = engine.uri("indexed", options="-cenable_seqscan%3Doff")
    found = search(uri)
    best = nearest(VECTORS @ QUERY)
    assert len(set(found.ids) & {ROWS[i]["path"] for i in best}) >= 195
    assert found.scores[0] == pytest.approx(float((VECTORS @ QUERY).max()), abs=1e-6)
    among = np.array([row["country"] == "PT" and row["rating"] >= 3 for row in ROWS])
    assert search(uri, where=engine.portugal).ids == [ROWS[i]["path"] for i in nearest(VECTORS @ QUERY, among=among)]
    with psycopg.connect(engine.base, autocommit=True) as connection:
        connection.execute("CREATE TABLE listed AS SELECT * FROM photos")
        connection.execute("CREATE INDEX ON listed USING ivfflat (vector vector_l2_ops) WITH (lists = 16)")
    found = search(engine.uri("listed", options="-cenable_seqscan%3Doff"), candidates=50)
    assert len(set(found.ids)) == 50  # which they are is up to the index, whose lists begin at random
    assert found.scores[0] == pytest.approx(
        float(VECTORS[[r["path"] for r in ROWS].index(found.ids[0])] @ QUERY), abs=1e-5
    )


@pytest.mark.parametrize("engine", ["lance"], indirect=True)
def test_lance_scores_exactly_through_an_index(engine: Engine) -> None:
    import lancedb
    from lancedb.index import IvfPq

    uri = engine.uri("indexed")
    sink = open_sink(uri, dim=DIM)
    sink.put(ROWS, VECTORS)
    sink.close()
    table = lancedb.connect(engine.base.removeprefix("lance://")).open_table("indexed")
    table.create_index("vector", config=IvfPq(distance_type="dot", num_partitions=1, num_sub_vectors=6))
    found = search(uri)
    paths = [row["path"] for row in ROWS]
    exact = np.array([VECTORS[paths.index(id_)] @ QUERY for id_ in found.ids])
    assert np.allclose(found.scores, exact, atol=1e-6)
    assert (np.diff(found.scores) <= 0).all()
    assert len(set(found.ids) & {paths[i] for i in nearest(VECTORS @ QUERY)}) > 160


@pytest.mark.parametrize("engine", ["lance"], indirect=True)
def test_lance_finds_all_that_a_filter_lets_through(engine: Engine) -> None:
    """An index looks into twenty of its cells, and what passes the filter may lie in the others."""
    import lancedb
    import pyarrow as pa
    from lancedb.index import IvfFlat

    count = 3000
    vectors = unit(np.random.default_rng(0).normal(size=(count, 8)))
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 8)
    rows = pa.table({"id": range(count), "rare": [i % 100 == 0 for i in range(count)], "vector": flat})
    table = lancedb.connect(engine.base.removeprefix("lance://")).create_table("rare", rows)
    table.create_index("vector", config=IvfFlat(distance_type="cosine", num_partitions=200))
    found = search(engine.uri("rare"), vectors[0], candidates=50, where="rare")
    assert found.ids == nearest(vectors @ vectors[0], among=np.arange(count) % 100 == 0)
    assert len(found) == 30


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_in_threads_and_after_the_server_has_hung_up(engine: Engine, photos: str) -> None:
    import psycopg

    def ended() -> None:
        with psycopg.connect(engine.base, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )

    with open_source(photos) as source:
        expected = [nearest(VECTORS @ VECTORS[i], 5) for i in range(8)]
        with ThreadPoolExecutor(8) as pool:
            for _ in range(3):
                found = list(pool.map(lambda i: source.search(VECTORS[i], candidates=5).ids, range(8)))
                assert found == [[ROWS[i]["path"] for i in best] for best in expected]
        ended()
        assert source.search(VECTORS[0], candidates=5).ids == found[0]
        ended()
        assert source.facts() == {"encoder": "lite", "fingerprint": "abc"}
        only = "current_setting('default_transaction_read_only') = 'on'"  # the new connection, too, only reads
        assert len(source.search(QUERY, candidates=3, where=only)) == 3
    with open_sink(photos, dim=DIM) as sink:
        ended()
        with pytest.raises(mc.InputError, match="cannot use postgresql:"):
            sink.facts()


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_takes_options_with_spaces(engine: Engine, photos: str) -> None:
    assert len(search(engine.uri("photos", options="-c%20search_path%3Dpublic"), candidates=3)) == 3
    with pytest.raises(mc.InputError, match="there is no table 'photos'"):
        search(engine.uri("photos", options="-c%20search_path%3Dnowhere"))


class _Refusing(BaseHTTPRequestHandler):
    """A server of Qdrant that has a collection and refuses to search it."""

    def _answer(self, status: int, result: Any) -> None:
        body = json.dumps(result).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        params = {"vectors": {"size": DIM, "distance": "Cosine"}}
        config = {
            "params": params,
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
            "optimizer_config": {"deleted_threshold": 0.2, "vacuum_min_vector_number": 1000,
                                 "default_segment_number": 0, "flush_interval_sec": 5},
        }  # fmt: skip
        there = {"status": "green", "optimizer_status": "ok", "segments_count": 1, "payload_schema": {},
                 "config": config}  # fmt: skip
        self._answer(200, {"result": {"exists": True} if self.path.endswith("/exists") else there})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._answer(400, {"status": {"error": "Bad request: Index required"}, "time": 0})

    def log_message(self, *_: Any) -> None:
        pass


def test_what_a_server_of_qdrant_says_is_told() -> None:
    pytest.importorskip("qdrant_client", reason="needs mascot-rerank[qdrant]")
    where = '{"must": [{"key": "country", "match": {"value": "PT"}}]}'
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        uri = f"qdrant://127.0.0.1:{server.server_port}/photos"
        source, sink = open_source(uri), open_sink(uri, dim=DIM)
        with pytest.raises(mc.OptionError, match=r"^where: Bad request: Index required in "):
            source.search(QUERY, where=where)
        for use in (lambda: source.search(QUERY), source.facts, sink.facts, lambda: dict(sink.states())):
            with pytest.raises(mc.InputError, match=f"^cannot use {uri}: Bad request: Index required$"):
                use()
        server.shutdown()
    for gone in (
        lambda: source.search(QUERY, where=where), source.facts, sink.facts, lambda: dict(sink.states()),
        lambda: sink.remove(["a"]),
        lambda: sink.put(ROWS[:1], VECTORS[:1]), lambda: sink.set_facts({"a": "b"}),
        lambda: open_source(uri), lambda: open_sink(uri, dim=DIM),
    ):  # fmt: skip
        with pytest.raises(mc.InputError, match=f"^cannot use {uri}: "):
            gone()
    source.close()
    sink.close()


@pytest.mark.parametrize("engine", ["lance"], indirect=True)
def test_lance_in_object_storage(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address passes through to LanceDB, which reads keys and endpoint from the environment."""
    pytest.importorskip("moto", reason="needs moto[server], a server that speaks S3")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(1800):
            try:
                urllib.request.urlopen(f"{address}/moto-api/").close()
                break
            except OSError:
                time.sleep(0.1)
        urllib.request.urlopen(urllib.request.Request(f"{address}/bucket", method="PUT")).close()
        for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "REGION": "us-east-1",
                            "ENDPOINT": address, "ALLOW_HTTP": "true"}.items():  # fmt: skip
            monkeypatch.setenv(f"AWS_{name}", value)
        uri = "lance+s3://bucket/libraries/mine/photos"
        sink = open_sink(uri, dim=DIM)
        sink.put(ROWS, VECTORS)
        sink.put(ROWS[:5], VECTORS[:5])
        sink.set_facts({"encoder": "lite"})
        assert len(dict(sink.states())) == COUNT
        sink.close()
        assert search(uri).ids == [ROWS[i]["path"] for i in nearest(VECTORS @ QUERY)]
        source = open_source(uri)
        assert source.facts() == {"encoder": "lite"}
        source.close()
        listed = urllib.request.urlopen(f"{address}/bucket?prefix=libraries/mine/photos.lance").read()
        assert b"photos.lance" in listed
    finally:
        server.terminate()
        server.wait()


# Addresses


def test_addresses_are_read() -> None:
    lance = read_address("lance:///data/my%20photos/db/table?vector=v&id=key&metric=ip")
    assert (str(lance.file), lance.table) == ("/data/my photos/db", "table")
    assert (lance.vector, lance.id, lance.metric) == ("v", "key", "ip")
    assert str(read_address("lance://here/db/table").file) == "here/db"
    assert str(read_address("lance://table").file) == "."
    cloud = read_address("lance+s3://bucket/a/b/table")
    assert (cloud.way, cloud.host, cloud.place, cloud.table) == ("s3", "bucket", "/a/b", "table")
    server = read_address("qdrant+https://host:6333/photos")
    assert (server.way, server.host, server.place, server.table) == ("https", "host:6333", "", "photos")
    database = read_address("postgresql://me:secret@host:5432/mine?sslmode=require&table=shop.photos&metric=l2")
    assert database.dsn == "postgresql://me:secret@host:5432/mine?sslmode=require"
    assert (database.table, database.metric) == ("shop.photos", "l2")
    assert "secret" not in database.label + repr(database)


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("elastic://host/photos", "must begin with one of lance://, qdrant://"),
        ("photos", "must begin with one of lance://"),
        ("lance://db/photos?colour=red", r"takes \?vector=, \?id= and \?metric=, got 'colour'"),
        ("lance://", "must end with the name of a table"),
        ("qdrant://photos", "write qdrant://HOST:PORT/COLLECTION"),
        ("milvus:///photos", "write milvus://HOST:PORT/COLLECTION"),
        ("lance:///no/such/folder/photos", "there is no /no/such/folder"),
        ("qdrant+local:///no/such/folder/photos", "there is no /no/such/folder"),
        ("lance+s3:///folder/photos", r"cannot use lance\+s3:///folder/photos: .*bucket"),
        ("qdrant://127.0.0.1:1/photos", "cannot use qdrant://127.0.0.1:1/photos"),
        ("postgresql://me:secret@127.0.0.1:1/mine", "cannot reach postgresql://127.0.0.1:1/mine"),
    ],
)
def test_addresses_that_lead_nowhere_are_refused(uri: str, told: str) -> None:
    for needed in ("qdrant_client", "pymilvus", "lancedb", "psycopg"):
        pytest.importorskip(needed)
    with pytest.raises(mc.MascotError, match=told) as caught:
        open_source(uri)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "module", "distribution"),
    [
        ("lance://db/photos", "lancedb", "lancedb"),
        ("qdrant://host/photos", "qdrant_client", "qdrant-client"),
        ("milvus://host/photos", "pymilvus", "pymilvus"),
        ("postgresql://host/db", "psycopg", "psycopg"),
    ],
)
def test_a_missing_package_is_named(uri: str, module: str, distribution: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == module] + [module]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        mc.MissingExtra, match=rf"this engine needs the package {module}\b.*pip install .*\b{distribution}\b"
    ):
        open_source(uri)


# `mascot search --source`


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], Any, dict[str, str]]:
    """A sample library as rows, vectors and facts."""
    from mascot.photos.sample import write_sample

    folder = tmp_path_factory.mktemp("trips")
    write_sample(folder / "trips", 48, 0)
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    try:
        with Library.open(folder / "trips") as library:
            library.index()
            facts = {name: str(library.store.fact(name)) for name in ("encoder", "fingerprint", "epoch")}
            stamp = f"{facts['fingerprint']}-{facts['epoch']}"
            blobs = library.store.vectors_of(facts["fingerprint"])
            vectors = {id_: np.frombuffer(vector, np.float32) for id_, vector in blobs}
            photos = list(library.store.all_photos())
    finally:
        del os.environ["XDG_STATE_HOME"]
        if before is not None:
            os.environ["XDG_STATE_HOME"] = before
    rows = [photo.to_row() | {"stamp": stamp} for photo in photos]
    return rows, np.stack([vectors[photo.id] for photo in photos]), facts


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mascot.cli", "search", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment(), check=False)


def put_trips(uri: str, trips: Any) -> None:
    rows, vectors, facts = trips
    sink = open_sink(uri, dim=vectors.shape[1])
    sink.put(rows, vectors)
    sink.set_facts(facts)
    sink.close()


@pytest.mark.parametrize("engine", ["lance", "qdrant"], indirect=True)
def test_the_command_searches_and_steers_an_engine(engine: Engine, trips: Any) -> None:
    uri = engine.uri("trips")
    put_trips(uri, trips)
    steered = run("--source", uri, "sunset over water", "-k", "8", "--spread", "place",
                  "--focus", "country=Portugal*0.1")  # fmt: skip
    assert (steered.returncode, steered.stderr) == (0, "")
    listed = [json.loads(line) for line in steered.stdout.splitlines()]
    assert len(listed) == 8
    assert {"path", "score", "rank", "was", "city", "taken", "relevance"} <= set(listed[0])
    plain = search(uri, _text_vector()).records()[:8]
    before, after = ({row["city"] for row in rows} - {None} for rows in (plain, listed))
    assert len(after) > len(before)


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_the_command_warns_and_refuses(engine: Engine, trips: Any) -> None:
    uri = engine.uri("trips")
    put_trips(uri, trips)
    asked = ("--source", uri, "sunset over water", "-k", "8", "--spread", "place", "--candidates", "8")
    few = run(*asked, "--format", "paths", "--where", "country IS NOT NULL")
    assert (few.returncode, few.stderr) == (
        0, "mascot: candidates=8 and k=8: nothing is left to choose from; ask for ten times as many candidates\n"
    )  # fmt: skip
    expected = search(uri, _text_vector(), candidates=8, where="country IS NOT NULL")
    assert few.stdout.splitlines() == expected.ids
    wrong = run(*asked, "--since", "2019")
    assert (wrong.returncode, wrong.stderr) == (2, "mascot: --since: not with --source; conditions go to --where\n")


def _text_vector() -> Any:
    from mascot.photos.encoders import open_encoder

    return open_encoder("lite").texts(["sunset over water"])[0]


@pytest.mark.parametrize("engine", ["lance"], indirect=True)
def test_wishes_in_words_are_about_what_was_found(engine: Engine, trips: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process: any column, cities by name, and errors that name what there is."""
    from mascot.connect.searching import Question, search_source

    rows, vectors, facts = trips
    uri = engine.uri("words")
    sink = open_sink(uri, dim=vectors.shape[1])
    sink.put(rows, vectors)
    question = Question("boats in the harbour")
    with pytest.raises(mc.OptionError, match="name it with --encoder"):
        search_source(uri, question)
    sink.set_facts(facts | {"fingerprint": "other"})
    with pytest.raises(mc.OptionError, match=r"fingerprint other"):
        search_source(uri, question)
    sink.set_facts(facts)
    sink.close()
    city = next(row["city"] for row in rows if row["city"])
    method = mc.Mascot(strength=1, protect=0, order="selection")
    near = search_source(uri, question, focus=[f"city={city.lower()}"], k=3, method=method)
    assert near.records()[0]["city"] == city
    for words in (f"place={city}", "place=Reykjavik", "season=summer", "hour=18", "keywords=sea", "number:rating=3"):
        assert len(search_source(uri, question, focus=[words], k=5).records()) == 5
    assert len(search_source(uri, question, spread=["look", "camera", "category:moment"], k=5).records()) == 5
    assert search_source(uri, question, where="country = 'XX'").records() == []
    limited = search_source(uri, question, limit=["city=1", "category:camera=3"], k=9).records()
    assert max(Counter(row["city"] for row in limited if row["city"]).values()) == 1
    assert max(Counter(row["camera"] for row in limited if row["camera"]).values()) <= 3
    filled = search_source(uri, question, limit=["season=1"], fill=True, k=9)
    assert len(filled.records()) == 9
    country = next(row["country"] for row in rows if row["city"] == city)
    shared = search_source(uri, question, share=[f"country={country.lower()}:25%"], k=8).records()
    assert sum(row["country"] == country for row in shared) == 2
    first = search_source(uri, question, spread=["place"], k=5, candidates=6)
    before = [row["id"] for row in first.records()]
    second = search_source(uri, question, spread=["place"], k=5, candidates=6, already=[*before, "nobody"]).records()
    assert len(second) == 5  # there are candidates beside those shown before
    assert {row["id"] for row in second}.isdisjoint(before)
    monkeypatch.setattr(errors, "_WARNINGS", set())
    best = search_source(uri, question, k=5).records()
    with pytest.warns(RuntimeWarning, match="no record has 'colour': its values count as missing"):
        assert search_source(uri, question, limit=["colour=1"], k=5).records() == best
    for wish in ({"spread": ["colour"]}, {"focus": ["colour=red"]}, {"share": ["colour=red:50%"]}):
        assert search_source(uri, question, k=5, **wish).records() == best  # type: ignore[arg-type]
    with pytest.raises(mc.OptionError, match="not both"):
        search_source(uri, Question())
    with pytest.raises(mc.OptionError, match="must not be empty"):
        search_source(uri, Question(" "))
