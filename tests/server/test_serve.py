"""`mascot serve` as a process: how it starts, what it refuses, how it ends; and the container."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from mascot.server.run import protocol
from tests.retelling import PATIENCE_S, run_command, wait_for
from tests.server.serving import (
    Served,
    environment,
    hosted,
    message,
    read_answer,
    read_to_end,
    result_ids,
    served,
    started,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
ROOT = Path(__file__).resolve().parents[2]
PORT = "8765"  # of the container
HALF = b"POST /api/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"
BODY = {"scores": [0.9, 0.8, 0.7], "columns": {"camera": ["X100", "X100", "Pixel"]}, "wishes": [{"spread": "camera"}]}


def _request(body: dict[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    head = "POST /api/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--host", "0.0.0.0"], "--host 0.0.0.0 can be reached from other machines: set a --token"),
        (["--token", ""], "--token must not be empty"),
        (["--cors", "https://example.org/"], "--cors must be an origin"),
        (["--library", "bare"], "mascot index"),
        (["--no-library", "--port", "PORT"], "cannot listen on 127.0.0.1 port"),
    ],
)
def test_refusals_are_one_line(
    bare: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bare").mkdir()
    words = [word.replace("PORT", str(bare.port)) for word in arguments]
    done = run_command("serve", *words, variables=environment(tmp_path))
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("mascot: ")
    assert text in line
    assert not (Path("bare") / ".mascot").exists()


def test_the_page_is_opened_where_the_server_is_and_the_token_is_not_logged(photographs: Path, tmp_path: Path) -> None:
    """--open runs the user's browser with the address, in which the token is quoted."""
    seen, browser = tmp_path / "seen", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    browser.chmod(0o755)
    variables = {"BROWSER": f"{browser} %s", "MASCOT_TOKEN": "a&b c"}
    with served(tmp_path, "--open", "--library", str(photographs), **variables) as server, server.client() as client:
        wait_for(lambda: seen.exists() and bool(seen.read_text().strip()))
        assert seen.read_text().strip() == f"{server.address}/?token=a%26b%20c"
        assert client.get("/api/library").status_code == 401
        assert client.get("/api/library", headers={"authorization": "Bearer a&b c"}).json()["photos"] == 32
        assert server.log[0] == f"mascot: {server.address}/ (Ctrl+C stops it)\n"
        assert not any("a&b c" in line for line in server.log)


