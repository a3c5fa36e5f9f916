"""Real engines for the tests, each started once: LanceDB, Qdrant's local mode, milvus-lite and PostgreSQL."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

PLACES = (("Lisbon", "PT", 38.72, -9.14), ("Oslo", "NO", 59.91, 10.75), ("Lima", "PE", -12.05, -77.04),
          ("Kyoto", "JP", 35.01, 135.77))  # fmt: skip


@dataclass(frozen=True)
class Engine:
    name: str
    base: str  # the address up to the table

    def uri(self, table: str, **options: str) -> str:
        if self.name == "postgres":
            options = {"table": table, **options}
        words = "&".join(f"{name}={value}" for name, value in options.items())
        if self.name == "postgres":
            return f"{self.base}&{words}"
        return f"{self.base}/{table}" + (f"?{words}" if words else "")

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
        return {"lance": "no_such > 3", "postgres": "no_such > 3", "milvus": "==== 3", "qdrant": '{"no_such": 3}'}[
            self.name
        ]


@contextmanager
def started(name: str, folder: Path) -> Iterator[Engine]:
    if name == "lance":
        pytest.importorskip("lancedb", reason="needs mascot-rerank[lance]")
        yield Engine(name, f"lance://{folder}/database")
    elif name == "qdrant":
        pytest.importorskip("qdrant_client", reason="needs mascot-rerank[qdrant]")
        yield Engine(name, f"qdrant+local://{folder}/qdrant")
    elif name == "milvus":
        pytest.importorskip("milvus_lite", reason="needs mascot-rerank[milvus] and milvus-lite")
        pytest.importorskip("pymilvus", reason="needs mascot-rerank[milvus]")
        yield Engine(name, f"milvus://{folder}/milvus.db")
    else:
        with postgres() as base:
            yield Engine(name, base)


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL server with pgvector; its address."""
    pytest.importorskip("psycopg", reason="needs mascot-rerank[postgres]")
    pgserver = pytest.importorskip("pgserver", reason="needs pgserver, a PostgreSQL with pgvector")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # sockets have short names
        server = pgserver.get_server(Path(folder, "data"))
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def some_rows(count: int) -> list[dict[str, Any]]:
    """Rows with every kind of value: missing ones, quotes, umlauts, large numbers."""
    rows = []
    for i in range(count):
        city, country, lat, lon = PLACES[0] if i < count // 2 else PLACES[i % len(PLACES)]
        known = i % 7 != 0
        rows.append({
            "id": i, "path": f"trip's/ü {i}.jpg", "folder": "trip's", "size": 1000 + i,
            "mtime_ns": 1_700_000_000_123_456_789 + i, "hash": f"{i:064x}", "width": 640, "height": 480,
            "lat": lat if known else None, "lon": lon if known else None, "altitude": None,
            "taken": f"2019-07-14T{i % 24:02}:00:00" if i % 5 else None, "offset": 60, "camera": None, "lens": None,
            "title": f'"{i}"', "caption": None, "keywords": '["sea", "über"]' if i % 2 else "[]", "rating": i % 6,
            "city": city if known else None, "country": country if known else None, "season": "summer",
            "part_of_day": None, "moment": f"m{i // 10}", "problems": "[]", "stamp": "space-1",
        })  # fmt: skip
    return rows
