"""The checks before every request (host, origin, token) and the headers of every answer."""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from urllib.parse import parse_qsl, quote, urlencode

import anyio
import msgspec
from cachetools import TTLCache
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mascot.server.models import failure

COOKIE = "mascot_token"
OPEN_PATHS = frozenset({"/healthz", "/readyz"})  # health checks carry no token
REQUEST_ID = "x-request-id"
_REQUEST_ID = re.compile(rb"[\w.:/+=-]{1,128}")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_WRITING = frozenset({"PUT", "DELETE"})  # only from this server's own page, whatever --cors allows
_PAGE = "/"
_POLICY = "; ".join([
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
    "manifest-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'",
])  # fmt: skip
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_FREE_ATTEMPTS = 5  # wrong tokens of one client address that are answered without delay
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.1, 5.0  # the delay doubles with each wrong token
_ATTEMPTS_TTL_S = 600.0  # after the last wrong token
_MOST_DELAYED = 100  # answers that are delayed at a time; more are answered at once, and their connection closed
_REQUIRED = "this server requires its token: ?token=... or a Bearer header"
_FORM = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>MASCOT</title></head>
<body><main><h1>MASCOT</h1><p>{message}</p>
<form action="/" method="get"><label>Token <input name="token" type="password" autofocus required></label>{fields}
<button>Open</button></form></main></body></html>
"""


class AnswerHeaders:
    """Outermost middleware: security headers and a request id on every answer; answers HEAD like GET without a body.

    Parameters
    ----------
    shared
        Paths that pages of other origins may show.
    """

    def __init__(self, app: ASGIApp, shared: re.Pattern[str] | None = None) -> None:
        self._app, self._shared = app, shared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        head = scope["method"] == "HEAD"
        shared = self._shared is not None and self._shared.fullmatch(scope["path"])
        identity = _request_id(scope)
        scope["request_id"] = identity
        extra_headers = (
            *_HEADERS,
            (b"cross-origin-resource-policy", b"cross-origin" if shared else b"same-origin"),
            (b"x-request-id", identity),
        )

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *extra_headers]
            elif head:
                message["body"] = b""
            await send(message)

        await self._app({**scope, "method": "GET"} if head else scope, receive, with_headers)


def _request_id(scope: Scope) -> bytes:
    """Return the request id that the client sent, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return bytes(value)
    return os.urandom(8).hex().encode()


class Guard:
    """Middleware: refuses foreign hosts and origins, and clients without the token."""

    def __init__(self, app: ASGIApp, token: str | None, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._app = app
        self._token = None if token is None else _digest(token.encode())
        # Without a token only local names are answered: otherwise a foreign page that points its own name at this
        # machine could read the library through the user's browser.
        self._hosts = None if token is not None else frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origins)
        self._attempts: TTLCache[str, int] = TTLCache(10_000, _ATTEMPTS_TTL_S)  # wrong tokens by address
        self._delayed = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if self._hosts is not None and _name(host) not in self._hosts:
            await _refuse(send, 403, "Forbidden", f"host {host!r} is not this server")
            return
        # Browsers send simple requests of any page without a CORS preflight; they must not start any work.
        if scope["method"] not in _READING and self._is_foreign(headers.get("origin"), host, scope["method"]):
            await _refuse(send, 403, "Forbidden", f"origin {headers['origin']!r} may not use this server: see --cors")
            return
        if self._token is not None and scope["path"] not in OPEN_PATHS:
            token, query = _token_of(scope.get("query_string", b""))
            if not self._accepts(headers, token):
                await self._delay(scope, has_token=token is not None or "authorization" in headers)
                await _ask(send, scope, headers, token is not None)
                return
            if token is not None and scope["path"] == _PAGE:
                # Removed from the address: it would remain in the history and in every shared link.
                await _redirect(send, _PAGE + query, _cookie(self._token))
                return
        await self._app(scope, receive, send)

    def _is_foreign(self, origin: str | None, host: str, method: str) -> bool:
        if origin is None or origin.partition("://")[2] == host:
            return False
        return method in _WRITING or origin not in self._origins

    def _accepts(self, headers: dict[str, str], token: bytes | None) -> bool:
        bearer = headers.get("authorization", "").encode("latin-1")
        digests = [_digest(bearer[len(b"bearer ") :].strip()) if bearer[:7].lower() == b"bearer " else ""]
        digests += [_digest(token) if token is not None else ""]
        digests += [part.strip()[len(COOKIE) + 1 :] for part in headers.get("cookie", "").split(";")
                    if part.strip().startswith(f"{COOKIE}=")]  # fmt: skip
        accepted = False
        for digest in digests:
            # Constant time: every comparison is made.
            accepted |= hmac.compare_digest(digest.encode("latin-1"), (self._token or "").encode())
        return accepted

    async def _delay(self, scope: Scope, has_token: bool) -> None:
        """Delay the answers to an address that keeps sending wrong tokens. The right token is never delayed."""
        if not has_token:
            return
        address = (scope.get("client") or ("",))[0]
        attempts = self._attempts[address] = self._attempts.get(address, 0) + 1
        if attempts <= _FREE_ATTEMPTS or self._delayed >= _MOST_DELAYED:
            return
        self._delayed += 1
        try:
            await anyio.sleep(min(_FIRST_DELAY_S * 2 ** min(attempts - _FREE_ATTEMPTS - 1, 20), _LONGEST_DELAY_S))
        finally:
            self._delayed -= 1


