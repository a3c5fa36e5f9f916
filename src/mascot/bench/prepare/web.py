"""Polite reading over HTTP: retries that back off, few connections to one host, limits on bytes and on time."""

from __future__ import annotations

import email.utils
import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from mascot import __version__
from mascot.bench.prepare.common import Progress
from mascot.bench.prepare.lost import NO_ANSWER, Lost
from mascot.errors import MissingExtra, require

try:
    import requests
    import urllib3

    from mascot.bench.prepare.heads import HurriedAdapter
except ModuleNotFoundError:
    raise MissingExtra("preparing a dataset needs: pip install 'mascot[prepare]'") from None

__all__ = ["Lost", "Web"]

T = TypeVar("T")
Headers = Callable[[], dict[str, str]]

_MIB = 1 << 20
_BLOCK = 1 << 16
_REDIRECTS = 8
_LONGEST_WAIT = 120.0  # seconds, whatever Retry-After asks for
_PASSING = (408, 425, 429)  # and all of 5xx
_BUSY = (429, 503)
_NO_HEAD = (400, 403, 404, 405, 501)  # some servers answer HEAD so where GET would do
_BAD_ADDRESS = (
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.MissingSchema,
    urllib3.exceptions.LocationValueError,
    UnicodeError,
)
_BROKEN = (requests.RequestException, urllib3.exceptions.HTTPError)
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class _Again(Exception):
    """A server in trouble; worth another try, after `wait` seconds where it says so. `busy` ones need rest."""

    def __init__(self, detail: str, wait: float | None = None, busy: bool = False) -> None:
        super().__init__(detail)
        self.wait, self.busy = wait, busy


@dataclass(slots=True)
class _Host:
    """What is known of a server in this run."""

    places: threading.BoundedSemaphore
    after: float = 0.0  # no request before this moment, because it asked for rest
    silent: bool = False  # gave nothing in a whole row of tries; gets single ones from then on


