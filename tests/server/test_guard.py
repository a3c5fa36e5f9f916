"""Who may ask: hosts, origins and tokens; and the headers of every answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mascot.server import guard
from tests.server.serving import Served, hosted, message

TOKEN = "s3cret/&+ é"
ROUTES = ("/", "/api/library", "/api/photos/1", "/api/photos/1/thumb", "/api/photos/1/image", "/metrics",
          "/openapi.json", "/docs", "/static/index.html", "/nowhere")  # fmt: skip


@pytest.fixture(scope="module")
def closed(photographs: Path) -> Iterator[Served]:
    """A server that requires a token, and that pages of one origin may use. Wrong tokens are not delayed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "_FREE_ATTEMPTS", 1000)
        with hosted(photographs, TOKEN, cors=("https://pages.example",)) as running:
            yield running


@pytest.fixture
def stranger(closed: Served) -> Iterator[httpx.Client]:
    """A client without the token."""
    with closed.client(headers={}) as client:
        yield client


def test_without_the_token_only_health_is_answered(stranger: httpx.Client) -> None:
    assert stranger.get("/healthz").json() == {"status": "ok"}
    for path in ROUTES:
        answer = stranger.get(path)
        assert answer.status_code == 401, path
        assert answer.json()["error"]["kind"] == "Unauthorized"
        assert answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.text
    for path in ("/api/search", "/api/rerank"):
        assert stranger.post(path, json={"text": "a"}).status_code == 401
    for path in ("/healthz/", "/healthz/../api/library", "//healthz", "/HEALTHZ", "/healthz%2f..%2fapi%2flibrary"):
        assert stranger.get(path).status_code == 401, path


def test_wrong_tokens_are_refused(stranger: httpx.Client) -> None:
    secret = TOKEN.encode()
    values = ["Bearer", secret, b"Basic " + secret, b"Bearer \xff\xfe\x80", b"Bearer " + secret + b"x"]
    cookies = ["mascot_token=", b"mascot_token=\xff\xfe", b"mascot_token=" + secret, "; ;=;;\x07 mascot_token"]
    headers = [{"authorization": value} for value in values] + [{"cookie": value} for value in cookies]
    for header in headers:
        answer = stranger.get("/api/library", headers=header)
        assert answer.status_code in (400, 401), header  # 400: not a header at all
    for query in ("token=", "token=%ff%fe", "token=a&token=b"):
        assert stranger.get(f"/api/library?{query}").status_code == 401, query


def test_the_token_is_accepted_as_bearer_cookie_or_in_the_address(stranger: httpx.Client) -> None:
    bearer = {"authorization": b"BEARER  " + TOKEN.encode()}
    assert stranger.get("/api/library", headers=bearer).status_code == 200
    answer = stranger.get("/api/library", params={"token": TOKEN})
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers  # only the page needs one
    answer = stranger.get("/", params={"token": TOKEN})
    assert answer.status_code == 303
    assert stranger.get("/api/library").status_code == 200  # the client stores the cookie
    stranger.cookies.clear()
    cookie = answer.headers["set-cookie"].partition(";")[0]
    for others in ('{"json": [1]}; %s', '"unclosed; %s'):
        assert stranger.get("/api/library", headers={"cookie": others % cookie}).status_code == 200, others


def test_the_token_is_removed_from_the_address(stranger: httpx.Client) -> None:
    quoted = str(httpx.QueryParams({"token": TOKEN})).partition("=")[2]
    for query, rest in (
        ("q=sun%20set&token=T&k=5&token=T", "?q=sun%20set&k=5"),
        ("token=T&x=%0d%0aset-cookie:%20a=b", "?x=%0D%0Aset-cookie%3A%20a%3Db"),
    ):
        answer = stranger.get("/?" + query.replace("T", quoted))
        assert (answer.status_code, answer.headers["location"]) == (303, f"/{rest}")
        assert answer.headers["cache-control"] == "no-store"
        cookie = answer.headers["set-cookie"]
        assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/"))
        assert "s3cret" not in cookie  # a digest, which opens the page and nothing else


def test_a_person_without_the_token_is_asked_for_it(stranger: httpx.Client) -> None:
    link = stranger.get("/", params={"q": 'a "b" <c>', "token": "no"}, headers={"accept": "text/html"})
    assert link.status_code == 401
    assert "not the token" in link.text
    assert '<input name="token"' in link.text
    assert '<input type="hidden" name="q" value="a &quot;b&quot; &lt;c&gt;">' in link.text, "a link leads to its view"
    assert 'value="no"' not in link.text


