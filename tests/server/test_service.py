"""Re-ranking as a service, without a photo library: what can be said, how it is started, and its client."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from serving import Served, environment, read_answer, served

import mascot as mc
from mascot.server.client import Client, ServiceError
from mascot.server.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_S = 180.0  # on a busy machine
COLUMNS: dict[str, list[Any]] = {
    "camera": ["X100", "X100", "Pixel", None], "flash": [True, False, True, None],
    "geo": [{"lat": 38.7, "lon": -9.1}, {"lat": 59.9, "lon": 10.7}, None, {"lat": 38.7, "lon": -9.2}],
    "hour": [18, 9.5, 3, 23], "tags": [["a", 1, True], [], None, ["b"]],
}  # fmt: skip
HITS: dict[str, Any] = {"scores": [0.9, 0.8, 0.7, 0.6], "ids": ["a", "b", "c", "d"], "columns": COLUMNS}


def _ids(answer: httpx.Response) -> list[Any]:
    assert answer.status_code == 200, answer.text
    return [result["id"] for result in answer.json()["results"]]


def _message(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json()["error"]["message"])


# Without a library


def test_nothing_of_the_photographs_is_imported() -> None:
    script = """
import asyncio, json, sys
import mascot.server
async def ask():
    body = json.dumps({"scores": [2, 1], "columns": {"a": ["x", "y"]}, "wishes": [{"spread": "a"}]}).encode()
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    scope = {"type": "http", "method": "POST", "path": "/api/rerank", "headers": headers, "query_string": b""}
    parts = [{"type": "http.request", "body": body}]
    async def receive():
        return parts.pop() if parts else await asyncio.sleep(3600)
    async def send(message):
        if message["type"] == "http.response.start":
            print(message["status"])
    await mascot.server.app(scope, receive, send)
asyncio.run(ask())
names = {name.partition(".")[0] for name in sys.modules}
print(sorted(names & {"PIL", "usearch", "pillow_heif", "sqlite_utils", "fastapi", "pydantic", "torch", "pyarrow"}))
print([name for name in sys.modules if name.startswith("mascot.photos")])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines() == ["200", "[]", "[]"], done.stderr


def test_photo_routes_say_how_to_make_a_library(service: httpx.Client) -> None:
    for answer in (
        service.get("/api/library"),
        service.get("/api/photos/1"),
        service.get("/api/photos/1/thumb"),
        service.post("/api/search", json={"text": "sunset"}),
    ):
        message = _message(answer, 404)
        assert "mascot index FOLDER" in message
        assert "mascot serve --library FOLDER" in message
    assert service.get("/").status_code == 200


def test_alive_and_ready_are_two_questions(service: httpx.Client) -> None:
    assert service.get("/healthz").json() == {"status": "ok"}
    ends = time.monotonic() + _PATIENCE_S
    while service.get("/readyz").status_code == 503 and time.monotonic() < ends:
        time.sleep(0.2)  # the kernel may be compiled
    ready = service.get("/readyz").json()
    assert (ready["status"], ready["photos"]) == ("ok", None)
    assert ready["kernel"] in ("native", "numpy")


# Everything the library can say


@pytest.mark.parametrize(
    ("request_", "wishes"),
    [
        ([{"spread": "camera"}], [mc.spread(mc.Category("camera"))]),
        ([{"spread": {"kind": "Category", "column": "flash"}, "weight": 2}], [mc.spread(mc.Category("flash"), 2)]),
        ([{"focus": "flash", "near": False}], [mc.focus(mc.Category("flash"), near=False)]),
        ([{"focus": {"kind": "HourOfDay", "column": "hour"}, "near": "18:30"}],
         [mc.focus(mc.HourOfDay("hour"), near="18:30")]),
        ([{"spread": "tags"}, {"focus": "camera"}], [mc.spread(mc.Category("tags")), mc.focus(mc.Category("camera"))]),
        ([{"direction": "spread", "attribute": {"kind": "Category", "column": "camera"}}],
         [mc.spread(mc.Category("camera"))]),
    ],
)  # fmt: skip
def test_wishes_are_the_library_s_own(service: httpx.Client, request_: list[Any], wishes: list[mc.Wish]) -> None:
    columns = {name: column for name, column in COLUMNS.items() if name != "geo"}
    for options in ({"k": 2}, {"k": 3, "protect": 0}, {"strength": 0.9, "protect": 1}, {"keep": 0.8}):
        answer = service.post("/api/rerank", json=HITS | {"wishes": request_} | options)
        method = mc.Mascot(**{name: value for name, value in options.items() if name != "k"})
        ranking = mc.rerank(
            mc.Candidates(HITS["scores"], HITS["ids"], columns), wishes, int(options.get("k", 20)), method
        )
        assert _ids(answer) == ranking.ids
        assert answer.json()["strength"] == ranking.strength


