"""Requests to the command line and to the service over the sample library, and their answers."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HITS: dict[str, Any] = {
    "ids": list("abcdefgh"), "scores": [0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4],
    "columns": {
        "seller": ["x", "x", "x", "y", "z", "y", "z", "w"], "hour": [18, 18.5, 9, 23, 3, 18, 12, 6],
        "lat": [0, 0, 50, 50, 10, 48, 48.2, 20], "lon": [0, 0, 0, 0, 20, 16, 16.4, 30],
    },
}  # fmt: skip
PROFILES = {
    "home": {"wishes": [{"limit": "seller", "n": 2}, {"focus": {"kind": "Place"}, "within": 50}], "k": 4,
             "allow": ["k", "near.place"]},
    "trial": {"k": 3, "variants": {"control": {"weight": 3}, "strict": {"wishes": [{"limit": "seller", "n": 1}]}}},
}  # fmt: skip
SEARCHES: list[dict[str, Any]] = [
    {"text": "sunset over water"},
    {"text": "sunset over water", "wishes": [{"spread": "place"}]},
    {"text": "boats", "wishes": [{"focus": "place", "near": "Lisbon"}]},
    {"text": "boats", "wishes": [{"focus": "hour", "near": "18"}], "strength": 0.8},
    {"text": "cat", "wishes": [{"spread": "city"}, {"limit": "camera", "n": 3}]},
    {"text": "food", "country": "Portugal"},
    {"text": "food", "since": "2019", "until": "2020", "wishes": [{"spread": "month"}]},
    {"text": " ", "k": 12},
    {"text": "", "wishes": [{"spread": "year"}], "k": 9},
    {"text": "old harbour", "wishes": [{"spread": "look"}]},
    {"text": "horse", "wishes": [{"share": "country", "shares": {"Portugal": 0.5}}]},
    {"text": "bird", "protect": 3, "order": "relevance", "wishes": [{"focus": "camera"}]},
    {"sentence": "boats in Portugal, one per year"},
    {"sentence": "sunsets at dusk, not in 2019"},
    {"sentence": "Essen in Lissabon, am Abend"},
    {"sentence": "cats with at least 4 stars"},
    {"sentence": "the ten best photos of Norway"},
]
RERANKS: list[dict[str, Any]] = [
    {"wishes": [{"spread": "seller"}], "k": 4},
    {"wishes": [{"limit": "seller", "n": 1, "window": 2}], "k": 6, "explain": True},
    {"profile": "home", "near": {"place": [48.2, 16.4]}},
    {"profile": "home", "k": 2},
    {"profile": "trial", "key": "user-7"},
    {"profile": "trial", "variant": "strict", "explain": True},
]
ROUTES = ["/api/library", "/api/trips", "/api/profiles"]
COMMANDS: list[list[str]] = [
    ["search", "sunset over water", "-k", "8", "--spread", "place", "--explain"],
    ["search", "boats in the harbour", "-k", "8", "--spread", "country", "--limit", "camera=2"],
    ["search", "old town", "-k", "8", "--focus", "place=Lisbon", "--strength", "0.7"],
    ["search", "sunset", "-k", "8", "--focus", "hour=20~1"],
    ["search", "-k", "8", "--since", "2021", "--spread", "month"],
    ["search", "food in Portugal, one per day", "-k", "8"],
    ["search", "cat", "-k", "5", "--where", "country = 'PT' or country = 'GR'"],
    ["search", "boats", "-k", "6", "--filter", "season=summer", "--order", "date"],
    ["search", "dog", "-k", "6", "--keep", "0.9", "--spread", "city"],
    ["search", "-k", "6", "--like", "17"],
    ["search", "horse", "-k", "6", "--method", "mmr", "--spread", "place"],
    ["best", "-k", "10"],
    ["best", "2019", "-k", "8"],
    ["best", "Portugal", "-k", "8"],
]  # fmt: skip
_VOLATILE = {"took_ms", "similar", "version", "id", "size", "photo", "root", "score"}
_ROW = {"rank", "was", "relevance", "gains", "because", "left_out"}  # of a result, apart from its photograph


def answers(folder: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield the kind, the request and the answer of each request. `folder` holds the sample library between runs."""
    library, rules = folder / "trips", folder / "rules"
    if not library.exists():
        _run("sample", str(library))
        _run("index", str(library), "--encoder", "lite")
    rules.mkdir(exist_ok=True)
    for name, profile in PROFILES.items():
        (rules / f"{name}.json").write_text(json.dumps(profile), encoding="utf-8")
    for command in COMMANDS:
        lines = _run(*command, "--library", str(library), "--format", "jsonl").splitlines()
        yield f"mascot {command[0]}", " ".join(command), [plain(json.loads(line)) for line in lines]
    service = subprocess.Popen(
        [sys.executable, "-m", "mascot", "serve", "--port", "0", "--library", str(library), "--profiles", str(rules)],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert service.stderr is not None
        line = next(line for line in service.stderr if "http://" in line)
        address = line.split("http://")[1].split("/")[0].split(" ")[0]
        for body in SEARCHES:
            kind = "sentence" if "sentence" in body else "/api/search"
            yield kind, json.dumps(body), plain(_ask(address, "/api/search", {"k": 8} | body))
        for body in RERANKS:
            yield "/api/rerank", json.dumps(body), plain(_ask(address, "/api/rerank", HITS | body))
        for route in ROUTES:
            yield route, "", plain(_ask(address, route))
    finally:
        service.terminate()
        service.communicate()


def plain(answer: Any) -> Any:
    """Return an answer without times and addresses, with rounded numbers, and with files instead of photographs."""
    if isinstance(answer, dict) and "path" in answer:
        row = {name: plain(answer[name]) for name in sorted(_ROW & answer.keys())}
        return {"file": _file(answer["path"])} | row if row else _file(answer["path"])
    if isinstance(answer, dict):
        photo = {"file": _file(answer["photo"]["path"])} if isinstance(answer.get("photo"), dict) else {}
        return photo | {name: plain(value) for name, value in answer.items() if name not in _VOLATILE}
    if isinstance(answer, list):
        return [plain(value) for value in answer]
    return round(answer, 4) if isinstance(answer, float) else answer


def _file(path: str) -> str:
    """Return the name of a file in its folder."""
    return "/".join(path.split("/")[-2:])


def _run(*arguments: str) -> str:
    """Run a command of `mascot` and return what it prints."""
    call = [sys.executable, "-m", "mascot", *arguments]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout


def _ask(address: str, route: str, body: Any = None) -> Any:
    """Return the answer of the service, also if it is an error."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{address}{route}", data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        return {"status": error.code} | json.load(error)
