"""Qdrant: collections of a server or cluster, or of a folder in the client's local mode."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.connect.address import Address, Metric, address_of_client
from mascot.connect.closing import Closing
from mascot.connect.nested import names_of
from mascot.connect.rows import STATE, VECTOR, States, Vectors, checked, chunks, one_each, state_of
from mascot.connect.source import EngineSource, Found, Request, best_first, from_l2, named_ids, same_shape
from mascot.errors import InputError, OptionError
from mascot.extras import package

_DISTANCES: dict[Metric, str] = {"cosine": "Cosine", "ip": "Dot", "l2": "Euclid"}
_AT_ONCE = 256
_PAGE = 1000
_BAD_REQUEST = 400
_TIMEOUT_S = 30


class QdrantSource(EngineSource):
    """A collection of Qdrant, to be searched. `where` is a filter as JSON, as Qdrant's own interface takes it."""

    def __init__(self, address: Address, client: Any = None) -> None:
        self._address, self._owned = address, client is None
        self._client = _connect(address, make=False) if client is None else client
        try:
            self._vector, self._shape = _shape_of(self._client, address)
            self._dim = self._shape.size
        except BaseException:
            self._release()
            raise

    @classmethod
    def from_client(
        cls, client: Any, collection: str, *, vector: str | None = None, id: str | None = None
    ) -> QdrantSource:
        """Return a source over a collection that a client reaches.

        Parameters
        ----------
        client
            A `QdrantClient`; closing the source leaves it open.
        collection
            The name of the collection.
        vector, id
            As in an address (default: None).
        """
        return cls(address_of_client("qdrant", collection, vector, id), client)

    def _search(self, requests: Sequence[Request], columns: Sequence[str] | None, vectors: bool) -> list[Found]:
        models, where = package("qdrant_client.models", "qdrant"), requests[0].where
        several = self._shape.multivector_config is not None
        id_column = self._address.id or "path"
        with _naming_errors(self._address, where):
            answers = self._client.query_batch_points(
                self._address.table,
                [
                    models.QueryRequest(
                        query=[request.query.tolist()] if several else request.query.tolist(),
                        using=self._vector or None,
                        filter=None if where is None else _filter(where),
                        limit=request.count,
                        with_payload=True if columns is None else [*names_of(columns), id_column],
                        with_vector=[self._vector] if vectors and self._vector else vectors,
                    )
                    for request in requests
                ],
            )
        return [self._answer(answer.points, vectors) for answer in answers]

    def _answer(self, points: Sequence[Any], vectors: bool) -> Found:
        distances = [point.score for point in points]
        kind = self._shape.distance.value
        scores = from_l2(distances, squared=False) if kind == "Euclid" else np.asarray(distances, np.float64)
        if kind == "Manhattan":
            scores = -scores
        payloads = [point.payload or {} for point in points]
        names = list(dict.fromkeys(name for payload in payloads for name in payload))
        cells = {name: [payload.get(name) for payload in payloads] for name in names}
        ids = named_ids(cells, [point.id for point in points], self._address)
        return best_first(ids, scores, cells, self._matrix(points) if vectors else None)

    def _matrix(self, points: Sequence[Any]) -> Vectors:
        """Return a vector for each point: the mean of its tokens where it has several."""
        size = self._shape.size
        lists = [point.vector[self._vector] if self._vector else point.vector for point in points]
        if self._shape.multivector_config is None:
            return np.asarray(lists, np.float32).reshape(len(points), size)
        means = (one_each(np.asarray([tokens], np.float32)) for tokens in lists)
        return np.concatenate([np.zeros((0, size), np.float32), *means])

    def facts(self) -> dict[str, str]:
        return _facts(self._client, self._address)

    def _release(self) -> None:
        if self._owned:
            self._client.close()


