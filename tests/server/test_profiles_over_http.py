"""Profiles of the service: requests that name them, files that change, and files that are broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mascot.profiles import profile_of
from mascot.server.rerank.profile_store import ProfileStore
from tests.retelling import wait_for
from tests.server.serving import Served, hosted, message, result_ids, served

HITS: dict[str, Any] = {
    "ids": ["a", "b", "c", "d"], "scores": [0.9, 0.8, 0.7, 0.6],
    "columns": {"seller": ["x", "x", "y", "z"], "lat": [0, 0, 50, 50], "lon": [0, 0, 0, 0]},
}  # fmt: skip
ONE_EACH = {"limit": "seller", "n": 1}
PLACE = {"focus": {"kind": "Place"}, "within": 100}
HOME = {"wishes": [ONE_EACH, PLACE], "k": 2, "protect": 0, "allow": ["k", "near.place", "wishes"],
        "description": "The home page"}  # fmt: skip
TRIAL = {"k": 2, "variants": {"control": {"weight": 3}, "strict": {"wishes": [ONE_EACH]}}}


def write(path: Path, data: Any) -> None:
    """Replace a file at once, as deployments do."""
    path.with_suffix(".new").write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    os.replace(path.with_suffix(".new"), path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "home.json", HOME)
    write(tmp_path / "trial.json", TRIAL)
    return tmp_path


@pytest.fixture
def running(folder: Path) -> Iterator[Served]:
    with hosted(profiles=str(folder)) as server:
        yield server


@pytest.fixture
def service(running: Served) -> Iterator[httpx.Client]:
    with running.client() as client:
        yield client


def rerank(service: httpx.Client, **request: Any) -> httpx.Response:
    return service.post("/api/rerank", json=HITS | request)


def versions(service: httpx.Client) -> dict[str, str]:
    return {profile["name"]: profile["version"] for profile in service.get("/api/profiles").json()["profiles"]}


def test_a_request_by_profile_is_the_request_spelled_out(service: httpx.Client) -> None:
    for near, focus in ([], []), ([50, 0], [PLACE | {"near": [50, 0]}]):
        by_name = rerank(service, profile="home", near={"place": near} if near else {})
        spelled = rerank(service, wishes=[ONE_EACH, *focus], k=2, protect=0)
        assert by_name.json()["results"] == spelled.json()["results"]
        assert by_name.json()["profile"] == {"name": "home", "version": profile_of("home", HOME).version}
        assert "profile" not in spelled.json()
    assert result_ids(rerank(service, profile="home", k=1, near={"place": [50, 0]}, already=["c"])) == ["d"]
    assert result_ids(rerank(service, profile="home", wishes=[{"limit": "seller", "n": 2}])) == ["a", "b"]


def test_variants_are_named_and_sticky(service: httpx.Client) -> None:
    profile = profile_of("trial", TRIAL)
    for number in range(20):
        key = f"user {number}"
        answer = rerank(service, profile="trial", key=key)
        variant = profile.assign(key)
        assert answer.json()["profile"] == {"name": "trial", "version": profile.version, "variant": variant.name}
        assert result_ids(answer) == ["a", "c" if variant.wishes else "b"]
    refusal = rerank(service, k=1, profile="trial")
    assert "'trial' does not allow k to be overridden; it allows nothing" in message(refusal, 400)
    assert result_ids(rerank(service, profile="trial", variant="strict")) == ["a", "c"]


def test_the_effect_of_each_variant_is_counted(service: httpx.Client, folder: Path) -> None:
    share = {"share": "seller", "shares": {"z": 0.5, "none": 0.5}}
    write(folder / "shared.json", {"wishes": [share], "k": 2, "protect": 0})
    wait_for(lambda: "shared" in versions(service))
    for request in ({"profile": "trial"}, {"profile": "trial", "variant": "strict"}, {"profile": "shared"}, {}):
        rerank(service, **request)
    rerank(service, profile="home", k=4)
    text = service.get("/metrics").text
    for line in [
        'results_total{profile="trial",variant="control"} 2.0',
        'results_moved_total{profile="trial",variant="control"} 0.0',
        'results_moved_total{profile="trial",variant="strict"} 1.0',
        'relevance_kept_sum{profile="trial",variant="control"} 1.0',
        'relevance_kept_count{profile="trial",variant="strict"} 1.0',
        'seconds_count{profile="shared",variant=""} 1.0',
        'shares_missed_total{profile="shared",variant=""} 1.0',
        'short_pages_total{profile="home",variant=""} 1.0',
    ]:
        assert f"mascot_profile_{line}" in text


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_the_audit_log_has_a_line_for_each_page(folder: Path, tmp_path: Path) -> None:
    path, version = tmp_path / "audit.log", profile_of("trial", TRIAL).version
    share = {"wishes": [{"share": "seller", "shares": {"none": 0.5}}], "k": 2, "pin": ["d"], "protect": 1}
    with hosted(profiles=str(folder), audit=str(path)) as server, server.client() as client:
        headers = {"x-request-id": "one", "traceparent": TRACE}
        answer = client.post("/api/rerank", json=HITS | {"profile": "trial", "variant": "strict"}, headers=headers)
        assert (answer.headers["x-request-id"], answer.headers["traceparent"]) == ("one", TRACE)
        bad = client.get("/healthz", headers={"traceparent": TRACE.upper()})
        assert "traceparent" not in bad.headers
        client.post("/api/rerank", json=HITS | share, headers={"x-request-id": "two"})
        rerank(client, profile="none")
    first, second = map(json.loads, path.read_text().splitlines())
    assert (first["request"], first["traceparent"]) == ("one", TRACE)
    assert first["profile"] == {"name": "trial", "version": version, "variant": "strict"}
    assert (first["candidates"], first["k"], first["missed"]) == (HITS["ids"], 2, [])
    assert first["results"] == [
        {"id": "a", "was": 1, "code": "protected"}, {"id": "c", "was": 3, "code": "relevance"}
    ]  # fmt: skip
    assert ("profile" in second, second["request"], second["traceparent"]) == (False, "two", "")
    assert [result["code"] for result in second["results"]] == ["pinned", "relevance"]
    (missed,) = second["missed"]
    assert missed.pop("reason") == "no candidate has it"
    assert missed == {"rule": "share seller", "value": "none", "count": 0, "target": 1, "cause": "absent"}


def test_a_sample_of_the_audit_log_depends_on_the_request_id_alone(tmp_path: Path) -> None:
    samples = []
    for name in ("first", "second"):
        with hosted(audit=str(tmp_path / name), audit_share=0.2) as server, server.client() as client:
            for number in range(100):
                client.post("/api/rerank", json=HITS, headers={"x-request-id": f"request-{number}"})
        samples.append([json.loads(line)["request"] for line in (tmp_path / name).read_text().splitlines()])
    assert samples[0] == samples[1]
    assert 10 <= len(samples[0]) <= 30


_WRITER = """
import sys
from mascot.server.rerank.audit import AuditLog
log = AuditLog("-", 1.0)
print("ready", file=sys.stderr, flush=True)
for _ in range(20):
    log.append(sys.argv[1].encode() * 200_000 + bytes([10]))
