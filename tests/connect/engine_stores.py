"""Real engines for the tests: LanceDB, Qdrant's local mode, milvus-lite and PostgreSQL, and what is put into them."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mascot as mc
from mascot.connect import converters as convert

PLACES = (("Lisbon", "PT", 38.72, -9.14), ("Oslo", "NO", 59.91, 10.75), ("Lima", "PE", -12.05, -77.04),
          ("Kyoto", "JP", 35.01, 135.77))  # fmt: skip
NEEDED = {
    "lance": ("lancedb",), "qdrant": ("qdrant_client",), "milvus": ("pymilvus", "milvus_lite"),
    "postgres": ("psycopg", "pgserver"),
}  # fmt: skip


@dataclass(frozen=True)
class Engine:
    name: str
    base: str  # the address up to the table

    def uri(self, table: str, **options: str) -> str:
        words = "".join(f"&{name}={value}" for name, value in options.items())
        if self.name == "postgres":
            return f"{self.base}&table={table}{words}"
        return f"{self.base}/{table}" + words.replace("&", "?", 1)

    @property
    def portugal(self) -> str:
        """Only photographs from Portugal rated 3 or better, in the engine's own words."""
        return {
            "lance": "country = 'PT' AND rating >= 3",
            "postgres": "country = 'PT' AND rating >= 3 AND path LIKE '%.jpg' -- in Portugal",
            "milvus": 'country == "PT" and rating >= 3',
            "qdrant": json.dumps(
                {"must": [{"key": "country", "match": {"value": "PT"}}, {"key": "rating", "range": {"gte": 3}}]}
            ),
        }[self.name]

    @property
    def nonsense(self) -> str:
        return {"milvus": "==== 3", "qdrant": '{"no_such": 3}'}.get(self.name, "no_such > 3")

    @contextmanager
    def client(self) -> Iterator[Any]:
        """The engine's own client; PostgreSQL's commits each statement."""
        package, folder = import_module(NEEDED[self.name][0]), self.base.partition("://")[2]
        if self.name == "lance":
            yield package.connect(folder)
        elif self.name == "postgres":
            with package.connect(self.base, autocommit=True) as client:
                yield client
        else:
            is_qdrant = self.name == "qdrant"
            with closing(package.QdrantClient(path=folder) if is_qdrant else package.MilvusClient(folder)) as client:
                yield client


def _postgres(folder: Path, attempts: int = 5) -> Any:
    """Start a server. The package waits ten seconds for it, which a busy machine may exceed."""
    try:
        return import_module("pgserver").get_server(folder)
    except subprocess.SubprocessError:
        return _postgres(folder, attempts - 1) if attempts else pytest.fail("PostgreSQL does not start")


@contextmanager
def started(name: str, folder: Path) -> Iterator[Engine]:
    for package in NEEDED[name]:
        pytest.importorskip(package, reason=f"needs mascot-rerank[{name}], and milvus-lite or pgserver")
    if name == "postgres":
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as short:  # sockets have short names
            server = _postgres(Path(short, "data"))
            try:
                yield Engine(name, server.get_uri())
            finally:
                server.cleanup()
    else:
        start = {"lance": "lance://{}/db", "qdrant": "qdrant+local://{}/qdrant", "milvus": "milvus://{}/milvus.db"}
        yield Engine(name, start[name].format(folder))


def unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def some_rows(number: int) -> list[dict[str, Any]]:
    """Rows with every kind of value: missing ones, quotes, umlauts, large numbers."""
    rows = []
    for i in range(number):
        city, country, lat, lon = PLACES[0] if i < number // 2 else PLACES[i % len(PLACES)]
        known = i % 7 != 0
        rows.append({
            "id": i, "path": f"trip's/ü {i}.jpg", "folder": "trip's", "size": 1000 + i,
            "mtime_ns": 1_700_000_000_123_456_789 + i, "hash": f"{i:064x}", "width": 640, "height": 480,
            "lat": lat if known else None, "lon": lon if known else None, "altitude": None,
            "taken": f"2019-07-14T{i % 24:02}:00:00" if i % 5 else None, "offset": 60, "camera": None, "lens": None,
            "title": f'"{i}"', "caption": None, "keywords": '["sea", "über"]' if i % 2 else "[]", "rating": i % 6,
            "quality": i / number if i % 3 else None,
            "city": city if known else None, "country": country if known else None, "season": "summer",
            "part_of_day": None, "moment": f"m{i // 10}", "problems": "[]", "stamp": "space-1",
        })  # fmt: skip
    return rows


# A shop's table, made with the engine's own package: other names than ours, two columns of vectors.
DIM = 24
PRODUCT_VECTORS = unit(np.random.default_rng(8).normal(size=(30, DIM)))
OTHER_VECTORS = unit(np.random.default_rng(7).normal(size=(30, 4)))
PRODUCTS: list[dict[str, Any]] = [
    {"sku": f"p{i}", "price": None if i == 4 else i / 2, "brand": "Acme" if i % 2 else f"b{i % 5}",
     "extra": {"by": f"m{i % 4}", "at": {"lat": float(i), "lon": 0.0}}}
    for i in range(30)
]  # fmt: skip


