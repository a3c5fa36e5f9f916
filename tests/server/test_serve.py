"""`mascot serve` as a process: how it starts, what it refuses, how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from serving import COMMAND, Served, environment, mascot, read_answer, served

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


def _refused(done: subprocess.CompletedProcess[str]) -> str:
    """What a command that failed said, which must be one line."""
    assert done.returncode == 2, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("mascot: ")
    return lines[0]


def test_binding_elsewhere_wants_a_token(photographs: Path, tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "example.org"):
        told = _refused(mascot("serve", "--library", str(photographs), "--host", host, state=tmp_path))
        assert f"--host {host} can be reached from other machines" in told
        assert "--token" in told
    told = _refused(mascot("serve", "--library", str(photographs), "--token", "", state=tmp_path))
    assert "--token must not be empty" in told


def test_origins_are_named_one_by_one(photographs: Path, tmp_path: Path) -> None:
    for origin in ("*", "https://example.org/"):
        told = _refused(mascot("serve", "--library", str(photographs), "--cors", origin, state=tmp_path))
        assert "--cors must be an origin" in told


def test_a_library_that_is_named_must_be_there(tmp_path: Path) -> None:
    assert "there is no folder" in _refused(mascot("serve", "--library", str(tmp_path / "gone"), state=tmp_path))
    (tmp_path / "bare").mkdir()
    assert "mascot index" in _refused(mascot("serve", "--library", str(tmp_path / "bare"), state=tmp_path))
    assert not (tmp_path / "bare" / ".mascot").exists()


def test_an_empty_library_is_served_and_says_so(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    assert mascot("index", str(root), state=tmp_path).returncode == 0
    with served(root) as server, server.client() as client:
        told = client.get("/api/library").json()
        assert (told["photos"], told["points"], told["first"]) == (0, [], None)
        answer = client.post("/api/search", json={"text": "sunset"})
        assert answer.status_code == 400
        assert "holds no photographs" in answer.json()["error"]["message"]
        assert client.post("/api/search", json={"like": 1}).status_code == 400
        assert client.get("/").status_code == 200
        assert client.get("/metrics").status_code == 200


def test_a_port_in_use_is_told_in_one_line(server: Served, tmp_path: Path) -> None:
    told = _refused(mascot("serve", "--library", str(server.root), "--port", str(server.port), state=tmp_path))
    assert f"cannot listen on 127.0.0.1 port {server.port}" in told
    assert "--port" in told


def _busy(server: Served, rows: int = 200) -> socket.socket:
    """A connection with work under way that takes a second or so."""
    request = {
        "scores": [1.0 + i / rows for i in range(rows)],
        "columns": {name: [float(i * 7 % 90) for i in range(rows)] for name in ("lat", "lon")},
        "wishes": [{"spread": {"kind": "Place", "name": str(i)}} for i in range(12)],
        "method": {"kind": "MsDpp"},
    }
    body = json.dumps(request).encode()
    busy = socket.create_connection(("127.0.0.1", server.port), 60)
    busy.sendall(b"POST /api/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)  # fmt: skip
    return busy


def _wait_until_running(server: Served, count: int) -> None:
    """Wait until so many requests are being answered, without the one that asks."""
    with server.client() as client:
        while f"mascot_requests_running {count + 1}.0" not in client.get("/metrics").text:
            time.sleep(0.05)


def test_ctrl_c_stops_it_at_once_whatever_is_under_way(tmp_path: Path) -> None:
    """Otherwise it would wait for an hour, and this test not so long."""
    environ = {"MASCOT_GRACE_S": "3600", "MASCOT_BODY_TIMEOUT_S": "3600"}
    with (
        served(tmp_path / "x", "--no-library", environ=environ) as server,
        socket.create_connection(("127.0.0.1", server.port)) as idle,
    ):
        # A connection that is kept, a stream that has not ended, and work that takes a while.
        idle.sendall(b"POST /api/rerank/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        _wait_until_running(server, 1)
        with _busy(server, rows=500):
            assert server.stop(signal.SIGINT) == 0
        assert not any("Traceback" in line for line in server.said), server.said


def test_sigterm_lets_requests_under_way_finish(tmp_path: Path) -> None:
    with served(tmp_path / "x", "--no-library") as server:
        with _busy(server) as busy, socket.create_connection(("127.0.0.1", server.port), 60) as kept:
            ask = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
            server.process.send_signal(signal.SIGTERM)
            last = b""
            while b"connection: close" not in last.lower():  # it has not begun to stop
                kept.sendall(ask)  # on a connection that was open before
                last = read_answer(kept)
                assert b"200 OK" in last
            answer = b""
            while part := busy.recv(65536):
                answer += part
            assert answer.startswith(b"HTTP/1.1 200")
            with pytest.raises(OSError):
                socket.create_connection(("127.0.0.1", server.port), 5)
        assert server.process.wait(180) in (0, -signal.SIGTERM)
        assert not any("Traceback" in line for line in server.said), server.said


def test_killed_it_starts_again_on_the_same_port(own: Path) -> None:
    with served(own) as server, server.client() as client:
        before = client.post("/api/search", json={"text": "sunset", "k": 5}).json()["results"]
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
        with pytest.raises(httpx.TransportError):
            client.get("/healthz")
    with served(own, "--port", str(server.port)) as again, again.client() as client:
        assert again.port == server.port
        assert client.post("/api/search", json={"text": "sunset", "k": 5}).json()["results"] == before


def test_it_says_where_it_is_and_nothing_of_the_token(photographs: Path) -> None:
    with served(photographs, token="s3cret") as server:
        assert server.said[0] == f"mascot: {server.address}/ (Ctrl+C stops it)\n"
        assert not any("s3cret" in line for line in server.said)


def test_the_token_may_come_from_the_environment(photographs: Path) -> None:
    with served(photographs, environ={"MASCOT_TOKEN": "from outside"}) as server, server.client() as client:
        assert client.get("/api/library").status_code == 401
        client.headers["authorization"] = "Bearer from outside"
        assert client.get("/api/library").status_code == 200


def test_the_page_is_opened_where_the_server_is(photographs: Path, tmp_path: Path) -> None:
    """--open runs the user's browser with the address; the token in it is written as addresses want it."""
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    browser.chmod(0o755)
    with served(photographs, "--open", token="a&b c", environ={"BROWSER": f"{browser} %s"}) as server:
        for _ in range(1200):
            if seen.exists() and seen.read_text().strip():
                break
            time.sleep(0.05)
        assert seen.read_text().strip() == f"{server.address}/?token=a%26b%20c"


def test_ipv6_is_listened_on(photographs: Path) -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    with served(photographs, "--host", "::1") as server:
        assert server.address.startswith("http://[::1]:")
        with server.client() as client:
            assert client.get("/api/library").status_code == 200


def test_a_hundred_clients_at_once_see_no_error(server: Served) -> None:
    """A short form of `python -m benchmarks.server`."""
    done = subprocess.run(
        [COMMAND[0], "-m", "benchmarks.server", "--address", server.address, "--clients", "100", "--requests", "3"],
        env=environment(server.root.parent / "state"),
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "300 requests" in done.stdout
    assert "0 errors" in done.stdout
