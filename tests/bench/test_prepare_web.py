"""Reading over HTTP, from a real server that misbehaves in the ways servers do."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pytest

from mascot.bench.prepare import web as web_module
from mascot.bench.prepare.outcomes import Loss
from mascot.bench.prepare.web import Web, is_public
from tests.bench.range_server import Server, local_web

CONTENT = bytes(range(256)) * 400  # 100 KiB


@pytest.fixture
def web() -> Web:
    return local_web()


def loss_of(call: Any, *arguments: Any) -> Loss:
    with pytest.raises(Loss) as caught:
        call(*arguments)
    return caught.value


@pytest.mark.parametrize("status", [404, 451, 408, 429, 503])
def test_a_permanent_answer_is_a_dead_link_and_trouble_that_passes_is_waited_for(
    server: Server, web: Web, status: int
) -> None:
    url = server.put("/a", b"here", statuses=[status, status])
    if status in (404, 451):
        loss = loss_of(web.get, url)
        assert (loss.reason, loss.detail, server.count("/a")) == ("dead link", f"status {status}", 1)
    else:
        assert (web.get(url), server.count("/a")) == (b"here", 3)


def test_trouble_that_stays_is_no_answer(server: Server) -> None:
    web = local_web(pause=0.05)
    loss = loss_of(web.get, server.put("/a", b"", always=500))
    assert (loss.reason, loss.detail, server.count("/a")) == ("no answer", "status 500", 3)
    # A server that gave nothing is asked once from then on, until it answers.
    assert loss_of(web.get, server.url + "/a").reason == "no answer"
    assert server.count("/a") == 4
    assert web.get(server.put("/b", b"well again")) == b"well again"


@pytest.mark.parametrize(("status", "headers"), [(503, {"Retry-After": "1"}), (200, {"X-Rl": "0", "X-Ttl": "1"})])
def test_all_requests_to_a_host_rest_when_it_asks_for_it(
    server: Server, status: int, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_module, "_LONGEST_WAIT", 0.3)
    web, begun = local_web(retries=0), time.monotonic()
    with suppress(Loss):
        web.get(server.put("/a", b"x", statuses=[status], headers=headers))
    assert web.get(server.put("/b", b"y")) == b"y"
    assert time.monotonic() - begun >= 0.3


def test_connections_that_break_are_tried_again(server: Server, web: Web) -> None:
    assert web.get(server.put("/a", CONTENT, hang_up=2)) == CONTENT
    assert web.get(server.put("/b", CONTENT, cut=[10, 50_000])) == CONTENT
    assert loss_of(web.get, "http://127.0.0.1:9/a").reason == "no answer"


def test_redirects_are_followed_but_not_for_ever(server: Server, web: Web) -> None:
    server.put("/c", CONTENT)
    server.put("/b", b"", redirect="/c")
    first = server.put("/a", b"", redirect=server.url + "/b")
    assert web.get(first) == CONTENT
    loop = loss_of(web.get, server.put("/loop", b"", redirect="/loop"))
    assert (loop.reason, loop.detail) == ("dead link", "more than 8 redirects")
    odd = server.put("/odd", b"", redirect="file:///etc/hostname")
    malformed = server.put("/malformed", b"", redirect="http://[::1/a")
    for url in (odd, malformed, "a.jpg", "http://[::1/a", "http://" + "a" * 70 + ".b/"):
        assert loss_of(web.get, url).reason == "bad address"


def test_a_slow_header_is_cut() -> None:
    sent = []

    def drip(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            for letter in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"y" * 1000:
                sent.append(connection.send(bytes([letter])))
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPool(1) as pool:
        pool.apply_async(drip, (listening,))
        web = local_web(retries=0, patience=0.2)
        assert loss_of(web.get, f"http://127.0.0.1:{listening.getsockname()[1]}/").reason == "no answer"
    assert len(sent) < 1000


def test_too_large_is_not_read(server: Server, web: Web) -> None:
    large = bytes(8 << 20)
    assert loss_of(web.get, server.put("/length", large), 1 << 20).reason == "too large"
    assert loss_of(web.get, server.put("/no-length", large, no_length=True), 1 << 20).reason == "too large"
    assert server.sent["/no-length"] < len(large)


def test_parts_must_be_parts(server: Server, web: Web) -> None:
    url = server.put("/a", CONTENT)
    size, validator = web.size(url)
    assert (size, validator[0], server.sent["/a"]) == (len(CONTENT), '"', 1)
    assert web.part(url, 0, 1000) == CONTENT[:1000]
    assert server.sent["/a"] == 1001
    assert web.part(url, len(CONTENT) - 5, 20) == CONTENT[-5:]
    whole = server.put("/whole", CONTENT * 100, no_ranges=True)
    assert web.size(whole)[0] is None
    assert web.part(whole, 0, 1000) == CONTENT[:1000]
    assert server.sent["/whole"] < len(CONTENT * 100)
    assert loss_of(web.part, whole, 5, 5).reason == "no ranges"
    assert web.part(server.put("/c", CONTENT, cut=[100]), 0, 50_000) == CONTENT[:50_000]
    short = server.put("/e", CONTENT, no_length=True, cut=[100])
    assert loss_of(web.part, short, 0, 50_000).reason == "no answer"
    wrong = server.put("/d", CONTENT, always=206, headers={"Content-Range": "bytes 7-9/99"})
    assert loss_of(web.part, wrong, 5, 5).reason == "wrong content"


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Downloads of `CONTENT` are three pieces."""
    monkeypatch.setattr(web_module, "_PIECE", 40_000)


