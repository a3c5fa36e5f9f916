"""A client of the re-ranking service. It needs only the standard library, and reuses connections."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

_RETRIES = 2  # after the server closed an idle connection; re-ranking is idempotent
_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class ServiceError(Exception):
    """The service refused a request. The request id is also in its log."""

    def __init__(self, status: int, kind: str, message: str, request_id: str | None) -> None:
        super().__init__(f"{kind}: {message}")
        self.status, self.kind, self.message, self.request_id = status, kind, message, request_id


class Client:
    """A client of one service. Threads may share it: each one has its own connection.

    Parameters
    ----------
    address
        The address of the service (default: `http://127.0.0.1:8765`).
    token
        The token that the service requires, if any.
    timeout_s
        Seconds to wait for an answer (default: 30).

    Examples
    --------
    >>> with Client("http://127.0.0.1:8765") as service:  # doctest: +SKIP
    ...     page = service.rerank([0.9, 0.8, 0.7], [{"spread": "shop"}], k=2, columns={"shop": ["a", "a", "b"]})
    ...     print([result["position"] for result in page["results"]])
    [0, 2]
    """

    def __init__(
        self, address: str = "http://127.0.0.1:8765", token: str | None = None, timeout_s: float = 30.0
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"address must be like http://127.0.0.1:8765, got {address!r}")
        self._class = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout_s, self._local = timeout_s, threading.local()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def rerank(
        self,
        scores: Any = None,
        wishes: Any = (),
        k: int | None = None,
        *,
        request_id: str | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Re-rank candidates: `mascot.rerank` over HTTP.

        `fields` are the other fields of `/api/rerank`: `ids`, `columns`, `vectors`, `method`, `already`, `pin`,
        `profile`, `key`, and so on. `from_` stands for `from`. Instead of scores, `records` or a `response` may be
        passed. Wishes and the method are objects of the library, or dictionaries as `to_dict` writes them.
        """
        is_list = isinstance(wishes, Iterable) and not isinstance(wishes, (str, Mapping))
        request = fields | {"scores": scores, "wishes": list(wishes) if is_list else [wishes], "k": k}
        request["from"] = request.pop("from_", None)
        sent = {name: value for name, value in request.items() if value is not None}
        return self.post("/api/rerank", sent, request_id)

    def rerank_many(self, requests: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """Send the requests over one stream, and yield each answer, or its `error`, in order."""
        connection = self._class(self._host, self._port, timeout=self._timeout_s)
        try:
            lines = (_json(request) + b"\n" for request in requests)
            headers = {**self._headers, "Content-Type": "application/x-ndjson"}
            connection.request("POST", f"{self._path}/api/rerank/stream", lines, headers, encode_chunked=True)
            response = connection.getresponse()
            if response.status != 200:
                raise _error(response.status, response.read(), response.getheader("x-request-id"))
            for line in response:
                yield json.loads(line)
        finally:
            connection.close()

    def search(self, text: str | None = None, **query: Any) -> dict[str, Any]:
        """Search the photo library of the service. The parameters are the fields of `/api/search`."""
        return self.post("/api/search", {"text": text, **query})

    def ready(self) -> bool:
        """Return whether the service is ready to answer."""
        try:
            return bool(self._call("GET", "/readyz", None, None))
        except (ServiceError, OSError, http.client.HTTPException):
            return False

    def post(self, path: str, request: Mapping[str, Any], request_id: str | None = None) -> dict[str, Any]:
        """Post a request as JSON and return the answer."""
        return self._call("POST", path, _json(request), request_id)

    def _call(self, method: str, path: str, body: bytes | None, request_id: str | None) -> dict[str, Any]:
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        headers |= {} if request_id is None else {"X-Request-ID": request_id}
        for attempt in range(_RETRIES + 1):
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = self._class(self._host, self._port, timeout=self._timeout_s)
            try:
                connection.request(method, self._path + path, body, headers)
                response = connection.getresponse()
                content = response.read()
                break
            except BaseException as error:
                self.close()
                if attempt == _RETRIES or not isinstance(error, _STALE):
                    raise
        if response.status != 200:
            raise _error(response.status, content, response.getheader("x-request-id"))
        return json.loads(content)


def _error(status: int, content: bytes, request_id: str | None) -> ServiceError:
    try:
        error = json.loads(content)["error"]
        return ServiceError(status, error["kind"], error["message"], request_id)
    except (ValueError, KeyError, TypeError):  # an answer from a proxy
        return ServiceError(status, "HttpError", content[:200].decode("utf-8", "replace"), request_id)


def _json(request: Any) -> bytes:
    return json.dumps(request, default=_plain).encode()


def _plain(value: Any) -> Any:
    """Return objects of the library, arrays, times, decimals and other sequences as plain data."""
    for name in ("to_dict", "tolist", "isoformat"):
        if hasattr(value, name):
            return getattr(value, name)()
    return float(value) if isinstance(value, Decimal) else list(value)