def test_columns_within_objects_are_named_with_dots(service: httpx.Client) -> None:
    wish = {"spread": {"kind": "Place", "lat": "geo.lat", "lon": "geo.lon"}}
    flat = {"lat": [38.7, 59.9, None, 38.7], "lon": [-9.1, 10.7, None, -9.2]}
    wanted = mc.rerank(mc.Candidates(HITS["scores"], HITS["ids"], flat), [mc.spread(mc.Place())], 2)
    assert _ids(service.post("/api/rerank", json=HITS | {"wishes": [wish], "k": 2})) == wanted.ids
    wish["spread"]["lat"] = "geo.latitude"
    assert service.post("/api/rerank", json=HITS | {"wishes": [wish]}).status_code in (200, 400)


def test_already_shown_results_are_not_shown_again(service: httpx.Client) -> None:
    request = HITS | {"wishes": [{"spread": "camera"}], "k": 2}
    first = _ids(service.post("/api/rerank", json=request))
    second = _ids(service.post("/api/rerank", json=request | {"already": first}))
    assert sorted(first + second) == ["a", "b", "c", "d"]
    hits = mc.Candidates(HITS["scores"], HITS["ids"], {"camera": COLUMNS["camera"]})
    assert second == mc.rerank(hits, [mc.spread(mc.Category("camera"))], 2, already=first).ids


def test_branches_and_grid_are_offered(service: httpx.Client) -> None:
    vectors = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.5, 0.5]]
    for wish in ({"spread": {"kind": "Branches", "counts": [2, 3]}}, {"spread": {"kind": "Clusters", "count": 2}}):
        assert len(_ids(service.post("/api/rerank", json=HITS | {"vectors": vectors, "wishes": [wish]}))) == 4
    grid = {"spread": {"kind": "Grid", "lat": "geo.lat", "lon": "geo.lon"}}
    assert len(_ids(service.post("/api/rerank", json=HITS | {"wishes": [grid]}))) == 4
    column = HITS["columns"] | {"look": vectors}
    by_column = {"spread": {"kind": "Clusters", "count": 2, "column": "look"}}
    assert len(_ids(service.post("/api/rerank", json=HITS | {"columns": column, "wishes": [by_column]}))) == 4


def test_within_needs_a_library_that_knows_it(service: httpx.Client) -> None:
    import inspect

    wish = {"focus": {"kind": "HourOfDay", "column": "hour"}, "near": 18, "within": 2}
    answer = service.post("/api/rerank", json=HITS | {"wishes": [wish]})
    if "within" in inspect.signature(mc.focus).parameters:
        assert answer.status_code == 200, answer.text
    else:
        assert "does not know `within`" in _message(answer, 422)


# Running


def test_request_ids_are_kept_or_made(service: httpx.Client) -> None:
    own = service.get("/healthz", headers={"x-request-id": "deploy-7/a.b"})
    assert own.headers["x-request-id"] == "deploy-7/a.b"
    made = {service.get("/healthz").headers["x-request-id"] for _ in range(3)}
    assert len(made) == 3
    for bad in ("a b", "x" * 200, 'a"<'):
        assert service.get("/healthz", headers={"x-request-id": bad}).headers["x-request-id"] != bad
    assert service.get("/nowhere").headers["x-request-id"]


def test_the_dashboard_shows_metrics_that_exist(service: httpx.Client, client: httpx.Client) -> None:
    dashboard = json.loads((ROOT / "src" / "mascot" / "server" / "dashboard.json").read_text("utf-8"))
    service.post("/api/rerank", json=HITS)
    samples = {sample.name for text in (service.get("/metrics").text, client.get("/metrics").text)
               for family in text_string_to_metric_families(text) for sample in family.samples}  # fmt: skip
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    names = {name for expression in expressions for name in re.findall(r"mascot_\w+", expression)}
    assert names <= samples
    assert len(names) == 5