@pytest.mark.usefixtures("pieces")
def test_a_download_is_whole_or_not_there(server: Server, tmp_path: Path) -> None:
    url, path = server.put("/a", CONTENT), tmp_path / "a"
    with pytest.raises(Loss, match="the file changed"):
        local_web(retries=0).download(url, path, lambda *_: server.put("/a", CONTENT[::-1]))
    assert list(tmp_path.iterdir()) == []
    server.put("/a", CONTENT, cut=[1, 40_000, 10, 10])  # the size, the first piece, then trouble
    reports: list[tuple[int, int | None]] = []
    for _ in range(2):
        local_web().download(url, path, lambda *report: reports.append(report))
    assert path.read_bytes() == CONTENT
    assert reports == [(count, len(CONTENT)) for count in (40_000, 80_000, len(CONTENT))]
    assert server.requests[-1].headers["If-Range"]


def test_private_addresses_are_not_public() -> None:
    private = (
        "10.1.2.3 169.254.169.254 0.0.0.0 224.0.0.1 ::1 fe80::1%eth0 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::"
    )
    assert [address for address in private.split() if is_public(address)] == []
    assert all(map(is_public, ("93.184.216.34", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808")))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433"])
def test_a_private_address_is_refused_before_a_connection(server: Server, host: str) -> None:
    port = server.url.rpartition(":")[2]
    loss = loss_of(Web(retries=0).get, f"http://{host}:{port}/a")
    assert loss.reason in ("private address", "no answer", "bad address")
    assert not server.requests


def test_a_redirect_to_a_private_address_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = server.put("/inner", b"secret")
    outer = server.put("/outer", b"", redirect=inner, headers={"Connection": "close"})
    public = iter([True])  # the server of the tests, as if it were elsewhere
    monkeypatch.setattr("mascot.bench.prepare.web.is_public", lambda _: next(public, False))
    assert loss_of(Web(retries=0).get, outer).reason == "private address"
    assert (server.count("/outer"), server.count("/inner")) == (1, 0)


def test_the_address_that_was_checked_is_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["93.184.216.34", "127.0.0.1"])
    connections = []

    def resolve(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), 0))]

    def connect(address: tuple[str, int], *_: object) -> socket.socket:
        connections.append(address[0])
        raise OSError("refused")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr("mascot.bench.prepare.web.create_connection", connect)
    assert loss_of(Web(retries=0).get, "http://rebinding.example/").reason == "no answer"
    assert loss_of(Web(retries=0).get, "http://rebinding.example/").reason == "private address"
    assert connections == ["93.184.216.34"]


def test_a_proxy_of_the_environment_is_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.setenv("no_proxy", "")
    server.put("http://93.184.216.34/a", b"through the proxy")
    assert Web(retries=0).get("http://93.184.216.34/a") == b"through the proxy"
    assert loss_of(Web(retries=0).get, "http://10.0.0.1/a").reason == "private address"
