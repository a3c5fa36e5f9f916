"""Polite reading over HTTP: retries that back off, few connections per host, limits on bytes and on time.

Connections go to public addresses only, also after a redirect.
"""

from __future__ import annotations

import ipaddress
import random
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from mascot import __version__
from mascot.bench.files import replacing
from mascot.bench.prepare.outcomes import NO_ANSWER, Loss, Progress
from mascot.extras import missing

try:
    import urllib3
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.exceptions import HTTPError, InvalidHeader
    from urllib3.util.connection import create_connection
except ModuleNotFoundError as error:
    raise missing(error, "preparing a dataset", "prepare") from None

_PIECE = 2 << 20  # bytes of a download: each has its own retries, and must arrive within the patience
_LARGEST = 1 << 30  # bytes of a download from a server without ranges
_REDIRECTS = 8
_LONGEST_WAIT = 120.0  # seconds, also if a server asks for more
_TEMPORARY = (408, 425, 429)  # and all of 5xx
_BUSY = (429, 503)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_AGENT = f"mascot-bench/{__version__} (dataset preparation for research)"
_HEADERS = {"User-Agent": _AGENT, "Accept": "*/*", "Accept-Encoding": "identity"}


@dataclass(slots=True)
class _Host:
    resume: float = 0.0  # no request before this time, because the server asked for a pause
    silent: bool = False  # no try of a request was answered; further requests are not retried until one is


@dataclass(frozen=True, slots=True)
class _HttpAnswer:
    status: int  # 200, or 206 for a range
    headers: Mapping[str, str]
    content: bytes

    @property
    def span(self) -> tuple[int, ...]:
        """First byte, last byte and file size of a range."""
        match = _RANGE.fullmatch(self.headers.get("Content-Range", "").strip())
        return tuple(map(int, match.groups())) if match else (-1, -1, -1)