def _digest(token: bytes) -> str:
    """Return the digest that is compared and stored in the cookie instead of the token; its length is constant."""
    return sha256(b"mascot " + token).hexdigest()


def _cookie(digest: str) -> bytes:
    # Pictures are loaded by the browser itself, which sends no Bearer header.
    return f"{COOKIE}={digest}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000".encode()


def _token_of(query: bytes) -> tuple[bytes | None, str]:
    """Return the token of a query string, and the query string without it, with its `?`."""
    if b"token" not in query and b"%" not in query:
        return None, ""
    pairs = _pairs(query)
    tokens = [value for name, value in pairs if name == "token"]
    query_text = urlencode(
        [pair for pair in pairs if pair[0] != "token"], quote_via=quote, encoding="utf-8", errors="surrogateescape"
    )
    return tokens[-1].encode("utf-8", "surrogateescape") if tokens else None, f"?{query_text}" if query_text else ""


def _pairs(query: bytes) -> list[tuple[str, str]]:
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True, encoding="utf-8", errors="surrogateescape")


def _name(host: str) -> str:
    """Return a host name without its port."""
    return (host if host.endswith("]") else host.rpartition(":")[0] or host).lower()


async def _ask(send: Send, scope: Scope, headers: dict[str, str], wrong: bool) -> None:
    """Answer 401: with a form for a browser, as JSON for a program."""
    if scope["path"] == _PAGE and "text/html" in headers.get("accept", ""):
        message = "That is not the token of this server." if wrong else "This server requires its token."
        # The other parameters of the address are submitted with the form: a link leads to its view.
        hidden_fields = "".join(
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
            for name, value in _pairs(scope.get("query_string", b""))
            if name != "token"
        )
        body = _FORM.format(message=message, fields=hidden_fields).encode("utf-8", "replace")
        await send_answer(send, 401, b"text/html; charset=utf-8", body, (b"www-authenticate", b"Bearer"))
    else:
        await _refuse(send, 401, "Unauthorized", _REQUIRED, (b"www-authenticate", b"Bearer"))


async def _redirect(send: Send, to: str, cookie: bytes) -> None:
    body = f'<!doctype html><title>MASCOT</title><a href="{escape(to)}">Continue</a>\n'.encode()
    extra_headers = ((b"location", to.encode("latin-1")), (b"set-cookie", cookie), (b"cache-control", b"no-store"))
    await send_answer(send, 303, b"text/html; charset=utf-8", body, *extra_headers)


async def _refuse(send: Send, status: int, kind: str, message: str, *extra_headers: tuple[bytes, bytes]) -> None:
    await send_answer(send, status, b"application/json", msgspec.json.encode(failure(kind, message)), *extra_headers)


async def send_answer(send: Send, status: int, kind: bytes, body: bytes, *extra_headers: tuple[bytes, bytes]) -> None:
    """Send a complete answer."""
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *extra_headers]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