"""


@pytest.mark.skipif(os.name != "posix", reason="locks are those of POSIX")
def test_processes_do_not_mix_long_lines_in_a_pipe() -> None:
    reader, writer = os.pipe()
    commands = [[sys.executable, "-c", _WRITER, letter] for letter in "ab"]
    processes = [subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE) for command in commands]
    os.close(writer)
    for process in processes:
        assert process.stderr is not None
        assert process.stderr.readline() == b"ready\n"  # both write before anything is read
    with os.fdopen(reader) as file:
        lines = file.read().splitlines()
    assert [process.communicate()[1] for process in processes] == [b"", b""]
    assert sorted(lines) == ["a" * 200_000] * 20 + ["b" * 200_000] * 20


def test_profiles_are_listed_with_their_rules(service: httpx.Client) -> None:
    home, trial = service.get("/api/profiles").json()["profiles"]
    assert (home["name"], home["description"], home["allow"]) == ("home", "The home page", HOME["allow"])
    (rules,) = home["variants"]
    assert (rules["k"], rules["method"]["protect"], rules["wishes"]) == (2, 0, [ONE_EACH | {"fill": False}, PLACE])
    assert [(part["name"], part["weight"]) for part in trial["variants"]] == [("control", 3), ("strict", 1)]


@pytest.mark.parametrize(
    ("request_", "status", "text"),
    [
        ({"profile": "none"}, 400, "there is no profile 'none'; profiles: home, trial"),
        ({"profile": "home", "strength": 1}, 400, "profile 'home' does not allow strength to be overridden; it allows"),
        ({"profile": "home", "near": {"hour": 3}}, 400, "profile 'home' does not allow near.hour to be overridden"),
        ({"profile": "home", "variant": "b"}, 400, "profile 'home' has no variant 'b'; it has no variants"),
        ({"profile": "home", "k": 201}, 422, "k: Expected `int` <= 200"),
        ({"near": {"place": [1, 2]}}, 422, "near: is about a profile: send its name as profile"),
    ],
)
def test_mistakes_are_named(service: httpx.Client, request_: dict[str, Any], status: int, text: str) -> None:
    assert message(rerank(service, **request_), status).startswith(text)


def test_a_changed_file_is_used_and_a_broken_one_is_reported(service: httpx.Client, folder: Path) -> None:
    write(folder / "home.json", HOME | {"k": 1})
    write(folder / "new.json", {"wishes": [ONE_EACH], "k": 3})
    (folder / "trial.json").unlink()
    wait_for(lambda: set(versions(service)) == {"home", "new"})
    assert result_ids(rerank(service, profile="home")) == ["a"]
    assert result_ids(rerank(service, profile="new")) == ["a", "c", "d"]
    version = versions(service)["home"]
    for broken, text in [
        ("{", "home.json: not JSON: Expecting property name"),
        ({"k": 5000}, "home.json: k must be at most 200, got 5000"),
        (
            {"wishes": [{"limit": "ad", "n": 1}, {"at_least": "ad", "counts": {"1": 3}}]},
            "home.json: limit(ad) contradicts",
        ),
    ]:
        write(folder / "home.json", broken)
        wait_for(lambda text=text: service.get("/api/profiles").json()["errors"].get("home.json", "").startswith(text))
        assert result_ids(rerank(service, profile="home")) == ["a"]
        assert versions(service)["home"] == version
    write(folder / "home.json", HOME)
    wait_for(lambda: versions(service)["home"] == profile_of("home", HOME).version)
    assert service.get("/api/profiles").json()["errors"] == {}


def test_two_files_of_one_name_and_a_missing_folder_are_errors(folder: Path) -> None:
    store = ProfileStore(str(folder))
    write(folder / "home.toml", "k = 1")
    store.reload()
    assert "home.toml must be the only file of the profile home" in store.errors["home.toml"]
    assert store.get("home").variants[0].k == 2
    (folder / "home.json").unlink()
    store.reload()
    assert (store.errors, store.get("home").variants[0].k) == ({}, 1)
    (folder / ".#home.toml").symlink_to("nobody")  # what editors leave
    (folder / "gone.json").symlink_to("nothing")
    write(folder / "home.toml", "k = 2")
    store.reload()
    assert list(store.errors) == ["gone.json"]
    assert "gone.json: cannot be read: No such file" in store.errors["gone.json"]
    assert store.get("home").variants[0].k == 2
    folder.rename(folder.with_name("moved"))
    store.reload()
    assert "cannot be read" in store.errors[folder.name]
    assert store.get("home").variants[0].k == 2


def test_limits_are_settings(tmp_path: Path) -> None:
    write(tmp_path / "long.json", {"k": 300})
    limits = {"MASCOT_MOST_RESULTS": "300", "MASCOT_MOST_CANDIDATES": "400"}
    with served(tmp_path, "--profiles", str(tmp_path), **limits) as server, server.client() as client:
        body = {"scores": [1.0] * 400, "profile": "long"}
        assert len(result_ids(client.post("/api/rerank", json=body))) == 300
        for change, text in [({"scores": [1.0] * 401}, "scores: Expected `array` of length <= 400"),
                             ({"records": [{"id": 1, "score": 1}] * 401, "scores": None}, "length <= 400"),
                             ({"profile": None, "k": 301}, "k: Expected `int` <= 300")]:  # fmt: skip
            assert text in message(client.post("/api/rerank", json=body | change), 422)


def test_the_command_refuses_a_broken_file_at_the_start(tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    write(folder / "home.json", {"variants": {"b": {"weight": 0}}})
    error = pytest.raises(RuntimeError, match=r"start: mascot: home\.json: variants\.b: weight must be > 0, got 0\n$")
    with error, served(tmp_path, "--profiles", str(folder)):
        pass
    write(folder / "home.json", HOME)
    with served(tmp_path, "--profiles", str(folder)) as server, server.client() as client:
        assert result_ids(rerank(client, profile="home")) == ["a", "c"]
