"""Qdrant: collections of a server or cluster, or of a folder in the client's local mode."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.connect.converters.hit_lists import names_of
from mascot.connect.engines import engine
from mascot.connect.engines.address import Address, Metric, address_of_client
from mascot.connect.engines.engine import EngineHits, EngineRequest, EngineSource, EngineTable
from mascot.connect.engines.sink import VECTOR, Sink, SinkLayout, chunks
from mascot.errors import InputError, OptionError
from mascot.extras import package

_DISTANCES: dict[Metric, str] = {"cosine": "Cosine", "ip": "Dot", "l2": "Euclid"}
_PAGE = 1000
_TIMEOUT_S = 30


class QdrantTable(EngineTable):
    def __init__(self, address: Address, client: Any = None, make: bool = False) -> None:
        self._address, self._owned = address, client is None
        self._models = package("qdrant_client.models", "qdrant")
        self._errors = (package("qdrant_client.http.exceptions", "qdrant").ApiException, OSError)
        self._client = _connect(address, make) if client is None else client

    def _inspect(self) -> None:
        """Read the name of the vectors ("" for unnamed vectors) and their parameters."""
        client, address = self._client, self._address
        if not client.collection_exists(address.table):
            raise address.absent("collection", (each.name for each in client.get_collections().collections))
        shapes = client.get_collection(address.table).config.params.vectors
        shapes_by_name = shapes if isinstance(shapes, dict) else {"": shapes}
        self._vector = "" if list(shapes_by_name) == [""] else address.pick(list(shapes_by_name))
        shape = shapes_by_name[self._vector]
        self._dim, self._distance = int(shape.size), str(shape.distance.value)
        self._several = shape.multivector_config is not None
        for metric, distance in _DISTANCES.items():
            if distance == self._distance:
                address.agree(metric)

    def _read_facts(self) -> Mapping[str, str]:
        if not self._client.collection_exists(self._address.facts):
            return {}
        points, _ = self._client.scroll(self._address.facts, limit=_PAGE, with_payload=True)
        return {point.payload["name"]: point.payload["value"] for point in points}

    def _message(self, error: Any) -> str:
        try:
            message = error.structured()["status"]["error"]
        except (AttributeError, ValueError, KeyError, TypeError):
            message = getattr(error, "source", error)
        return engine.one_line(message)

    def _blames_where(self, error: Any) -> bool:
        return getattr(error, "status_code", None) == 400

    def _release(self) -> None:
        if self._owned:
            self._client.close()


class QdrantSource(QdrantTable, EngineSource):
    """A collection of Qdrant, to be searched. `where` is a filter of Qdrant as JSON."""

    def __init__(self, address: Address, client: Any = None) -> None:
        super().__init__(address, client)
        with self._opening():
            self._inspect()

    @classmethod
    def from_client(
        cls, client: Any, collection: str, *, vector: str | None = None, id: str | None = None
    ) -> QdrantSource:
        """Return a source for a collection of a `QdrantClient`; closing the source leaves the client open.

        `vector` and `id` mean the same as in an address.
        """
        return cls(address_of_client("qdrant", collection, vector, id), client)

    def _search(self, request: EngineRequest) -> list[EngineHits]:
        columns, id_column = request.columns, self._address.id or "path"
        common = {
            "using": self._vector or None,
            "filter": None if request.where is None else self._filter(request.where),
            "limit": request.count,
            "with_payload": True if columns is None else [*names_of(columns), id_column],
            "with_vector": [self._vector] if request.vectors and self._vector else request.vectors,
        }
        queries = [[query.tolist()] if self._several else query.tolist() for query in request.queries]
        requests = [self._models.QueryRequest(query=query, **common) for query in queries]
        answers = self._client.query_batch_points(self._address.table, requests)
        return [self._answer(answer.points, request.vectors) for answer in answers]

    def _filter(self, where: str) -> Any:
        try:
            return self._models.Filter.model_validate_json(where)
        except package("pydantic", "qdrant").ValidationError as error:
            raise OptionError(
                f"where must be a filter of Qdrant as JSON, such as "
                f'{{"must": [{{"key": "country", "match": {{"value": "PT"}}}}]}}, got {where!r}: '
                f"{error.errors()[0]['msg']}"
            ) from None

    def _answer(self, points: Sequence[Any], vectors: bool) -> EngineHits:
        scores = np.array([point.score for point in points], np.float64)
        if self._distance == "Euclid":
            scores = engine.from_l2(scores, squared=False)
        elif self._distance == "Manhattan":
            scores = -scores
        cells = engine.cells_of([point.payload or {} for point in points])
        ids = engine.named_ids(cells, [point.id for point in points], self._address)
        matrix = None
        if vectors:
            lists = [point.vector[self._vector] if self._vector else point.vector for point in points]
            matrix = engine.matrix_of(lists, self._dim, self._several)
        return engine.best_first(ids, scores, cells, matrix)


class QdrantSink(QdrantTable, Sink):
    def __init__(self, address: Address, layout: SinkLayout) -> None:
        super().__init__(address, make=True)
        self._layout, models = layout, self._models
        max_sim = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        several = max_sim if layout.tokens > 1 else None
        distance = models.Distance(_DISTANCES[address.metric or "cosine"])
        shape = models.VectorParams(size=layout.dim, distance=distance, multivector_config=several)
        with self._opening():
            self._make(address.table, {address.vector or VECTOR: shape})
            self._inspect()
            layout.check_shape(address.label, self._dim, self._several)

    def _make(self, name: str, vectors: Any) -> None:
        if self._client.collection_exists(name):
            return
        try:
            self._client.create_collection(name, vectors_config=vectors)
        except Exception:
            if not self._client.collection_exists(name):  # otherwise another process created it first
                raise

    def _put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        lists = (vectors if self._layout.tokens > 1 else vectors[:, 0]).tolist()
        named = [{self._vector: vector} if self._vector else vector for vector in lists]
        self._upsert(self._address.table, [row[self._layout.key] for row in rows], named, rows)

    def _upsert(
        self, table: str, names: Sequence[str], vectors: Sequence[Any], payloads: Sequence[Mapping[str, Any]]
    ) -> None:
        points = [
            self._models.PointStruct(id=_id_of(name), vector=vector, payload=payload)
            for name, vector, payload in zip(names, vectors, payloads, strict=True)
        ]
        for batch in chunks(points):
            self._client.upsert(table, points=batch, wait=True)

    def _select(self, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        offset: Any = None
        while True:
            points, offset = self._client.scroll(
                self._address.table, limit=_PAGE, offset=offset, with_payload=list(columns), with_vectors=False
            )
            yield from (point.payload for point in points)
            if offset is None:
                return

    def _remove(self, keys: Sequence[str]) -> None:
        selector = self._models.PointIdsList(points=list(map(_id_of, keys)))
        self._client.delete(self._address.table, points_selector=selector, wait=True)

    def _write_facts(self, facts: Mapping[str, str]) -> None:
        self._make(self._address.facts, {})
        payloads = [{"name": name, "value": value} for name, value in facts.items()]
        self._upsert(self._address.facts, list(facts), [{}] * len(facts), payloads)


def _connect(address: Address, make: bool) -> Any:
    client = package("qdrant_client", "qdrant").QdrantClient
    if address.way == "local":
        try:
            return client(path=str(address.file if make else address.open_file()))
        except RuntimeError as error:  # one process at a time
            raise InputError(f"{address.label}: {engine.one_line(error)}") from None
    if not address.host or address.place or address.way not in ("", "https"):
        raise OptionError(
            f"write qdrant://HOST:PORT/COLLECTION, qdrant+https://... or qdrant+local:///FOLDER/COLLECTION, "
            f"got {address.label!r}"
        )
    return client(
        url=f"{address.way or 'http'}://{address.host}",
        api_key=os.environ.get("QDRANT_API_KEY"),
        timeout=_TIMEOUT_S,
        check_compatibility=False,
    )


def _id_of(key: str) -> str:
    """Return the UUID of a key: ids of points are numbers or UUIDs."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, key))


SOURCE, SINK = QdrantSource, QdrantSink
