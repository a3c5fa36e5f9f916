"""What stands before every request: its host, its sender, its size; and the headers of every answer."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from hashlib import sha256
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "mascot_token"
HEALTH = "/healthz"  # a supervisor asks without a token
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
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
_WANTED = "this server wants its token: ?token=... or a Bearer header"
_ASK = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>MASCOT</title></head>
<body><main><h1>MASCOT</h1><p>{told}</p>
<form action="/" method="get"><label>Token <input name="token" type="password" autofocus required></label>{rest}
<button>Open</button></form></main></body></html>
"""


class Headed:
    """Middleware, outermost: security headers on every answer, and HEAD wherever there is GET.

    Pages of other origins may show what has a `shared` path.
    """

    def __init__(self, app: App, shared: re.Pattern[str] | None = None) -> None:
        self._app, self._shared = app, shared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        head = scope["method"] == "HEAD"
        shown = self._shared is not None and self._shared.fullmatch(scope["path"])
        more = (*_HEADERS, (b"cross-origin-resource-policy", b"cross-origin" if shown else b"same-origin"))

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *more]
            elif head:
                message["body"] = b""
            await send(message)

        await self._app({**scope, "method": "GET"} if head else scope, receive, headed)


class Guard:
    """Middleware: refuses foreign hosts and origins, senders without the token, and bodies that are too large."""

    def __init__(
        self,
        app: App,
        token: str | None,
        largest: int,
        hosts: Iterable[str] | None = None,
        origins: Iterable[str] | None = None,
        unmeasured: Iterable[str] = (),
    ) -> None:
        self._app, self._largest, self._unmeasured = app, largest, frozenset(unmeasured)
        self._token = None if token is None else _digest(token.encode())
        # Without a token only local names are answered: a foreign page that points its own name at this
        # machine could otherwise read the library through the user's browser.
        self._hosts = None if token is not None else frozenset(host.lower() for host in hosts or _LOCAL)
        self._origins = frozenset(origins or ())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if self._hosts is not None and _name(host) not in self._hosts:
            await _refuse(send, 403, "Forbidden", f"host {host!r} is not this server")
            return
        # A browser may send simple requests of any page here without asking first; they are not even worked on.
        if scope["method"] == "POST" and self._is_foreign(headers.get("origin"), host):
            await _refuse(send, 403, "Forbidden", f"origin {headers['origin']!r} may not use this server: see --cors")
            return
        if self._token is not None and scope["path"] != HEALTH:
            given, rest = _taken_out(scope.get("query_string", b""))
            if not self._knows(headers, given):
                await _ask(send, scope, headers, given is not None)
                return
            if given is not None and scope["path"] == _PAGE:
                # Out of the address, or it would stand in the history and in every link that is passed on.
                await _redirect(send, _PAGE + rest, _cookie(self._token))
                return
        if scope["path"] not in self._unmeasured:
            body = await self._whole(headers, receive)
            if body is None:
                await _refuse(send, 413, "TooLarge", f"a request must be at most {self._largest} bytes")
                return
            receive = _again(body, receive)
        await self._app(scope, receive, send)

    def _is_foreign(self, origin: str | None, host: str) -> bool:
        return origin is not None and origin not in self._origins and origin.partition("://")[2] != host

    def _knows(self, headers: dict[str, str], given: bytes | None) -> bool:
        bearer = headers.get("authorization", "").encode("latin-1")
        said = [_digest(bearer[len(b"bearer ") :].strip()) if bearer[:7].lower() == b"bearer " else ""]
        said += [_digest(given) if given is not None else ""]
        said += [part.strip()[len(COOKIE) + 1 :] for part in headers.get("cookie", "").split(";")
                 if part.strip().startswith(f"{COOKIE}=")]  # fmt: skip
        known = False
        for digest in said:
            # Every comparison is made, and takes the same time whatever it is compared with.
            known |= hmac.compare_digest(digest.encode("latin-1"), (self._token or "").encode())
        return known

    async def _whole(self, headers: dict[str, str], receive: Receive) -> bytes | None:
        """The body, or None where it is larger than allowed; one sent without its length is counted as it comes."""
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self._largest:
            return None
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self._largest:
                return None
            if not message.get("more_body", False):
                return bytes(body)


def _digest(token: bytes) -> str:
    """What is compared, and what the cookie holds: of one length and harmless letters, and not the token itself."""
    return sha256(b"mascot " + token).hexdigest()


def _cookie(digest: str) -> bytes:
    # Pictures are loaded by the browser itself, which sends no Bearer header.
    return f"{COOKIE}={digest}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000".encode()


def _taken_out(query: bytes) -> tuple[bytes | None, str]:
    """The token of a query string, and the rest of it as it goes behind an address."""
    pairs = _pairs(query)
    given = [value for name, value in pairs if name == "token"]
    rest = urlencode(
        [pair for pair in pairs if pair[0] != "token"], quote_via=quote, encoding="utf-8", errors="surrogateescape"
    )
    return given[-1].encode("utf-8", "surrogateescape") if given else None, f"?{rest}" if rest else ""


def _pairs(query: bytes) -> list[tuple[str, str]]:
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True, encoding="utf-8", errors="surrogateescape")


def _name(host: str) -> str:
    """A host without its port."""
    return (host if host.endswith("]") else host.rpartition(":")[0] or host).lower()


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, for those who come after; then whatever else the sender has to say."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _ask(send: Send, scope: Scope, headers: dict[str, str], tried: bool) -> None:
    """Say that the token is missing: to a person with a form, to a program as every other failure."""
    if scope["path"] == _PAGE and "text/html" in headers.get("accept", ""):
        told = "That is not the token of this server." if tried else "This server wants its token."
        # What else the address says goes with the form: a link leads to its view.
        rest = "".join(
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
            for name, value in _pairs(scope.get("query_string", b""))
            if name != "token"
        )
        body = _ASK.format(told=told, rest=rest).encode("utf-8", "replace")
        await _answer(send, 401, "text/html; charset=utf-8", body, (b"www-authenticate", b"Bearer"))
    else:
        await _refuse(send, 401, "Unauthorized", _WANTED, (b"www-authenticate", b"Bearer"))


async def _redirect(send: Send, to: str, cookie: bytes) -> None:
    body = f'<!doctype html><title>MASCOT</title><a href="{escape(to)}">Go on</a>\n'.encode()
    more = ((b"location", to.encode("latin-1")), (b"set-cookie", cookie), (b"cache-control", b"no-store"))
    await _answer(send, 303, "text/html; charset=utf-8", body, *more)


async def _refuse(send: Send, status: int, kind: str, message: str, *more: tuple[bytes, bytes]) -> None:
    body = json.dumps({"error": {"kind": kind, "message": message}}).encode()
    await _answer(send, status, "application/json", body, *more)


async def _answer(send: Send, status: int, kind: str, body: bytes, *more: tuple[bytes, bytes]) -> None:
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
