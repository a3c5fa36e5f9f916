"""Who may ask: hosts, origins and tokens; and the headers of every answer."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from serving import Served, served

from mascot.server import guard

TOKEN = "s3cret/&+ é"
ROUTES = ("/", "/api/library", "/api/photos/1", "/api/photos/1/thumb", "/api/photos/1/image", "/metrics",
          "/openapi.json", "/static/index.html", "/nowhere")  # fmt: skip


@pytest.fixture(scope="module")
def closed(photographs: Path) -> Iterator[Served]:
    """A server that other machines can reach, and that pages of one origin may use."""
    options = ("--host", "0.0.0.0", "--cors", "https://pages.example")
    with served(photographs, *options, token=TOKEN) as found:
        found.address = f"http://127.0.0.1:{found.port}"
        yield found


@pytest.fixture
def stranger(closed: Served) -> Iterator[httpx.Client]:
    """A client without the token."""
    with httpx.Client(base_url=closed.address, trust_env=False, verify=False, timeout=30) as found:
        yield found


def test_without_the_token_only_the_health_is_told(stranger: httpx.Client) -> None:
    assert stranger.get("/healthz").json() == {"status": "ok"}
    for path in ROUTES:
        answer = stranger.get(path)
        assert answer.status_code == 401, path
        assert answer.json()["error"]["kind"] == "Unauthorized"
        assert answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.text
    for path in ("/api/search", "/api/rerank", "/api/rerank/stream"):
        assert stranger.post(path, json={"text": "a"}).status_code == 401
    for path in ("/healthz/", "/healthz/../api/library", "//healthz", "/HEALTHZ", "/healthz%2f..%2fapi%2flibrary"):
        assert stranger.get(path).status_code == 401, path


@pytest.mark.parametrize(
    "headers",
    [
        {}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer"},
        {"authorization": TOKEN.encode()}, {"authorization": b"Basic " + TOKEN.encode()},
        {"authorization": b"Bearer \xff\xfe\x80"}, {"authorization": "Bearer " + "x" * 20_000},
        {"authorization": b"Bearer " + TOKEN[:-2].encode()}, {"authorization": b"Bearer " + TOKEN.encode() + b"x"},
        {"cookie": "mascot_token="}, {"cookie": "mascot_token=wrong"}, {"cookie": b"mascot_token=\xff\xfe"},
        {"cookie": b"mascot_token=" + TOKEN.encode()}, {"cookie": "; ;=;;\x07 mascot_token"},
    ],
)  # fmt: skip
def test_a_wrong_token_is_none(stranger: httpx.Client, headers: dict[str, bytes | str]) -> None:
    assert stranger.get("/api/library", headers=headers).status_code in (400, 401)  # 400: not a header at all


@pytest.mark.parametrize("query", ["token=", "token=wrong", "token=%ff%fe", "token=a&token=b", "token", "%00=1", "&&&"])
def test_a_wrong_token_in_the_address_is_none(stranger: httpx.Client, query: str) -> None:
    assert stranger.get(f"/api/library?{query}").status_code == 401


def test_the_token_is_taken_as_bearer_cookie_or_in_the_address(stranger: httpx.Client) -> None:
    for word in (b"Bearer ", b"bearer ", b"BEARER  "):
        assert stranger.get("/api/library", headers={"authorization": word + TOKEN.encode()}).status_code == 200
    answer = stranger.get("/api/library", params={"token": TOKEN})
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers  # only the page needs one
    entered = stranger.get("/", params={"token": TOKEN})
    assert entered.status_code == 303
    assert stranger.get("/api/library").status_code == 200  # the client keeps the cookie
    assert stranger.get("/api/photos/1/thumb").headers["content-type"] == "image/jpeg"
    assert stranger.post("/api/search", json={"text": "sunset"}).status_code == 200


def test_other_cookies_do_not_hide_ours(stranger: httpx.Client) -> None:
    cookie = stranger.get("/", params={"token": TOKEN}).headers["set-cookie"].partition(";")[0]
    stranger.cookies.clear()
    for around in ('{"json": [1]}; %s', "a=b=c; %s; x", "=;;%s", '"unclosed; %s'):
        assert stranger.get("/api/library", headers={"cookie": around % cookie}).status_code == 200, around


def test_the_token_is_taken_out_of_the_address(stranger: httpx.Client) -> None:
    for query, rest in (
        ("token=T", ""), ("q=sun%20set&token=T&k=5", "?q=sun%20set&k=5"), ("token=T&e=&a=%26&token=T", "?e=&a=%26"),
        ("token=T&x=%0d%0aset-cookie:%20a=b", "?x=%0D%0Aset-cookie%3A%20a%3Db"), ("x=%ff&token=T", "?x=%FF"),
    ):  # fmt: skip
        told = stranger.get("/?" + query.replace("T", str(httpx.QueryParams({"token": TOKEN})).partition("=")[2]))
        assert (told.status_code, told.headers["location"]) == (303, f"/{rest}")
        assert told.headers["cache-control"] == "no-store"
        cookie = told.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert "Path=/" in cookie
        assert "s3cret" not in cookie  # a digest, which opens the page and nothing else
    page = stranger.get("/", params={"token": TOKEN}, follow_redirects=True)
    assert page.status_code == 200
    assert "token" not in str(page.url)


def test_a_person_without_the_token_is_asked_for_it(stranger: httpx.Client) -> None:
    asked = stranger.get("/", headers={"accept": "text/html,*/*"})
    assert asked.status_code == 401
    assert '<input name="token"' in asked.text
    link = stranger.get("/", params={"q": 'a "b" <c>', "token": "no"}, headers={"accept": "text/html"})
    assert link.status_code == 401
    assert "not the token" in link.text
    assert '<input type="hidden" name="q" value="a &quot;b&quot; &lt;c&gt;">' in link.text, "a link leads to its view"
    assert 'value="no"' not in link.text


def test_tokens_are_compared_in_constant_time() -> None:
    source = inspect.getsource(guard.Guard._accepts)
    assert "hmac.compare_digest" in source
    assert "==" not in source.replace('== b"bearer "', "")  # the scheme is no secret


def test_with_a_token_any_host_name_may_be_used(closed: Served) -> None:
    with closed.client() as client:
        assert client.get("/api/library", headers={"host": "photos.example"}).status_code == 200


def test_other_origins_may_only_ask_where_they_are_named(closed: Served, stranger: httpx.Client) -> None:
    bearer = {"authorization": b"Bearer " + TOKEN.encode()}
    named, other = {"origin": "https://pages.example"}, {"origin": "https://other.example"}
    answer = stranger.post("/api/search", json={"text": "sunset"}, headers=bearer | named)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://pages.example"
    assert "access-control-allow-credentials" not in answer.headers
    # A browser asks beforehand, without the token.
    before = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
    allowed = stranger.options("/api/search", headers=named | before)
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == "https://pages.example"
    assert {word.strip().lower() for word in allowed.headers["access-control-allow-headers"].split(",")} >= {
        "authorization", "content-type"
    }  # fmt: skip
    refused = stranger.options("/api/search", headers=other | before)
    assert "access-control-allow-origin" not in refused.headers
    assert stranger.post("/api/search", json={"text": "a"}, headers=bearer | other).status_code == 403
    answer = stranger.get("/api/library", headers=bearer | other)
    assert "access-control-allow-origin" not in answer.headers
    unknown = stranger.get("/api/library", headers=named)
    assert (unknown.status_code, unknown.headers["access-control-allow-origin"]) == (401, "https://pages.example")


def test_pages_of_named_origins_may_show_photographs(closed: Served, client: httpx.Client) -> None:
    """A browser would not let an <img> of another origin show them; and only them."""
    name = "cross-origin-resource-policy"
    with closed.client() as named:
        for path in ("/api/photos/1/thumb", "/api/photos/1/image"):
            assert named.get(path).headers.get_list(name) == ["cross-origin"]
            assert named.get(path, headers={"if-none-match": "*"}).headers.get_list(name) == ["cross-origin"]
            assert client.get(path).headers.get_list(name) == ["same-origin"]
        for path in ("/", "/api/photos/1", "/api/library", "/static/index.html", "/openapi.json", "/metrics"):
            assert named.get(path).headers.get_list(name) == ["same-origin"], path


# Without a token


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "LocalHost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "[::1]"]
)
def test_local_names_are_answered(client: httpx.Client, server: Served, host: str) -> None:
    assert client.get("/api/library", headers={"host": host.format(port=server.port)}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "a:b:c",
                                  "127.0.0.1@evil.example", "\xff", "127.0.0.2", "localhost:80:80"])  # fmt: skip
def test_foreign_names_are_refused(client: httpx.Client, host: str) -> None:
    """A page may point its own name at this machine; the browser would then let it read the library."""
    for path in ("/", "/api/library", "/static/index.html", "/healthz"):
        answer = client.get(path, headers={"host": host.encode("latin-1")})
        assert answer.status_code == 403
        assert answer.json()["error"]["kind"] == "Forbidden"


def test_pages_of_other_origins_start_no_work(client: httpx.Client, server: Served) -> None:
    for origin in (
        "https://evil.example",
        "null",
        "http://127.0.0.1:1",
        f"http://127.0.0.1:{server.port}.evil.example",
    ):
        for path in ("/api/search", "/api/rerank", "/api/rerank/stream"):
            answer = client.post(path, content=b"{}", headers={"origin": origin, "content-type": "text/plain"})
            assert answer.status_code == 403, origin
    same = {"origin": server.address}
    assert client.post("/api/search", json={"text": "sunset"}, headers=same).status_code == 200


def test_no_cors_unless_asked(client: httpx.Client) -> None:
    headers = {"origin": "https://pages.example", "access-control-request-method": "POST"}
    for answer in (client.get("/api/library", headers=headers), client.options("/api/search", headers=headers)):
        assert not [name for name in answer.headers if name.startswith("access-control")]


# Headers


def test_every_answer_has_its_headers(client: httpx.Client, stranger: httpx.Client) -> None:
    asked = [client.get(path) for path in ROUTES]
    asked += [client.get("/api/photos/x"), client.put("/api/library"), client.head("/api/photos/1/image")]
    asked += [client.get("/api/photos/1/image", headers={"range": "bytes=0-3"})]
    asked += [client.get("/api/photos/1/thumb", headers={"if-none-match": "*"})]
    asked += [client.get("/", headers={"host": "evil.example"}), client.post("/api/search", content=b"{")]
    asked += [client.post("/api/search", content=b"x" * 17_000_000), client.post("/api/rerank/stream", content=b"{}")]
    asked += [stranger.get("/"), stranger.get("/", headers={"accept": "text/html"})]
    asked += [stranger.get("/", params={"token": TOKEN}), stranger.options("/api/search", headers={
        "origin": "https://pages.example", "access-control-request-method": "POST"})]  # fmt: skip
    assert {answer.status_code for answer in asked} == {200, 206, 303, 304, 401, 403, 404, 405, 413, 415, 422}
    for answer in asked:
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