def test_other_origins_may_only_ask_where_they_are_named(stranger: httpx.Client) -> None:
    bearer = {"authorization": b"Bearer " + TOKEN.encode()}
    named, other = {"origin": "https://pages.example"}, {"origin": "https://other.example"}
    allow = "access-control-allow-origin"
    answer = stranger.post("/api/search", json={"text": "sunset"}, headers=bearer | named)
    assert (answer.status_code, answer.headers[allow]) == (200, "https://pages.example")
    thumbnail = stranger.get("/api/photos/1/thumb", headers=bearer)  # their <img> may show it
    assert thumbnail.headers.get_list("cross-origin-resource-policy") == ["cross-origin"]
    assert "access-control-allow-credentials" not in answer.headers
    # A browser asks beforehand, without the token.
    before = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
    answer = stranger.options("/api/search", headers=named | before)
    assert (answer.status_code, answer.headers[allow]) == (200, "https://pages.example")
    assert allow not in stranger.options("/api/search", headers=other | before).headers
    assert stranger.post("/api/search", json={"text": "a"}, headers=bearer | other).status_code == 403


def test_only_local_names_are_answered(client: httpx.Client, server: Served) -> None:
    """A page may point its own name at this machine; the browser would then let it read the library."""
    port = server.port
    for host in ("127.0.0.1", f"LocalHost:{port}", f"[::1]:{port}"):
        assert client.get("/api/library", headers={"host": host}).status_code == 200
    for host in ("127.0.0.1.evil.example", "", "a:b:c", "127.0.0.1@evil.example", "\xff", "localhost:80:80"):
        for path in ("/", "/api/library"):
            answer = client.get(path, headers={"host": host.encode("latin-1")})
            assert message(answer, 403).endswith("is not this server")


def test_pages_of_other_origins_start_no_work(client: httpx.Client, server: Served) -> None:
    port = server.port
    foreign = ("null", "http://127.0.0.1:1", f"http://127.0.0.1:{port}.evil.example", f"evil://127.0.0.1:{port}")
    for origin in foreign:
        for path in ("/api/search", "/api/rerank"):
            answer = client.post(path, content=b"{}", headers={"origin": origin, "content-type": "text/plain"})
            assert answer.status_code == 403, origin
    same = {"origin": server.address}
    assert client.post("/api/search", json={"text": "sunset"}, headers=same).status_code == 200
    headers = {"origin": "https://pages.example", "access-control-request-method": "POST"}
    for answer in (client.get("/api/library", headers=headers), client.options("/api/search", headers=headers)):
        assert not [name for name in answer.headers if name.startswith("access-control")], "no CORS by default"


def test_every_answer_has_its_headers(client: httpx.Client, stranger: httpx.Client) -> None:
    answers = [client.get(path) for path in ROUTES]
    answers += [client.get("/api/photos/x"), client.put("/api/library"), client.head("/api/photos/1/image")]
    answers += [client.get("/api/photos/1/image", headers={"range": "bytes=0-3"})]
    answers += [client.get("/api/photos/1/thumb", headers={"if-none-match": "*"})]
    answers += [client.get("/", headers={"host": "evil.example"}), client.post("/api/search", content=b"{")]
    answers += [client.post("/api/search", content=b"x" * 17_000_000), client.post("/api/rerank", content=b"{}")]
    answers += [stranger.get("/"), stranger.get("/", headers={"accept": "text/html"})]
    answers += [stranger.get("/", params={"token": TOKEN}), stranger.options("/api/search", headers={
        "origin": "https://pages.example", "access-control-request-method": "POST"})]  # fmt: skip
    assert {answer.status_code for answer in answers} == {200, 206, 303, 304, 401, 403, 404, 405, 413, 415, 422}
    for answer in answers:
        for name, value in (
            ("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"), ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"), ("cross-origin-opener-policy", "same-origin"),
        ):  # fmt: skip
            assert answer.headers.get_list(name) == [value], answer
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "server" not in answer.headers


@pytest.mark.parametrize("token", [None, "api"])
def test_metrics_and_the_document_may_have_a_token_of_their_own(token: str | None) -> None:
    with hosted(token=token, admin_token="admin") as server, server.client() as client:
        for path in ("/metrics", "/openapi.json", "/docs"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers={"authorization": "Bearer admin"}).status_code == 200
        status = 200 if token is None else 401
        assert client.get("/api/profiles").status_code == 200
        assert client.get("/api/profiles", headers={"authorization": "Bearer admin"}).status_code == status
