"""Checks before every request: host, origin and token."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

import anyio
from cachetools import TTLCache
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mascot.server.responses import refusal

OPEN_PATHS = frozenset({"/healthz", "/readyz"})  # health checks carry no token
_PAGES = frozenset({"/", "/docs"})  # which people open in a browser
# The paths that may have a token of their own.
_ADMIN_PATHS = frozenset({"/metrics", "/openapi.json", "/docs", "/static/styles/docs.css"})
_COOKIE, _ADMIN_COOKIE = "mascot_token", "mascot_admin"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_WRITING = frozenset({"PUT", "DELETE"})  # allowed only from this server's own page, whatever --cors says
_FREE_ATTEMPTS = 5  # wrong tokens per client address that are answered without delay
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.1, 5.0  # the delay doubles with each wrong token
_ATTEMPTS_TTL_S = 600.0  # after the last wrong token
_MOST_DELAYED = 100  # answers that are delayed at the same time; further ones are sent at once
_BEARER = {"www-authenticate": "Bearer"}
_REQUIRED = "this server requires its token: ?token=... or a Bearer header"
_FORM = Path(__file__).with_name("token_form.html").read_text("utf-8")


class Guard:
    """Middleware that refuses foreign hosts and origins, and clients without the token."""

    def __init__(
        self, app: ASGIApp, token: str | None, hosts: Iterable[str] = (), origins: Iterable[str] = (),
        admin_token: str | None = None,
    ) -> None:  # fmt: skip
        self._app = app
        self._token, self._admin = (None if text is None else _digest(text.encode()) for text in (token, admin_token))
        # Without a token the host must be a local name. Otherwise a page whose host name resolves to this machine
        # could read the library through the user's browser (DNS rebinding).
        self._hosts = None if token is not None else frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origins)
        self._attempts: TTLCache[str, int] = TTLCache(10_000, _ATTEMPTS_TTL_S)  # wrong tokens by address
        self._delayed = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._refusal(scope) if scope["type"] == "http" else None
        await (answer or self._app)(scope, receive, send)

    async def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is refused or redirected, otherwise None."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host, method, path = headers.get("host", ""), scope["method"], scope["path"]
        if self._hosts is not None and _name(host) not in self._hosts:
            return refusal(403, "Forbidden", f"host {host!r} is not this server")
        # Browsers send simple requests from any page without a CORS preflight. These must not start any work.
        origin = headers.get("origin")
        is_foreign = origin not in (None, f"http://{host}", f"https://{host}")  # a proxy may add TLS
        if is_foreign and (method in _WRITING or (method not in _READING and origin not in self._origins)):
            return refusal(403, "Forbidden", f"origin {headers['origin']!r} may not use this server: see --cors")
        is_admin = self._admin is not None and path in _ADMIN_PATHS
        digest, cookie = (self._admin, _ADMIN_COOKIE) if is_admin else (self._token, _COOKIE)
        if digest is None or path in OPEN_PATHS:
            return None
        query = scope.get("query_string", b"").decode("latin-1")
        pairs = parse_qsl(query, keep_blank_values=True, encoding="utf-8", errors="surrogateescape")
        token = next((value for name, value in reversed(pairs) if name == "token"), None)
        others = [pair for pair in pairs if pair[0] != "token"]
        if not _accepts(headers, token, digest, cookie):
            if token is not None or "authorization" in headers:
                await self._delay((scope.get("client") or ("",))[0])
            if path in _PAGES and "text/html" in headers.get("accept", ""):
                return _form(others, wrong=token is not None)
            return refusal(401, "Unauthorized", _REQUIRED, _BEARER)
        if token is not None and path in _PAGES:
            # Remove the token from the address: it would stay in the history and in shared links.
            return _redirect(path, others, f"{cookie}={digest}")
        return None

    async def _delay(self, address: str) -> None:
        """Delay the answer to an address that sent several wrong tokens. Requests with the token are not delayed."""
        attempts = self._attempts[address] = self._attempts.get(address, 0) + 1
        if attempts <= _FREE_ATTEMPTS or self._delayed >= _MOST_DELAYED:
            return
        self._delayed += 1
        try:
            await anyio.sleep(min(_FIRST_DELAY_S * 2 ** min(attempts - _FREE_ATTEMPTS - 1, 20), _LONGEST_DELAY_S))
        finally:
            self._delayed -= 1


def _accepts(headers: dict[str, str], token: str | None, digest: str, cookie: str) -> bool:
    """Return whether a request carries the token with this digest."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    cookies = [part.strip().partition("=") for part in headers.get("cookie", "").split(";")]
    digests = [value for name, _, value in cookies if name == cookie]
    if scheme.lower() == "bearer":
        digests.append(_digest(bearer.encode("latin-1").strip()))
    if token is not None:
        digests.append(_digest(token.encode("utf-8", "surrogateescape")))
    # Every comparison is made, so that the time does not depend on the token.
    matches = [hmac.compare_digest(text.encode("latin-1"), digest.encode()) for text in digests]
    return any(matches)


def _digest(token: bytes) -> str:
    """Return the digest that is compared and stored in the cookie instead of the token."""
    return sha256(b"mascot " + token).hexdigest()


def _name(host: str) -> str:
    """Return a host name without its port."""
    return (host if host.endswith("]") else host.rpartition(":")[0] or host).lower()


def _form(pairs: list[tuple[str, str]], wrong: bool) -> Response:
    """Return a form that asks for the token, and submits the other parameters of the address with it."""
    message = "That is not the token of this server." if wrong else "This server requires its token."
    fields = [f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in pairs]
    body = _FORM.format(message=message, fields="".join(fields)).encode("utf-8", "replace")
    return HTMLResponse(body, 401, _BEARER)


def _redirect(path: str, pairs: list[tuple[str, str]], cookie: str) -> Response:
    """Redirect to the page and set the cookie: browsers load pictures and styles without a Bearer header."""
    query = urlencode(pairs, quote_via=quote, encoding="utf-8", errors="surrogateescape")
    target = f"{path}?{query}" if query else path
    headers = {
        "location": target,
        "set-cookie": f"{cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000",
        "cache-control": "no-store",
    }
    return HTMLResponse(f'<!doctype html><title>MASCOT</title><a href="{escape(target)}">Continue</a>\n', 303, headers)