def test_settings_travel_through_the_environment() -> None:
    settings = Settings("photos", "t", ("a.example",), ("https://b.example",), 1.5, connections=7)
    assert Settings.from_environment(settings.to_environment()) == settings
    assert Settings.from_environment({}) == Settings()
    with pytest.raises(mc.OptionError, match="MASCOT_CONNECTIONS must be a number > 0, got 'many'"):
        Settings.from_environment({"MASCOT_CONNECTIONS": "many"})


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.mark.parametrize(
    "command",
    [
        ["uvicorn", "mascot.server:app", "--port", "PORT"],
        ["uvicorn", "--factory", "mascot.server:make_app", "--port", "PORT"],
        ["gunicorn", "mascot.server:app", "-k", "uvicorn_worker.UvicornWorker", "-b", "127.0.0.1:PORT"],
    ],
    ids=["uvicorn", "factory", "gunicorn"],
)
def test_other_servers_can_serve_the_application(command: list[str], tmp_path: Path) -> None:
    if command[0] == "gunicorn":
        pytest.importorskip("gunicorn")
        pytest.importorskip("uvicorn_worker", reason="needs pip install uvicorn-worker")
    port = _free_port()
    words = [word.replace("PORT", str(port)) for word in command]
    process = subprocess.Popen(
        [sys.executable, "-m", *words], env=environment(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        ends = time.monotonic() + _PATIENCE_S
        with Client(f"http://127.0.0.1:{port}") as client:
            while not client.ready() and time.monotonic() < ends:
                time.sleep(0.2)
            assert client.rerank([0.1, 0.9], k=1)["results"][0]["position"] == 1
    finally:
        process.terminate()
        process.wait(_PATIENCE_S)


# The client


def test_the_client_says_what_the_library_says(bare: Served) -> None:
    wishes = [mc.spread(mc.Category("camera"), 2.0), mc.focus(mc.HourOfDay("hour"), near=18)]
    columns = {"camera": COLUMNS["camera"], "hour": COLUMNS["hour"]}
    wanted = mc.rerank(mc.Candidates(HITS["scores"], HITS["ids"], columns), wishes, 3, mc.Mascot(protect=1))
    with Client(bare.address) as client:
        answer = client.rerank(HITS["scores"], wishes, 3, ids=HITS["ids"], columns=columns, method=mc.Mascot(protect=1))
        assert [result["id"] for result in answer["results"]] == wanted.ids
        assert client.ready()
        requests = [{"scores": [1, 2], "k": 1}, {"scores": []}, {"scores": [3, 2], "k": 1}]
        first, second, third = client.rerank_many(requests)
        assert first["results"][0]["position"] == 1
        assert second["error"]["kind"] == "ValidationError"
        assert third["results"][0]["position"] == 0
        with pytest.raises(ServiceError, match="no photo library") as error:
            client.search("sunset")
        assert (error.value.status, error.value.kind) == (404, "NoLibrary")
        with pytest.raises(ServiceError) as error:
            client.post("/api/rerank", {"scores": [1], "k": 0}, request_id="mine")
        assert (error.value.status, error.value.request_id) == (422, "mine")


def test_the_client_needs_nothing_but_python() -> None:
    source = (ROOT / "src" / "mascot" / "server" / "client.py").read_text("utf-8")
    nodes = list(ast.walk(ast.parse(source)))
    names = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    assert {name.partition(".")[0] for name in names} <= set(sys.stdlib_module_names)


# Several processes


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_restart_under_load_loses_no_request(tmp_path: Path) -> None:
    """Two workers are replaced, then the server is stopped, while clients keep asking on kept connections."""
    stop, wrong, counts = threading.Event(), [], [0] * 8
    body = json.dumps(HITS | {"wishes": [{"spread": "camera"}]}).encode()
    head = "POST /api/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"

    def ask(number: int, port: int) -> None:
        """Any request that was sent must be answered; only between requests may the connection be closed."""
        connection = None
        while not stop.is_set():
            try:
                if connection is None:
                    connection = socket.create_connection(("127.0.0.1", port), _PATIENCE_S)
            except OSError as error:
                wrong.append(f"connect: {error!r}")
                return
            try:
                connection.sendall(head.encode() + body)
                answer = read_answer(connection)
            except OSError as error:
                wrong.append(f"request {counts[number]}: {error!r}")
                return
            if not answer.startswith(b"HTTP/1.1 200"):
                wrong.append(f"request {counts[number]}: {answer[:80]!r}")
                return
            counts[number] += 1
            if b"connection: close" in answer.lower():
                connection.close()
                connection = None
        if connection is not None:
            connection.close()

    with served(tmp_path / "x", "--no-library", "--workers", "2") as server:
        clients = [threading.Thread(target=ask, args=(number, server.port)) for number in range(len(counts))]
        for client in clients:
            client.start()
        _wait_for(lambda: all(counts) or bool(wrong))
        workers = _children(server.process.pid)
        server.process.send_signal(signal.SIGHUP)
        _wait_for(lambda: not _children(server.process.pid) & workers)
        before = sum(counts)
        _wait_for(lambda: sum(counts) > before or bool(wrong))
        stop.set()
        for client in clients:
            client.join(_PATIENCE_S)
        with server.client() as reader:
            families = {f.name: f for f in text_string_to_metric_families(reader.get("/metrics").text)}
        total = sum(
            sample.value for sample in families["mascot_requests"].samples
            if sample.name.endswith("_total") and sample.labels["route"] == "/api/rerank"
        )  # fmt: skip
    assert wrong == []
    assert total == sum(counts), "the metrics are those of all workers, old and new"


def _wait_for(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < ends, "waited too long"
        time.sleep(0.05)


def _children(pid: int) -> set[int]:
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
