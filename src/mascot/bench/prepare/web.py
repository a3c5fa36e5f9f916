"""Polite reading over HTTP: retries that back off, few connections per host, limits on bytes and on time."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import random
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from mascot import __version__
from mascot.bench.files import sha256
from mascot.bench.prepare.losses import NO_ANSWER, Loss
from mascot.errors import require
from mascot.extras import missing

try:
    import urllib3
    from urllib3.exceptions import HTTPError, InvalidHeader, LocationValueError

    from mascot.bench.prepare.addresses import pool_classes, resolve
except ModuleNotFoundError as error:
    raise missing(error, "preparing a dataset", "prepare") from None

T = TypeVar("T")
Response = urllib3.BaseHTTPResponse

_MIB = 1 << 20
_PIECE = 2 * _MIB  # of a download: each has its own retries, and must arrive within the patience
_LARGEST = 1 << 30  # bytes of a download from a server without ranges
_REDIRECTS = 8
_LONGEST_WAIT = 120.0  # seconds, whatever a server asks for
_TEMPORARY = (408, 425, 429)  # and all of 5xx
_BUSY = (429, 503)
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


@dataclass
class _TemporaryFailure(Exception):
    """An answer that is worth another try after `wait` seconds. A busy server is alive, and needs a pause."""

    detail: str
    wait: float | None = None
    busy: bool = False


@dataclass(slots=True)
class _Host:
    resume: float = 0.0  # no request before this time, because the server asked for a pause
    silent: bool = False  # no answer to any try of a request; gets single tries until it answers


class Web:
    """An HTTP client for any number of threads.

    Certificates are always checked, environment proxies are used, and neither .netrc nor cookies are read. A host
    that resolves to a loopback, private or link-local address is refused, also after a redirect.

    A request is tried `retries` more times after a temporary failure, first after `pause` seconds, then after twice as
    many, and so on. A connection and each part of an answer may take `timeout` seconds, a whole answer `patience`
    seconds. One server gets `per_host` connections at a time. `allow_private` is for tests with a local server only.
    """

    def __init__(
        self, timeout: float = 20.0, retries: int = 4, pause: float = 1.0, patience: float = 120.0, per_host: int = 4,
        allow_private: bool = False,
    ) -> None:  # fmt: skip
        for name, value in {"timeout": timeout, "patience": patience, "per_host": per_host}.items():
            require(value > 0, f"Web.{name}", "must be > 0", value)
        for name, value in {"retries": retries, "pause": pause}.items():
            require(value >= 0, f"Web.{name}", "must be >= 0", value)
        self._patience, self._retries, self._pause, self._allow_private = patience, retries, pause, allow_private
        agent = f"mascot-bench/{__version__} (dataset preparation for research)"
        self._headers = {"User-Agent": agent, "Accept": "*/*", "Accept-Encoding": "identity"}
        self._pools: dict[str, Any] = {"num_pools": 64, "maxsize": per_host, "block": True, "timeout": timeout}
        self._managers: dict[str | None, urllib3.PoolManager] = {}
        self._hosts: dict[str, _Host] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End all waits between tries; whatever is requested from now on is lost."""
        self._stopped.set()

    def get(self, url: str, most: int = 32 * _MIB) -> bytes:
        """Return the whole content, which must have at most `most` bytes."""

        def read(response: Response) -> bytes:
            length = response.headers.get("Content-Length", "")
            large = length.isdigit() and int(length) > most
            content = b"" if large else self._read(response, most + 1)
            if large or len(content) > most:
                raise Loss("too large", f"more than {most} bytes", url)
            return content

        return self._request(url, {}, read)

    def json(self, url: str) -> Any:
        """Return the JSON content."""
        try:
            return json.loads(self.get(url))
        except ValueError as error:
            raise Loss("wrong content", f"not JSON: {error}", url) from None

    def first(self, url: str, count: int) -> bytes:
        """Return the first `count` bytes or all if there are fewer. A server without ranges is cut off early."""

        def read(response: Response) -> bytes:
            if response.status == 206 and _span(response)[0] != 0:
                raise Loss("wrong content", "not the range that was requested", url)
            return self._read(response, count)

        return self._request(url, {"Range": f"bytes=0-{count - 1}"}, read)

    def part(self, url: str, start: int, count: int, validator: str = "") -> bytes:
        """Return `count` bytes from `start` on, or fewer where the file ends before; of one version of the file."""

        def read(response: Response) -> bytes:
            if response.status != 206:
                changed = response.status == 200 and validator
                raise Loss(NO_ANSWER if changed else "no ranges", "the file changed" if changed else "status 200", url)
            begin, end, _ = _span(response)
            if begin != start or end >= start + count:
                raise Loss("wrong content", "not the range that was requested", url)
            content = self._read(response, count)
            if len(content) != end - start + 1:
                raise _TemporaryFailure("the answer ended early")
            return content

        headers = {"Range": f"bytes={start}-{start + count - 1}"} | ({"If-Range": validator} if validator else {})
        return self._request(url, headers, read)

    def size(self, url: str) -> tuple[int | None, str]:
        """Return the size of a file, None if the server has no ranges, and its validator: an ETag or a date."""

        def read(response: Response) -> tuple[int | None, str]:
            etag, date = response.headers.get("ETag", ""), response.headers.get("Last-Modified", "")
            return _span(response)[2] if response.status == 206 else None, etag if etag.startswith('"') else date

        return self._request(url, {"Range": "bytes=0-0"}, read)

    def download(self, url: str, path: Path, report: Callable[[int, int | None], None] | None = None) -> str:
        """Download a file and return its SHA-256; continue an interrupted download, skip a complete one.

        The partial file carries a hash of the size and the validator in its name: a file that changed on the server
        starts again.
        """
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            size, validator = self.size(url)
            version = hashlib.sha256(f"{url} {size} {validator}".encode()).hexdigest()[:12]
            partial = path.with_name(f"{path.name}.{version}.part")
            whole = size is None or not validator  # there is nothing that tells versions apart
            for other in path.parent.glob(f"{glob.escape(path.name)}.*.part"):
                if other != partial or whole:
                    other.unlink()
            with open(partial, "ab") as stream:
                if whole:
                    stream.write(self.get(url, _LARGEST))
                while size is not None and stream.tell() < size:
                    stream.write(self.part(url, stream.tell(), min(_PIECE, size - stream.tell()), validator))
                    if report is not None:
                        report(stream.tell(), size)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(partial, path)
        return sha256(path)

    def _request(self, url: str, headers: dict[str, str], read: Callable[[Response], T]) -> T:
        """Make a request with its retries; `read` gets a successful answer."""
        try:
            name = urlsplit(url).netloc
        except ValueError as error:
            raise Loss("bad address", str(error), url) from None
        with self._lock:
            host = self._hosts.setdefault(name, _Host())
        reason, alive = "stopped", True
        for attempt in range(1 if host.silent else self._retries + 1):
            wait = self._pause * 2 ** (attempt - 1) * random.uniform(0.75, 1.25) if attempt else 0.0
            if self._stopped.wait(max(wait, host.resume - time.monotonic(), 0.0)):
                break
            try:
                response = self._open(url, headers)
                try:
                    _check_status(response, host, url)
                    result = read(response)
                finally:
                    _release(response)
            except _TemporaryFailure as failure:
                reason, alive = failure.detail, failure.busy
                rest = self._pause * 2**attempt if failure.wait is None and alive else failure.wait
                if rest is not None:
                    host.resume = time.monotonic() + min(rest, _LONGEST_WAIT)
            except (LocationValueError, UnicodeError) as error:
                raise Loss("bad address", str(error), url) from None
            except (HTTPError, OSError) as error:
                reason, alive = _reason(error), False
                if "CERTIFICATE_VERIFY_FAILED" in str(error):
                    raise Loss("bad certificate", reason, url) from None
            else:
                host.silent = False
                return result
        host.silent = not alive
        raise Loss(NO_ANSWER, reason, url)

    def _open(self, url: str, headers: dict[str, str]) -> Response:
        """Send the request and follow redirects; every hop is checked."""
        address = url
        for _ in range(_REDIRECTS + 1):
            response = self._manager(address).request(
                "GET", address, headers=self._headers | headers, redirect=False, retries=False, preload_content=False
            )
            location = response.get_redirect_location()
            if not location:
                return response
            _release(response)
            address = urljoin(address, location)
        raise Loss("dead link", f"more than {_REDIRECTS} redirects", url)

    def _manager(self, url: str) -> urllib3.PoolManager:
        """Return the pool manager for a URL: direct, or through the proxy of the environment."""
        scheme, host = urlsplit(url).scheme, urlsplit(url).hostname or ""
        if scheme not in ("http", "https") or not host:
            raise Loss("bad address", "not an address of http or https", url)
        proxy = None if proxy_bypass(host) else getproxies().get(scheme)
        if proxy:
            with suppress(OSError):  # a name that only the proxy can resolve
                resolve(host, self._allow_private)
        with self._lock:
            if proxy not in self._managers:
                manager = urllib3.ProxyManager(proxy, **self._pools) if proxy else urllib3.PoolManager(**self._pools)
                manager.pool_classes_by_scheme = pool_classes(self._patience, self._allow_private, bool(proxy))
                self._managers[proxy] = manager
            return self._managers[proxy]

    def _read(self, response: Response, most: int) -> bytes:
        """Return the content, cut off after `most` bytes. A slow server sends small blocks."""
        content = bytearray()
        end = time.monotonic() + self._patience
        while len(content) < most and (block := response.read1(1 << 16, decode_content=True)):
            content += block
            if time.monotonic() > end:
                raise _TemporaryFailure(f"slower than {self._patience:g} s")
        return bytes(content[:most])