@dataclass(frozen=True, slots=True)
class Web:
    """Reads over HTTP from any number of threads. Certificates are always checked.

    Parameters
    ----------
    timeout
        Seconds to wait for a connection, and for each piece of an answer.
    retries
        Further tries after a first that failed for a reason that may pass.
    pause
        Seconds before the first of them; doubled each time, with some chance in it.
    patience
        Seconds one whole answer may take, however busily its pieces drip in. A `download` has no such limit,
        but must make some progress in that time.
    per_host
        Connections to one server at a time.
    """

    timeout: float = 20.0
    retries: int = 4
    pause: float = 1.0
    agent: str = f"mascot-bench/{__version__} (dataset preparation for research)"
    patience: float = 120.0
    per_host: int = 4
    _session: requests.Session = field(init=False, repr=False, compare=False)
    _hosts: dict[str, _Host] = field(init=False, repr=False, compare=False, default_factory=dict)
    _lock: threading.Lock = field(init=False, repr=False, compare=False, default_factory=threading.Lock)
    _stopped: threading.Event = field(init=False, repr=False, compare=False, default_factory=threading.Event)

    def __post_init__(self) -> None:
        require(self.timeout > 0, "Web.timeout", "must be > 0", self.timeout)
        require(self.retries >= 0, "Web.retries", "must be >= 0", self.retries)
        require(self.pause >= 0, "Web.pause", "must be >= 0", self.pause)
        require(self.patience > 0, "Web.patience", "must be > 0", self.patience)
        require(self.per_host >= 1, "Web.per_host", "must be >= 1", self.per_host)
        session = requests.Session()
        session.max_redirects = _REDIRECTS
        session.headers.update({"User-Agent": self.agent, "Accept": "*/*", "Accept-Encoding": "identity"})
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for scheme in ("http://", "https://"):
            session.mount(scheme, HurriedAdapter(self.patience, pool_connections=64, pool_maxsize=16))
        object.__setattr__(self, "_session", session)

    def stop(self) -> None:
        """End all waiting between tries; whatever is asked from now on is lost."""
        self._stopped.set()
        self._session.close()

    def get(self, url: str, most: int = 32 * _MIB) -> bytes:
        """The whole of it, if that is at most `most` bytes."""
        return self._ask(url, dict, lambda answer: self._whole(answer, url, most))

    def json(self, url: str, most: int = 256 * _MIB) -> Any:
        """The JSON that is there."""
        try:
            return json.loads(self.get(url, most))
        except ValueError as error:
            raise Lost("wrong content", f"not JSON: {error}", url) from None

    def first(self, url: str, count: int) -> bytes:
        """The first `count` bytes, or fewer where there are no more. A server without ranges is cut off early."""

        def take(answer: requests.Response) -> bytes:
            span = _span(answer)
            if answer.status_code == 206 and (span is None or span[0] != 0):
                raise Lost("wrong content", "not the range that was asked for", url)
            return self._some(answer, count)

        return self._ask(url, lambda: {"Range": f"bytes=0-{count - 1}"}, take)

    def part(self, url: str, start: int, count: int) -> bytes:
        """`count` bytes from `start` on, or fewer where the file ends before."""

        def take(answer: requests.Response) -> bytes:
            if answer.status_code != 206:
                raise Lost("no ranges", f"status {answer.status_code}", url)
            span = _span(answer)
            if span is None or span[0] != start or span[1] >= start + count:
                raise Lost("wrong content", "not the range that was asked for", url)
            found = self._some(answer, count)
            if len(found) != span[1] - start + 1:
                raise _Again("an answer that ended early")
            return found

        return self._ask(url, lambda: {"Range": f"bytes={start}-{start + count - 1}"}, take)

    def size(self, url: str) -> int:
        """How many bytes there are."""
        try:
            found = self._ask(url, dict, _length, "HEAD", _NO_HEAD)
        except Lost as lost:
            if lost.reason == NO_ANSWER:
                raise
            found = None
        if found is not None:
            return found

        def take(answer: requests.Response) -> int:
            span = _span(answer)
            found = span[2] if span else _length(answer)
            if found is None:
                raise Lost("no ranges", "the server does not tell the size", url)
            return found

        return self._ask(url, lambda: {"Range": "bytes=0-0"}, take)

    def download(self, url: str, path: Path, report: Progress | None = None) -> str:
        """Fetch a file of any size to `path`, going on where an earlier try was cut off; its SHA-256.

        A file that is there is not fetched again. `report(done, total)` counts bytes.
        """
        from mascot.bench.prepare.download import LEAST, Download

        fetching = Download(url, path, self.patience, report)
        while not fetching.whole:
            before = fetching.have
            try:
                self._ask(url, fetching.headers, fetching.take, fine=(416,))
            except Lost as lost:
                if lost.reason != NO_ANSWER or fetching.have < before + LEAST or self._stopped.is_set():
                    raise
        return fetching.finish()

    def _ask(
        self,
        url: str,
        headers: Headers,
        take: Callable[[requests.Response], T],
        method: str = "GET",
        fine: tuple[int, ...] = (),
    ) -> T:
        """One request, with its retries; `take` reads the answer, which is a success or one of `fine`."""
        host = self._host(url)
        said, alive = "stopped", True
        for attempt in range(1 if host.silent else self.retries + 1):
            wait = self.pause * 2 ** (attempt - 1) * random.uniform(0.75, 1.25) if attempt else 0.0
            if self._stopped.wait(max(wait, host.after - time.monotonic(), 0.0)):
                break
            try:
                with host.places:
                    found = self._once(url, method, headers(), take, fine)
            except _Again as again:
                said = str(again)
                alive = again.busy
                rest = self.pause * 2**attempt if again.wait is None and alive else again.wait
                if rest is not None:
                    host.after = time.monotonic() + min(rest, _LONGEST_WAIT)
            except _BAD_ADDRESS as error:
                raise Lost("bad address", str(error), url) from None
            except requests.exceptions.TooManyRedirects:
                raise Lost("dead link", f"more than {_REDIRECTS} redirects", url) from None
            except _BROKEN as error:
                said, alive = _short(error), False
                if "CERTIFICATE_VERIFY_FAILED" in str(error):
                    raise Lost("bad certificate", said, url) from None
            else:
                host.silent = False
                return found
        host.silent = not alive
        raise Lost(NO_ANSWER, said, url)

    def _once(
        self,
        url: str,
        method: str,
        headers: dict[str, str],
        take: Callable[[requests.Response], T],
        fine: tuple[int, ...],
    ) -> T:
        with self._session.request(
            method, url, headers=headers, stream=True, timeout=self.timeout, allow_redirects=True
        ) as answer:
            status = answer.status_code
            if status in _PASSING or status >= 500:
                wait = _retry_after(answer.headers.get("Retry-After"))
                raise _Again(f"status {status}", wait, busy=status in _BUSY)
            if status not in (200, 206, *fine):
                raise Lost("dead link", f"status {status}", url)
            return take(answer)

    def _host(self, url: str) -> _Host:
        try:
            name = urlsplit(url).netloc
        except ValueError as error:
            raise Lost("bad address", str(error), url) from None
        with self._lock:
            return self._hosts.setdefault(name, _Host(threading.BoundedSemaphore(self.per_host)))

    def _whole(self, answer: requests.Response, url: str, most: int) -> bytes:
        length = _length(answer)
        if length is not None and length > most:
            raise Lost("too large", f"{length} bytes, more than {most}", url)
        found = self._some(answer, most + 1)
        if len(found) > most:
            raise Lost("too large", f"more than {most} bytes", url)
        return found

    def _some(self, answer: requests.Response, most: int) -> bytes:
        """What the answer says, cut off behind `most` bytes."""
        found = bytearray()
        end = time.monotonic() + self.patience
        for block in blocks(answer):
            found += block
            if len(found) >= most:
                break
            if time.monotonic() > end:
                raise _Again(f"slower than {self.patience:g} s")
        return bytes(found[:most])


def blocks(answer: requests.Response) -> Iterator[bytes]:
    """The answer piece by piece, as it comes: a server that drips gives small ones, and none is waited for twice."""
    while block := answer.raw.read1(_BLOCK, decode_content=True):
        yield block


def _span(answer: requests.Response) -> tuple[int, int, int | None] | None:
    """First byte, last byte and size of the file, as a partial answer says."""
    found = _RANGE.fullmatch(answer.headers.get("Content-Range", "").strip())
    return (int(found[1]), int(found[2]), None if found[3] == "*" else int(found[3])) if found else None


def _length(answer: requests.Response) -> int | None:
    text = answer.headers.get("Content-Length", "")
    plain = answer.headers.get("Content-Encoding", "identity") == "identity"
    return int(text) if text.isdigit() and plain and answer.status_code == 200 else None


def _retry_after(text: str | None) -> float | None:
    """Seconds, of a number or a date."""
    if text is None:
        return None
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _short(error: BaseException) -> str:
    """The innermost reason, on one line."""
    text = str(error)
    found = re.search(r"\[[A-Z]+: CERTIFICATE_VERIFY_FAILED\][^(]*|\[Errno[^\]]*\][^'\")]*", text)
    # Without addresses of objects: the same failure is always told in the same words.
    return re.sub(r" at 0x[0-9a-f]+", "", found[0] if found else f"{type(error).__name__}: {text}").strip()[:160]