def put_products(engine: Engine) -> str:
    """Write the products; return the name of their table."""
    pairs = zip(PRODUCT_VECTORS.tolist(), OTHER_VECTORS.tolist(), strict=True)
    rows = [{**row, "seen": seen, "said": said} for row, (seen, said) in zip(PRODUCTS, pairs, strict=True)]
    with engine.client() as client:
        _WRITERS[engine.name](client, rows)
    return "shop.products" if engine.name == "postgres" else "products"


def _put_lance(client: Any, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa

    table = pa.Table.from_pylist(rows)
    for name, dim in (("seen", DIM), ("said", 4)):
        column = table[name].combine_chunks().cast(pa.list_(pa.float32(), dim))
        table = table.drop_columns(name).append_column(name, column)
    client.create_table("products", table)


def _put_qdrant(client: Any, rows: list[dict[str, Any]]) -> None:
    from qdrant_client import models

    shapes = {"seen": models.VectorParams(size=DIM, distance=models.Distance.COSINE),
              "said": models.VectorParams(size=4, distance=models.Distance.EUCLID)}  # fmt: skip
    client.create_collection("products", vectors_config=shapes)
    for i, row in enumerate(rows):
        payload = {name: value for name, value in row.items() if name not in shapes and value is not None}
        point = models.PointStruct(id=i, vector={name: row[name] for name in shapes}, payload=payload)
        client.upsert("products", [point])


def _put_milvus(client: Any, rows: list[dict[str, Any]]) -> None:
    from pymilvus import DataType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("number", DataType.INT64, is_primary=True)
    schema.add_field("seen", DataType.FLOAT_VECTOR, dim=DIM)
    schema.add_field("said", DataType.FLOAT_VECTOR, dim=4)
    index = client.prepare_index_params()
    index.add_index("seen", index_type="FLAT", metric_type="COSINE")
    index.add_index("said", index_type="FLAT", metric_type="L2")
    client.create_collection("products", schema=schema, index_params=index, consistency_level="Strong")
    named = [{name: value for name, value in row.items() if value is not None} for row in rows]
    client.insert("products", [{"number": i, **row} for i, row in enumerate(named)])


def _put_postgres(client: Any, rows: list[dict[str, Any]]) -> None:
    client.execute("CREATE EXTENSION IF NOT EXISTS vector")
    client.execute("CREATE SCHEMA shop")
    client.execute(
        f"CREATE TABLE shop.products (sku text PRIMARY KEY, price numeric(8, 2), brand text, extra jsonb, "
        f"seen vector({DIM}), said vector(4), tags text[], added timestamptz)"
    )
    for row in rows:
        values = [row["sku"], row["price"], row["brand"], json.dumps(row["extra"]), str(row["seen"]), str(row["said"])]
        client.execute(
            "INSERT INTO shop.products VALUES (%s, %s, %s, %s, %s::vector, %s::vector, '{a,b}', now())", values
        )
    client.execute("INSERT INTO shop.products (sku) VALUES ('without a vector')")


_WRITERS = {"lance": _put_lance, "qdrant": _put_qdrant, "milvus": _put_milvus, "postgres": _put_postgres}


@dataclass
class Shop:
    """The table of products through a client that the caller has open."""

    source: Callable[[], Any]  # a new source over the client
    responses: Callable[[str, Any], list[mc.Candidates[Any]]]  # what converters make of the client's own searches


def lance_shop(client: Any, name: str) -> Shop:
    from mascot.connect.engines.lance import LanceSource

    table = client.open_table(name)

    def responses(vector: str, query: Any) -> list[Any]:
        search = table.search(query, vector_column_name=vector).limit(len(PRODUCTS))
        results = (search.to_arrow(), search.to_list(), search.to_pandas(), search.to_polars())
        return [convert.from_lance(result, id="sku", vector=vector) for result in results]

    return Shop(partial(LanceSource.from_table, table, id="sku", vector="seen"), responses)


def qdrant_shop(client: Any, name: str) -> Shop:
    from mascot.connect.engines.qdrant import QdrantSource

    def responses(vector: str, query: Any) -> list[Any]:
        response = client.query_points(name, query=query.tolist(), using=vector, limit=len(PRODUCTS), with_vectors=True)
        candidates = convert.from_qdrant(response, vector=vector)
        candidates.ids = [point.payload["sku"] for point in response.points]
        assert candidates.source is not None
        assert candidates.source[0] is response.points[0]
        return [candidates]

    return Shop(partial(QdrantSource.from_client, client, name, id="sku", vector="seen"), responses)


def milvus_shop(client: Any, name: str) -> Shop:
    from mascot.connect.engines.milvus import MilvusSource

    def responses(vector: str, query: Any) -> list[Any]:
        fields = ["sku", "price", "brand", "extra", vector]
        response = client.search(name, data=[query], anns_field=vector, limit=len(PRODUCTS), output_fields=fields)
        candidates = convert.from_milvus(response, vector=vector)
        assert candidates.ids == [hit["number"] for hit in response[0]]
        candidates.ids = candidates.columns["sku"].tolist()
        return [candidates]

    client.load_collection(name)
    return Shop(partial(MilvusSource.from_client, client, name, id="sku", vector="seen"), responses)


def postgres_shop(client: Any, name: str) -> Shop:
    from psycopg.rows import dict_row

    from mascot.connect.engines.postgres import PostgresSource

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

    return Shop(partial(PostgresSource.from_connection, client, name, vector="seen"), responses)


SHOPS = {"lance": lance_shop, "qdrant": qdrant_shop, "milvus": milvus_shop, "postgres": postgres_shop}
