"""The same search gives the same results and reasons in Python, on the command line and over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mascot.photos import Library, SearchRequest
from mascot.photos.sample import write_sample
from tests.retelling import run_command
from tests.server.serving import Served, hosted, indexed

REQUESTS: dict[str, dict[str, Any]] = {
    "plain": {"text": "sunset over water", "k": 8},
    "spread": {"text": "boats", "wishes": [{"spread": "place", "weight": 0.5}]},
    "near an hour": {"text": "mountain", "wishes": [{"focus": "hour", "near": "18:00", "within": 1}], "k": 10},
    "limit and share": {
        "text": "the sea",
        "wishes": [{"limit": "day", "n": 2}, {"share": "country", "shares": {"Portugal": 0.5}}],
        "k": 12,
    },
    "more rules": {
        "text": "boats",
        "wishes": [
            {"limit": "month", "n": 1, "window": 4}, {"limit": "country", "n": {"Portugal": 2}, "others": 4},
            {"at_least": "country", "counts": {"Japan": 2}},
            {"share": "camera", "shares": {"X100F": 0.25}, "bound": "at most"},
        ],
        "k": 12,
    },
    "filters": {
        "text": "harbour", "since": "2015-01-01", "until": "2021-12-31", "box": [-40, -10, 65, 150], "folder": "20",
        "wishes": [{"spread": "city"}], "k": 12,
    },
    "like": {"like": 7, "wishes": [{"focus": "camera", "weight": 0.6}], "k": 9},
    "pin and reject": {"text": "boats", "pin": [3, 11], "reject": [5, 8], "wishes": [{"spread": "date"}], "k": 7},
    "no words": {"wishes": [{"spread": "month"}, {"focus": "place", "near": "Lisbon"}], "k": 12},
    "keep": {"text": "food", "wishes": [{"spread": "country"}], "keep": 0.9, "k": 12},
    "order": {"text": "food", "wishes": [{"spread": "hour"}], "order": "relevance", "protect": 3, "strength": 0.6},
    "by date": {"text": "boats", "wishes": [{"spread": "place"}], "order": "date", "pin": [3], "k": 12},
}  # fmt: skip
Answer = list[tuple[int, str]]  # ids and reasons


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    root = tmp_path_factory.mktemp("parity") / "postcards"
    write_sample(root, 150)
    with Library.open(indexed(root)) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(library: Library) -> Iterator[Served]:
    with hosted(library.root) as running:
        yield running


def _in_python(library: Library, request: dict[str, Any]) -> Answer:
    results = library.search(SearchRequest.from_dict(request))
    return [(photo.id, why.because) for photo, why in zip(results.photos, results.explain().results, strict=True)]


def _typed(wish: dict[str, Any]) -> tuple[str, str]:
    """Return a wish as the command line writes it."""
    kind, name = next(iter(wish.items()))
    if kind == "limit":
        counts = wish["n"] | {"*": wish["others"]} if "others" in wish else wish["n"]
        window = f"/{wish['window']}" if "window" in wish else ""
        return kind, f"{name}=" + (_parts(counts) if isinstance(counts, dict) else str(counts)) + window
    if kind == "at_least":
        return "at-least", f"{name}={_parts(wish['counts'])}"
    if kind == "share":
        bound = {"at most": "max", "at least": "min"}.get(wish.get("bound", ""), "")
        return kind, f"{name}={_parts({value: f'{bound}{share:.0%}' for value, share in wish['shares'].items()})}"
    near = f"={wish['near']}" if "near" in wish else ""
    within = f"~{wish['within']}" if "within" in wish else ""
    return kind, f"{name}{near}{within}" + (f"*{wish['weight']}" if "weight" in wish else "")


def _parts(numbers: dict[str, Any]) -> str:
    return ",".join(f"{value}:{number}" for value, number in numbers.items())


def _on_the_command_line(library: Library, request: dict[str, Any]) -> Answer:
    words = ["search", "--library", str(library.root), "--format", "jsonl", "--explain"]
    for name, value in request.items():
        if name == "text":
            words.append(value)
        elif name == "wishes":
            words += [word for wish in value for word in (f"--{_typed(wish)[0]}", _typed(wish)[1])]
        elif name in ("pin", "reject"):
            words += [word for id_ in value for word in (f"--{name}", str(id_))]
        elif name == "box":
            words.append(f"--box={','.join(map(str, value))}")
        else:
            words += ["-k" if name == "k" else f"--{name}", str(value)]
    done = run_command(*words)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [(row["id"], row["because"]) for row in rows if row["rank"]]


def _over_http(server: Served, request: dict[str, Any]) -> Answer:
    with server.client() as client:
        answer = client.post("/api/search", json=request).json()
        assert SearchRequest.from_dict(answer["request"]).to_dict() == answer["request"]
        again = client.post("/api/search", json=answer["request"]).json()
    assert [result["because"] for result in again["results"]] == [result["because"] for result in answer["results"]]
    return [(result["photo"]["id"], result["because"]) for result in answer["results"]]


@pytest.mark.parametrize("name", REQUESTS)
def test_python_the_command_line_and_http_agree(library: Library, server: Served, name: str) -> None:
    request = REQUESTS[name]
    expected = _in_python(library, request)
    assert len(expected) == request.get("k", 24)
    assert _on_the_command_line(library, request) == expected
    assert _over_http(server, request) == expected
