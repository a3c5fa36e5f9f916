"""Reading over HTTP, from a real server that misbehaves in the ways servers do."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from range_server import Server, local_web, serving

from mascot.bench.prepare.addresses import is_public
from mascot.bench.prepare.outcomes import Loss
from mascot.bench.prepare.web import Web

CONTENT = bytes(range(256)) * 400  # 100 KiB


@pytest.fixture(scope="module")
def shared() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(shared: Server) -> Server:
    shared.files.clear()
    shared.manners.clear()
    shared.requests.clear()
    shared.sent.clear()
    shared.together = 0
    return shared


@pytest.fixture
def web() -> Iterator[Web]:
    loss = local_web(timeout=30.0, retries=2, pause=0.01, patience=60.0)
    yield loss
    loss.stop()


def loss_of(call: object, *args: object) -> Loss:
    with pytest.raises(Loss) as caught:
        call(*args)  # type: ignore[operator]
    return caught.value


def test_get_gives_the_whole_and_says_who_asks(server: Server, web: Web) -> None:
    assert web.get(server.put("/a", CONTENT)) == CONTENT
    assert server.requests[0].headers["User-Agent"].startswith("mascot-bench/")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
def test_a_permanent_answer_is_a_dead_link_at_once(server: Server, web: Web, status: int) -> None:
    loss = loss_of(web.get, server.put("/a", b"", always=status))
    assert (loss.reason, loss.detail) == ("dead link", f"status {status}")
    assert server.count("/a") == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_trouble_that_passes_is_waited_for(server: Server, web: Web, status: int) -> None:
    assert web.get(server.put("/a", b"here", statuses=[status, status])) == b"here"
    assert server.count("/a") == 3


def test_trouble_that_stays_is_no_answer(server: Server, web: Web) -> None:
    loss = loss_of(web.get, server.put("/a", b"", always=500))
    assert (loss.reason, loss.detail) == ("no answer", "status 500")
    assert server.count("/a") == 3
    # A server that gave nothing is asked once from then on, until it answers.
    assert loss_of(web.get, server.url + "/a").reason == "no answer"
    assert server.count("/a") == 4
    assert web.get(server.put("/b", b"well again")) == b"well again"
    assert loss_of(web.get, server.url + "/a").reason == "no answer"
    assert server.count("/a") == 7


def test_a_busy_server_is_never_asked_faster(server: Server) -> None:
    web = local_web(retries=2, pause=0.1)
    begun = time.monotonic()
    loss_of(web.get, server.put("/a", b"", always=429))
    assert web.get(server.put("/b", b"x")) == b"x"  # waits like the others: 0.1, 0.2 and then 0.4 seconds
    assert time.monotonic() - begun > 0.75 * (0.1 + 0.2 + 0.4)
    loss_of(web.get, server.url + "/a")
    assert server.count("/a") == 6


def test_tries_are_further_and_further_apart(server: Server) -> None:
    web = local_web(retries=3, pause=0.1)
    begun = time.monotonic()
    loss_of(web.get, server.put("/a", b"", always=500))
    assert 0.75 * (0.1 + 0.2 + 0.4) <= time.monotonic() - begun < 60


def test_the_server_may_say_how_long_to_wait(server: Server, web: Web) -> None:
    begun = time.monotonic()
    assert web.get(server.put("/a", b"x", statuses=[429], headers={"Retry-After": "1"})) == b"x"
    assert time.monotonic() - begun >= 1


@pytest.mark.parametrize("text", ["soon", "-3", "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_a_retry_after_in_the_past_or_of_no_meaning_is_no_wait(server: Server, web: Web, text: str) -> None:
    begun = time.monotonic()
    assert web.get(server.put("/a", b"x", statuses=[429], headers={"Retry-After": text})) == b"x"
    assert time.monotonic() - begun < 60


def test_a_service_that_counts_requests_is_given_its_pause(server: Server, web: Web) -> None:
    begun = time.monotonic()
    web.get(server.put("/a", b"{}", headers={"X-Rl": "0", "X-Ttl": "1"}))
    web.get(server.put("/b", b"{}"))
    assert time.monotonic() - begun > 0.5


def test_all_requests_to_a_host_rest_when_it_asks_for_it(server: Server, web: Web) -> None:
    first = server.put("/a", b"x", statuses=[429], headers={"Retry-After": "2"})
    other = server.put("/b", b"y")
    thread = threading.Thread(target=web.get, args=(first,))
    begun = time.monotonic()
    thread.start()
    while not server.count("/a"):
        time.sleep(0.005)
    time.sleep(0.5)  # until the answer has been read
    assert web.get(other) == b"y"
    assert time.monotonic() - begun > 1.5
    thread.join()


def test_connections_that_break_are_tried_again(server: Server, web: Web) -> None:
    assert web.get(server.put("/a", CONTENT, hang_up=2)) == CONTENT
    assert web.get(server.put("/b", CONTENT, cut=[10, 50_000])) == CONTENT
    assert loss_of(web.get, server.put("/c", CONTENT, hang_up=9)).reason == "no answer"


def test_nobody_there(web: Web) -> None:
    loss = loss_of(web.get, "http://127.0.0.1:9/a")
    assert loss.reason == "no answer"
    assert "refused" in loss.detail
    assert " at 0x" not in loss.detail


@pytest.mark.parametrize("url", ["", "a.jpg", "http://", "http://[::1/a", "ftp://host/a", "http://" + "a" * 70 + ".b/"])
def test_addresses_that_are_none(web: Web, url: str) -> None:
    assert loss_of(web.get, url).reason == "bad address"


def test_redirects_are_followed_but_not_for_ever(server: Server, web: Web) -> None:
    server.put("/c", CONTENT)
    server.put("/b", b"", redirect="/c")
    first = server.put("/a", b"", redirect=server.url + "/b")
    assert web.get(first) == CONTENT
    assert web.part(first, 300, 10) == CONTENT[300:310]
    assert web.size(first)[0] == len(CONTENT)
    loop = loss_of(web.get, server.put("/loop", b"", redirect="/loop"))
    assert (loop.reason, loop.detail) == ("dead link", "more than 8 redirects")
    assert loss_of(web.get, server.put("/gone", b"", redirect="/nowhere")).reason == "dead link"
    assert loss_of(web.get, server.put("/odd", b"", redirect="file:///etc/hostname")).reason == "bad address"


def test_a_slow_head_times_out_and_a_slow_body_ends(server: Server) -> None:
    web = local_web(timeout=0.2, retries=0, patience=0.5)
    assert loss_of(web.get, server.put("/late", b"x", wait=1.0)).reason == "no answer"
    begun = time.monotonic()
    loss = loss_of(local_web(timeout=30, retries=0, patience=0.5).get, server.put("/drip", bytes(1000), drip=0.05))
    assert (loss.reason, loss.detail) == ("no answer", "slower than 0.5 s")
    assert time.monotonic() - begun < 40  # all of it takes 50 s


def test_a_head_that_drips_is_cut() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                try:
                    for letter in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"y" * 1000:
                        connection.send(bytes([letter]))
                        time.sleep(0.05)
                except OSError:
                    pass

        thread = threading.Thread(target=drip)
        thread.start()
        begun = time.monotonic()
        web = local_web(timeout=30, retries=0, patience=0.4)
        assert loss_of(web.get, f"http://127.0.0.1:{listening.getsockname()[1]}/").reason == "no answer"
        assert time.monotonic() - begun < 25  # less than the time out; all of it takes 50 s
        thread.join()


def test_too_large_is_not_read(server: Server, web: Web) -> None:
    large = bytes(8 << 20)
    assert loss_of(web.get, server.put("/told", large), 1 << 20).reason == "too large"
    assert loss_of(web.get, server.put("/untold", large, no_length=True), 1 << 20).reason == "too large"
    assert server.sent["/untold"] < len(large)
    assert web.get(server.put("/just", bytes(1 << 20)), 1 << 20) == bytes(1 << 20)


def test_the_first_bytes(server: Server, web: Web) -> None:
    assert web.part(server.put("/a", CONTENT), 0, 1000) == CONTENT[:1000]
    assert server.sent["/a"] == 1000
    assert web.part(server.put("/short", b"abc"), 0, 1000) == b"abc"
    large = CONTENT * 100
    assert web.part(server.put("/whole", large, no_ranges=True), 0, 1000) == large[:1000]
    assert server.sent["/whole"] < len(large)
    assert loss_of(web.part, server.url + "/none", 0, 10).reason == "dead link"


def test_parts_must_be_parts(server: Server, web: Web) -> None:
    url = server.put("/a", CONTENT)
    assert web.part(url, 5000, 20) == CONTENT[5000:5020]
    assert web.part(url, len(CONTENT) - 5, 20) == CONTENT[-5:]
    assert loss_of(web.part, server.put("/b", CONTENT, no_ranges=True), 5, 5).reason == "no ranges"
    assert loss_of(web.part, url, len(CONTENT) + 5, 5).reason == "dead link"
    assert web.part(server.put("/c", CONTENT, cut=[100]), 0, 50_000) == CONTENT[:50_000]
    short = server.put("/e", CONTENT, no_length=True, cut=[100])
    assert loss_of(web.part, short, 0, 50_000).reason == "no answer"
    wrong = server.put("/d", CONTENT, always=206, headers={"Content-Range": "bytes 7-9/99"})
    assert loss_of(web.part, wrong, 5, 5).reason == "wrong content"


def test_size(server: Server, web: Web) -> None:
    size, validator = web.size(server.put("/a", CONTENT))
    assert (size, validator[0]) == (len(CONTENT), '"')
    assert server.sent["/a"] <= 1
    assert web.size(server.put("/b", CONTENT, no_ranges=True))[0] is None
    assert web.size(server.put("/c", CONTENT, etag='W/"weak"')) == (len(CONTENT), "")
    assert loss_of(web.size, server.url + "/none").reason == "dead link"


def test_few_connections_to_one_host_at_a_time(server: Server) -> None:
    web = local_web(per_host=3)
    urls = [server.put(f"/{i}", b"x", wait=0.05) for i in range(24)]
    threads = [threading.Thread(target=web.get, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.together == 3


def test_a_download_arrives_whole_and_only_once(server: Server, web: Web, tmp_path: Path) -> None:
    url, path, seen = server.put("/a", CONTENT), tmp_path / "deep" / "a.bin", []
    web.download(url, path, lambda count, total: seen.append((count, total)))
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert list(path.parent.iterdir()) == [path]
    before = server.count("/a")
    web.download(url, path)
    assert server.count("/a") == before


LARGE = CONTENT * 60  # three pieces of a download


def test_an_interrupted_download_continues(server: Server, tmp_path: Path) -> None:
    url = server.put("/a", LARGE, cut=[1, 3 << 20, 10, 10])  # the size, the first piece, then trouble
    with pytest.raises(Loss):
        local_web(retries=0, pause=0).download(url, tmp_path / "a")
    (part,) = tmp_path.glob("a.*.part")
    assert part.stat().st_size == 2 << 20
    server.manners.clear()
    server.sent.clear()
    local_web().download(url, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == LARGE
    assert server.sent["/a"] < len(LARGE) - (2 << 20) + 10
    assert "If-Range" in server.requests[-1].headers
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_a_download_survives_more_cuts_than_there_are_retries(server: Server, web: Web, tmp_path: Path) -> None:
    web.download(server.put("/a", LARGE, cut=[1, 5, 5, 3 << 20, 5, 5, 3 << 20, 5]), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == LARGE


def test_a_file_that_changed_meanwhile_starts_again(server: Server, tmp_path: Path) -> None:
    url = server.put("/a", LARGE, cut=[1, 3 << 20, 10])
    with pytest.raises(Loss):
        local_web(retries=0).download(url, tmp_path / "a")
    server.put("/a", LARGE[::-1])
    server.manners.clear()
    local_web().download(url, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == LARGE[::-1]


def test_a_file_that_changes_between_two_pieces_is_refused(server: Server, tmp_path: Path) -> None:
    url = server.put("/a", LARGE)

    def change(count: int, total: int | None) -> None:
        server.files["/a"] = LARGE[::-1]

    with pytest.raises(Loss, match="the file changed"):
        local_web(retries=0).download(url, tmp_path / "a", change)
    local_web().download(url, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == LARGE[::-1]


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_without_a_validator_a_file_is_one_answer(server: Server, tmp_path: Path, etag: str) -> None:
    url = server.put("/a", LARGE, cut=[1, 10_000], etag=etag)
    local_web(pause=0.01).download(url, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == LARGE
    assert {request.headers.get("Range") for request in server.requests} == {"bytes=0-0", None}


def test_a_download_without_a_length(server: Server, web: Web, tmp_path: Path) -> None:
    web.download(server.put("/a", CONTENT, no_length=True), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == CONTENT


def test_a_download_that_only_drips_ends(server: Server, tmp_path: Path) -> None:
    web = local_web(timeout=30, retries=1, pause=0, patience=0.3)
    begun = time.monotonic()
    assert loss_of(web.download, server.put("/a", CONTENT, drip=0.02), tmp_path / "a").reason == "no answer"
    assert 0.5 < time.monotonic() - begun < 25


def test_stop_ends_the_waiting(server: Server) -> None:
    web = local_web(pause=30)
    threading.Timer(0.2, web.stop).start()
    begun = time.monotonic()
    assert loss_of(web.get, server.put("/a", b"", always=500)).reason == "no answer"
    assert time.monotonic() - begun < 20


def test_certificates_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(tmp_path / "own.pem"))
    with serving(context) as server:
        url = server.put("/a", b"secret")
        loss = loss_of(local_web(retries=3, pause=5).get, url)  # at once: nothing about it will change
        assert loss.reason == "bad certificate"
        assert server.count("/a") == 0
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))
        assert local_web().get(url) == b"secret"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "240.0.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
        "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1",
    ],
)  # fmt: skip
def test_private_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "0x7f.1", "127.1"])
def test_a_private_address_is_refused_before_a_connection(server: Server, host: str) -> None:
    port = server.url.rpartition(":")[2]
    loss = loss_of(Web(retries=0).get, f"http://{host}:{port}/a")
    assert loss.reason in ("private address", "no answer", "bad address")
    assert not server.requests


def test_a_redirect_to_a_private_address_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = server.put("/inner", b"secret")
    outer = server.put("/outer", b"", redirect=inner)
    web = Web(retries=0)
    checks = []

    def first_is_public(address: str) -> bool:  # the server of the tests, as if it were elsewhere
        checks.append(address)
        return len(checks) == 1

    monkeypatch.setattr("mascot.bench.prepare.addresses.is_public", first_is_public)
    server.manners["/outer"].headers["Connection"] = "close"
    assert loss_of(web.get, outer).reason == "private address"
    assert server.count("/outer") == 1
    assert server.count("/inner") == 0


def test_the_address_that_was_checked_is_the_one_that_is_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that answers differently the second time changes nothing."""
    import socket

    answers = iter(["93.184.216.34", "127.0.0.1"])
    connections = []

    def resolve(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), 0))]

    def connect(address: tuple[str, int], *_: object) -> socket.socket:
        connections.append(address[0])
        raise OSError("refused")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr("mascot.bench.prepare.addresses.create_connection", connect)
    assert loss_of(Web(retries=0).get, "http://rebinding.example/").reason == "no answer"
    assert connections == ["93.184.216.34"]
    assert loss_of(Web(retries=0).get, "http://rebinding.example/").reason == "private address"
    assert connections == ["93.184.216.34"]


def test_a_password_file_is_not_read(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    local_web().get(server.put("/a", b"x", headers={"Set-Cookie": "a=b"}))
    local_web().get(server.put("/a", b"x"))
    assert not {"Authorization", "Cookie"} & set(server.requests[0].headers) | set(server.requests[1].headers) & {
        "Cookie"
    }


def test_a_proxy_of_the_environment_is_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.setenv("no_proxy", "")
    server.put("http://93.184.216.34/a", b"through the proxy")
    assert Web(retries=0).get("http://93.184.216.34/a") == b"through the proxy"
    assert loss_of(Web(retries=0).get, "http://10.0.0.1/a").reason == "private address"


def _certificate(path: Path) -> Path:
    """A certificate for this machine that nobody has signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    return path