def test_nothing_of_the_photographs_is_imported_without_a_library() -> None:
    script = """
import sys
from starlette.testclient import TestClient
import mascot.server
request = {"scores": [2, 1], "columns": {"a": ["x", "y"]}, "wishes": [{"spread": "a"}]}
print(TestClient(mascot.server.app, "http://localhost").post("/api/rerank", json=request).status_code)
names = {name.partition(".")[0] for name in sys.modules}
print(sorted(names & {"PIL", "pillow_heif", "sqlite_utils", "fastapi", "pydantic", "torch", "pyarrow"}))
rooms = "library", "files.images", "files.walk", "encoders", "indexing", "database.store", "search"
print([name for name in sys.modules if name.startswith(tuple(f"mascot.photos.{room}" for room in rooms))])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.stdout.splitlines() == ["200", "[]", "[]"], done.stderr


def test_without_a_library_photo_routes_say_how_to_make_one(service: httpx.Client) -> None:
    for answer in (service.post("/api/search", json={"text": "sunset"}), service.get("/api/photos/1/thumb")):
        assert "mascot index FOLDER" in message(answer, 404)
        assert "mascot serve --library FOLDER" in message(answer, 404)
    ready = service.get("/readyz").json()
    assert (ready["status"], ready["photos"]) == ("ok", None)
    assert ready["kernel"] in ("native", "numpy")


def test_other_servers_can_serve_the_application(tmp_path: Path) -> None:
    command = ["uvicorn", "mascot.server:app", "--port", "0"]
    with started(command, environment(tmp_path)) as server, server.client() as client:
        assert result_ids(client.post("/api/rerank", json={"scores": [0.1, 0.9], "k": 1})) == [1]


def test_ctrl_c_stops_it_at_once_whatever_is_under_way(tmp_path: Path) -> None:
    """Otherwise it would wait for an hour, and this test not so long."""
    rows = 5000
    work = {
        "scores": [1.0 + i / rows for i in range(rows)],
        "columns": {name: [float(i * 7 % 90) for i in range(rows)] for name in ("lat", "lon")},
        "wishes": [{"spread": {"kind": "Place", "name": str(i)}} for i in range(12)],
        "method": {"kind": "Mmr", "published": True, "keep": 0.9},
        "k": 100,
    }
    with served(tmp_path, MASCOT_GRACE_S="3600", MASCOT_BODY_TIMEOUT_S="3600") as server:
        with server.connect() as idle, server.connect() as busy:
            # A request that has not arrived, and work that takes a while.
            idle.sendall(HALF)
            busy.sendall(_request(work) * 20)  # one after the other
            with server.client() as client:
                wait_for(lambda: "mascot_requests_running 3.0" in client.get("/metrics").text)
                assert server.stop(signal.SIGINT) == 0
        assert not any("Traceback" in line for line in server.log), server.log


def test_a_draining_server_finishes_what_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_LINGER_S", PATIENCE_S)
    with hosted() as server, server.connect() as busy, server.connect() as idle:
        server.process.config.timeout_graceful_shutdown = round(PATIENCE_S)
        busy.sendall(HALF)
        with server.client() as client:
            wait_for(lambda: "mascot_requests_running 2.0" in client.get("/metrics").text)
        server.process.should_exit = True  # as SIGTERM does
        answer = b""
        while b"connection: close" not in answer.lower():  # until it has begun to stop
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")  # on a connection that was open
            answer = read_answer(idle)
            assert b"200 OK" in answer
        with pytest.raises(OSError):
            server.connect()
        busy.sendall(b'"scores": [1]}')
        assert read_to_end(busy).count(b'"results"') == 1


def test_a_restart_under_load_loses_no_request(tmp_path: Path) -> None:
    """Two workers are replaced while clients keep asking."""
    stop, errors, counts = threading.Event(), [], [0] * 4

    def ask(number: int, port: int) -> None:
        """Every request must be answered, each on a connection of its own."""
        try:
            while not stop.is_set():
                with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
                    connection.request("POST", "/api/rerank", json.dumps(BODY), {"content-type": "application/json"})
                    answer = connection.getresponse()
                    assert (answer.status, b"results" in answer.read()) == (200, True)
                    counts[number] += 1
        except (OSError, HTTPException, AssertionError) as error:
            errors.append(f"request {counts[number]}: {error!r}")

    with served(tmp_path, "--workers", "2", MASCOT_GRACE_S=str(PATIENCE_S)) as server:
        clients = [threading.Thread(target=ask, args=(number, server.port)) for number in range(len(counts))]
        for client in clients:
            client.start()
        wait_for(lambda: all(counts) or bool(errors))
        workers = _workers(server.process.pid)
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: not _workers(server.process.pid) & workers)
        before = sum(counts)
        wait_for(lambda: sum(counts) > before or bool(errors))
        stop.set()
        for client in clients:
            client.join(PATIENCE_S)
        with server.client() as reader:
            families = text_string_to_metric_families(reader.get("/metrics").text)
            samples = [sample for family in families for sample in family.samples]
    assert errors == []
    total = sum(
        sample.value for sample in samples
        if sample.name == "mascot_requests_total" and sample.labels["route"] == "/api/rerank"
    )  # fmt: skip
    assert total == sum(counts), "the metrics are those of all workers, old and new"


def test_a_crash_of_a_worker_is_logged_and_its_requests_are_not_counted_as_running(tmp_path: Path) -> None:
    half = b"POST /api/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    options = {"MASCOT_BODY_TIMEOUT_S": str(PATIENCE_S)}
    with served(tmp_path, "--workers", "2", **options) as server, server.connect() as connection:
        connection.sendall(half)
        with server.client() as reader:
            wait_for(lambda: "mascot_requests_running 2.0" in reader.get("/metrics").text)
        workers = _workers(server.process.pid)
        for pid in workers:
            os.kill(pid, signal.SIGSEGV)
        wait_for(lambda: sum("signal 11" in line for line in server.log) == 2)
        lines = [line for line in server.log if "signal 11" in line]
        assert [re.search(r"ERROR worker \d+ ", line) is not None for line in lines] == [True, True]
        wait_for(lambda: len(_workers(server.process.pid) - workers) == 2)
        with server.client() as reader:
            assert "mascot_requests_running 1.0" in reader.get("/metrics").text


def test_workers_stop_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2") as server:
        workers = _workers(server.process.pid)
        assert len(workers) == 2
        server.process.kill()
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


def _workers(pid: int) -> set[int]:
    """The worker processes: children that run the same program."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("needs /proc")
    workers = set()
    for child in path.read_text().split():
        with suppress(OSError):  # it has ended meanwhile
            if b"multiprocessing.spawn" in Path(f"/proc/{child}/cmdline").read_bytes():
                workers.add(int(child))
    return workers


# The container: the steps of the Dockerfile, run without Docker


def _instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, as name and text."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.M)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines if line.strip()]


def _all(name: str) -> list[str]:
    return [text for instruction, text in _instructions() if instruction == name]


def test_the_steps_of_the_container_give_a_service(tmp_path: Path) -> None:
    (entry,), (arguments,), (health,) = _all("ENTRYPOINT"), _all("CMD"), _all("HEALTHCHECK")
    words = [*json.loads(entry), *json.loads(arguments)]
    command = ["mascot.cli", *("0" if word == PORT else word for word in words[1:])]
    environ = environment(tmp_path, MASCOT_TOKEN="s3cret")
    environ |= dict(word.split("=", 1) for word in shlex.split(_all("ENV")[0]) if not word.startswith("PATH="))
    environ["XDG_STATE_HOME"] = str(tmp_path)
    with started(command, environ) as server:
        address = f"http://127.0.0.1:{server.port}"
        probe = [word.replace(PORT, str(server.port)) for word in json.loads(health.partition("CMD ")[2])[1:]]
        wait_for(lambda: subprocess.run([sys.executable, *probe]).returncode == 0)
        with httpx.Client(base_url=address, timeout=PATIENCE_S, trust_env=False) as client:
            answer = client.post("/api/rerank", json={"scores": [1, 2]}, headers={"authorization": "Bearer s3cret"})
            assert result_ids(answer) == [1, 0]
            assert client.post("/api/rerank", json={"scores": [1, 2]}).status_code == 401
        assert server.stop() in (0, -15)


def test_the_container_is_closed() -> None:
    assert int(*_all("USER")) > 0, "not root"
    assert "HF_HUB_OFFLINE=1" in _all("ENV")[0]
    copied = {name for text in _all("COPY") if "--from" not in text for name in text.split()[:-1]}
    assert {"pyproject.toml", "README.md", "LICENSE", "hatch_build.py", "src"} <= copied, "what a build needs"
    assert {f"!{name}" for name in copied} <= set((ROOT / ".dockerignore").read_text("utf-8").splitlines())
    yaml = pytest.importorskip("yaml", reason="needs pip install pyyaml")
    service: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["mascot"]
    assert service["environment"]["MASCOT_TOKEN"].startswith("${MASCOT_TOKEN:?")
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