def _release(response: Response) -> None:
    """Give the connection back to its pool; what was not read is not waited for."""
    response.close()
    response.release_conn()


def _check_status(response: Response, host: _Host, url: str) -> None:
    status, headers = response.status, response.headers
    try:
        wait = urllib3.Retry().parse_retry_after(headers.get("Retry-After") or headers.get("X-Ttl", ""))
    except (InvalidHeader, OverflowError, ValueError):
        wait = None
    if status in _TEMPORARY or status >= 500:
        raise _TemporaryFailure(f"status {status}", wait, busy=status in _BUSY)
    if headers.get("X-Rl") == "0" and wait is not None:  # ip-api.com: no request is left for X-Ttl seconds
        host.resume = time.monotonic() + min(wait, _LONGEST_WAIT)
    if status not in (200, 206):
        raise Loss("dead link", f"status {status}", url)


def _span(response: Response) -> tuple[int, int, int]:
    """Return first byte, last byte and file size of a partial answer."""
    match = _RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
    return (int(match[1]), int(match[2]), int(match[3])) if match else (-1, -1, -1)


def _reason(error: BaseException) -> str:
    """Return the innermost reason on one line, the same words for the same failure."""
    text = str(error)
    match = re.search(r"\[[A-Z]+: CERTIFICATE_VERIFY_FAILED\][^(]*|\[Errno[^\]]*\][^'\")]*", text)
    return re.sub(r" at 0x[0-9a-f]+", "", match[0] if match else f"{type(error).__name__}: {text}").strip()[:160]