class QdrantSink(Closing):
    """A collection of Qdrant, to be written to."""

    def __init__(self, address: Address, dim: int, tokens: int) -> None:
        self._address, self._dim, self._tokens = address, dim, tokens
        self._vector = address.vector or VECTOR
        self._models = package("qdrant_client.models", "qdrant")
        self._client = _connect(address, make=True)
        models = self._models
        several = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM) if tokens > 1 else None
        distance = models.Distance(_DISTANCES[address.metric or "cosine"])
        shape = models.VectorParams(size=dim, distance=distance, multivector_config=several)
        try:
            with _naming_errors(address):
                _make(self._client, address.table, {self._vector: shape})
            self._vector, table = _shape_of(self._client, address)
            same_shape(address.label, (table.size, 1 + (table.multivector_config is not None)), (dim, 1 + (tokens > 1)))
        except BaseException:
            self._client.close()
            raise

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        records, numbers = checked(rows, vectors, self._dim, self._tokens)
        lists = (numbers if self._tokens > 1 else numbers[:, 0]).tolist()
        with _naming_errors(self._address):
            for batch in chunks(list(zip(records, lists, strict=True)), _AT_ONCE):
                points = [
                    self._models.PointStruct(
                        id=_point(row["path"]), vector={self._vector: vector} if self._vector else vector, payload=row
                    )
                    for row, vector in batch
                ]
                self._client.upsert(self._address.table, points=points, wait=True)

    def states(self) -> States:
        offset: Any = None
        with _naming_errors(self._address):
            while True:
                points, offset = self._client.scroll(
                    self._address.table, limit=_PAGE, offset=offset, with_payload=list(STATE), with_vectors=False
                )
                yield from (state_of(point.payload) for point in points)
                if offset is None:
                    return

    def remove(self, paths: Sequence[str]) -> None:
        with _naming_errors(self._address):
            for batch in chunks(paths, _AT_ONCE):
                selector = self._models.PointIdsList(points=[_point(path) for path in batch])
                self._client.delete(self._address.table, points_selector=selector, wait=True)

    def set_facts(self, facts: Mapping[str, str]) -> None:
        points = [
            self._models.PointStruct(id=_point(name), vector={}, payload={"name": name, "value": value})
            for name, value in facts.items()
        ]
        with _naming_errors(self._address):
            _make(self._client, self._address.facts, {})
            if points:
                self._client.upsert(self._address.facts, points=points, wait=True)

    def facts(self) -> dict[str, str]:
        return _facts(self._client, self._address)

    def _release(self) -> None:
        self._client.close()


def _connect(address: Address, make: bool) -> Any:
    client = package("qdrant_client", "qdrant").QdrantClient
    if address.way == "local":
        try:
            return client(path=str(address.file if make else address.open_file()))
        except RuntimeError as error:  # one process at a time
            raise InputError(f"{address.label}: {' '.join(str(error).split())}") from None
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


def _shape_of(client: Any, address: Address) -> tuple[str, Any]:
    """Return the name of the vectors ("" where they have none), and their parameters."""
    with _naming_errors(address):
        if not client.collection_exists(address.table):
            names = ", ".join(sorted(collection.name for collection in client.get_collections().collections)) or "none"
            raise InputError(f"{address.label}: there is no collection {address.table!r}; collections: {names}")
        shapes = client.get_collection(address.table).config.params.vectors
    shapes_by_name = shapes if isinstance(shapes, dict) else {"": shapes}
    name = "" if list(shapes_by_name) == [""] else address.pick(list(shapes_by_name))
    distances: dict[str, Metric] = {value: metric for metric, value in _DISTANCES.items()}
    if shapes_by_name[name].distance.value in distances:
        address.agree(distances[shapes_by_name[name].distance.value])
    return name, shapes_by_name[name]


def _make(client: Any, name: str, vectors: Any) -> None:
    if client.collection_exists(name):
        return
    try:
        client.create_collection(name, vectors_config=vectors)
    except Exception:
        if not client.collection_exists(name):  # otherwise another process created it first
            raise


def _facts(client: Any, address: Address) -> dict[str, str]:
    with _naming_errors(address):
        if not client.collection_exists(address.facts):
            return {}
        points, _ = client.scroll(address.facts, limit=_PAGE, with_payload=True)
    return {point.payload["name"]: point.payload["value"] for point in points}


@contextmanager
def _naming_errors(address: Address, where: str | None = None) -> Iterator[None]:
    errors = package("qdrant_client.http.exceptions", "qdrant")
    try:
        yield
    except errors.UnexpectedResponse as error:
        if where is not None and error.status_code == _BAD_REQUEST:
            raise OptionError(f"where: {_line(error)} in {where!r}") from None
        raise InputError(f"cannot use {address.label}: {_line(error)}") from None
    except (errors.ApiException, OSError) as error:
        raise InputError(f"cannot use {address.label}: {_line(error)}") from None


def _line(error: Any) -> str:
    """Return the server's error message on one line."""
    try:
        message = error.structured()["status"]["error"]
    except (AttributeError, ValueError, KeyError, TypeError):
        message = getattr(error, "source", error)
    return " ".join(str(message).split())


def _filter(where: str) -> Any:
    """Parse a Qdrant filter from JSON."""
    pydantic = package("pydantic", "qdrant")
    try:
        return package("qdrant_client.models", "qdrant").Filter.model_validate_json(where)
    except pydantic.ValidationError as error:
        raise OptionError(
            f"where must be a filter of Qdrant as JSON, such as "
            f'{{"must": [{{"key": "country", "match": {{"value": "PT"}}}}]}}, got {where!r}: '
            f"{error.errors()[0]['msg']}"
        ) from None


def _point(path: str) -> str:
    """Return the UUID of a path: ids of points are numbers or UUIDs."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, path))