@dataclass
class Web:
    """An HTTP client for any number of threads.

    Certificates are always checked, environment proxies are used, and neither .netrc nor cookies are read. A host
    that resolves to a loopback, private or link-local address is refused, also after a redirect.
    """

    timeout: float = 20.0  # seconds for a connection, and for each part of an answer
    retries: int = 4  # after a temporary failure
    pause: float = 1.0  # seconds before the first retry; doubled before each further one
    patience: float = 120.0  # seconds for a whole answer
    per_host: int = 4  # connections at a time
    allow_private: bool = False  # for tests with a local server only

    def __post_init__(self) -> None:
        self._managers: dict[str | None, urllib3.PoolManager] = {}
        self._hosts: dict[str, _Host] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End all waits between retries; all further requests fail."""
        self._stopped.set()

    def get(self, url: str, most: int = 32 << 20) -> bytes:
        """Return the whole content, which must have at most `most` bytes."""
        content = self._request(url, most + 1).content
        if len(content) > most:
            raise Loss("too large", f"more than {most} bytes", url)
        return content

    def part(self, url: str, start: int, count: int, validator: str = "") -> bytes:
        """Return `count` bytes from `start` on, fewer at the end of the file; with a validator, of that version."""
        headers = {"Range": f"bytes={start}-{start + count - 1}"} | ({"If-Range": validator} if validator else {})
        answer = self._request(url, count, headers)
        if answer.status == 200 and validator:
            raise Loss(NO_ANSWER, "the file changed", url)
        if answer.status == 200 and start:  # a server without ranges was cut off after the first bytes
            raise Loss("no ranges", "status 200", url)
        begin, end, _ = answer.span
        if answer.status == 206 and (begin != start or end >= start + count):
            raise Loss("wrong content", "not the range that was requested", url)
        if answer.status == 206 and len(answer.content) <= end - start:
            raise Loss(NO_ANSWER, "the answer ended early", url)
        return answer.content

    def size(self, url: str) -> tuple[int | None, str]:
        """Return the size of a file, None if the server has no ranges, and its validator: an ETag or a date."""
        answer = self._request(url, 1, {"Range": "bytes=0-0"})
        etag, date = answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", "")
        return answer.span[2] if answer.status == 206 else None, etag if etag.startswith('"') else date

    def download(self, url: str, path: Path, report: Progress = lambda count, total: None) -> None:
        """Download a file, unless it is there. It is refused if it changes between two pieces."""
        if path.is_file():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        size, validator = self.size(url)
        with replacing(path) as stream:
            if size is None or not validator:  # nothing tells versions apart
                stream.write(self.get(url, _LARGEST))
                return
            while stream.tell() < size:
                stream.write(self.part(url, stream.tell(), min(_PIECE, size - stream.tell()), validator))
                report(stream.tell(), size)

    def _request(self, url: str, most: int, headers: dict[str, str] | None = None) -> _HttpAnswer:
        """Return a successful answer, cut off after `most` bytes; temporary failures are retried."""
        try:
            host = self._hosts.setdefault(urlsplit(url).netloc, _Host())
        except ValueError as error:
            raise Loss("bad address", str(error), url) from None
        reason, busy = "stopped", True
        for attempt in range(1 if host.silent else self.retries + 1):
            wait = self.pause * 2 ** (attempt - 1) * random.uniform(0.75, 1.25) if attempt else 0.0
            if self._stopped.wait(max(wait, host.resume - time.monotonic(), 0.0)):
                break
            try:
                with self._open(url, _HEADERS | (headers or {})) as response:
                    status, busy, pause = response.status, response.status in _BUSY, _pause_of(response)
                    temporary = status in _TEMPORARY or status >= 500
                    if pause is None or not (temporary or response.headers.get("X-Rl") == "0"):
                        pause = self.pause * 2**attempt if busy else 0.0
                    host.resume = max(host.resume, time.monotonic() + min(pause, _LONGEST_WAIT))
                    if temporary:
                        reason = f"status {status}"
                        continue
                    if status not in (200, 206):
                        raise Loss("dead link", f"status {status}", url)
                    answer = _HttpAnswer(status, response.headers, self._read(response, most))
                host.silent = False
                return answer
            except ValueError as error:  # of urllib3, or of a malformed address that a redirect names
                raise Loss("bad address", str(error), url) from None
            except (HTTPError, OSError) as error:
                reason, busy = _reason(error), False
                if "CERTIFICATE_VERIFY_FAILED" in reason:
                    raise Loss("bad certificate", reason, url) from None
        host.silent = not busy  # a busy server is alive
        raise Loss(NO_ANSWER, reason, url)

    @contextmanager
    def _open(self, url: str, headers: dict[str, str]) -> Iterator[urllib3.BaseHTTPResponse]:
        """Send the request and follow redirects; every hop is checked. The rest of the answer is not awaited."""
        options: Any = {"headers": headers, "redirect": False, "retries": False, "preload_content": False}
        address = url
        for _ in range(_REDIRECTS + 1):
            response = self._manager(address).request("GET", address, **options)
            try:
                location = response.get_redirect_location()
                if not location:
                    yield response
                    return
            finally:
                response.close()
                response.release_conn()
            address = urljoin(address, location)
        raise Loss("dead link", f"more than {_REDIRECTS} redirects", url)

    def _manager(self, url: str) -> urllib3.PoolManager:
        """Return the pool manager for a URL: direct, or through the proxy of the environment."""
        scheme, host = urlsplit(url).scheme, urlsplit(url).hostname
        if scheme not in ("http", "https") or not host:
            raise Loss("bad address", "not an address of http or https", url)
        proxy = None if proxy_bypass(host) else getproxies().get(scheme)
        if proxy:
            with suppress(OSError):  # a name that only the proxy can resolve
                resolve(host, self.allow_private)
        with self._lock:
            if proxy not in self._managers:
                pools: Any = {"num_pools": 64, "maxsize": self.per_host, "block": True, "timeout": self.timeout}
                manager = urllib3.ProxyManager(proxy, **pools) if proxy else urllib3.PoolManager(**pools)
                if not proxy:  # the user chose the proxy, wherever it is
                    manager.pool_classes_by_scheme = _pool_classes(self.patience, self.allow_private)
                self._managers[proxy] = manager
            return self._managers[proxy]

    def _read(self, response: urllib3.BaseHTTPResponse, most: int) -> bytes:
        """Return the content, cut off after `most` bytes. A slow server sends small blocks."""
        content = bytearray()
        end = time.monotonic() + self.patience
        while len(content) < most and (block := response.read1(1 << 16, decode_content=True)):
            content += block
            if time.monotonic() > end:
                raise TimeoutError(f"slower than {self.patience:g} s")
        return bytes(content[:most])


def _pause_of(response: urllib3.BaseHTTPResponse) -> float | None:
    """Return for how many seconds a server asks to be left alone; ip-api.com says X-Ttl, with X-Rl requests left."""
    try:
        return urllib3.Retry().parse_retry_after(response.headers.get("Retry-After") or response.headers["X-Ttl"])
    except (KeyError, InvalidHeader, OverflowError, ValueError):
        return None


def _reason(error: BaseException) -> str:
    """Return the innermost reason, the same words for the same failure."""
    while error.args and isinstance(error.args[-1], BaseException):
        error = error.args[-1]
    reason = str(error) if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"
    return re.sub(r" at 0x[0-9a-f]+", "", reason)[:160]


def is_public(text: str) -> bool:
    """Return whether an IP address is on the public internet, and so is every IPv4 address inside an IPv6 one.

    >>> is_public("93.184.216.34"), is_public("169.254.169.254"), is_public("::ffff:10.0.0.1")
    (True, False, False)
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    addresses: list[Any] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        nat64 = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
        addresses += [address.ipv4_mapped, address.sixtofour, *(address.teredo or ()), nat64]
    return all(each.is_global and not each.is_multicast for each in addresses if each is not None)


def resolve(host: str, allow_private: bool) -> list[str]:
    """Return the addresses of a host; raise `Loss` if any of them is not public, `socket.gaierror` if it has none."""
    entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    for address in addresses:
        if not allow_private and not is_public(address):
            raise Loss("private address", f"{host} is {address}", f"//{host}")
    return addresses


def _pool_classes(patience: float, allow_private: bool) -> dict[str, Any]:
    """Return urllib3's pools by scheme, with connections that check addresses and limit the time of a header."""

    class Checked:
        def _new_conn(self: Any) -> socket.socket:
            failure = OSError(f"{self.host} has no address")
            for address in resolve(self.host, allow_private):  # the address that was checked, not the name
                try:
                    return create_connection((address, self.port), self.timeout, None, self.socket_options)
                except OSError as error:
                    failure = error
            raise failure

        def getresponse(self: Any) -> Any:
            timer = threading.Timer(patience, _shut, (self.sock,))  # a socket's own timeout starts anew with every byte
            timer.daemon = True
            timer.start()
            try:
                return super().getresponse()  # type: ignore[misc]
            finally:
                timer.cancel()

    pools = {"http": urllib3.HTTPConnectionPool, "https": urllib3.HTTPSConnectionPool}
    connections = {"http": HTTPConnection, "https": HTTPSConnection}
    return {
        scheme: type("CheckedPool", (pool,), {"ConnectionCls": type("Connection", (Checked, connections[scheme]), {})})
        for scheme, pool in pools.items()
    }


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)  # below TLS, which another thread may still be reading
