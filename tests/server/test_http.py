"""Every route of the API, asked over HTTP of a real server process."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import shutil
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from jpegs import write_jpeg
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families
from serving import Served, mascot, served

import mascot as mc
from mascot.photos import Library

OWN = {
    "ids": ["a", "b", "c"],
    "scores": [0.9, 0.8, 0.7],
    "columns": {"camera": ["X100", "X100", "Pixel"]},
    "wishes": [{"attribute": {"kind": "Category", "column": "camera"}, "direction": "spread"}],
    "method": {"kind": "Mascot", "protect": 1},
    "k": 2,
}


def _ids(answer: httpx.Response) -> list[int]:
    assert answer.status_code == 200, answer.text
    return [result["photo"]["id"] for result in answer.json()["results"]]


def _search(client: httpx.Client, **asked: Any) -> httpx.Response:
    return client.post("/api/search", json={"text": "sunset over water"} | asked)


def _message(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"kind", "message"}
    return str(error["message"])


def _numbered(client: httpx.Client, path: str) -> int:
    """The id of the photograph of this path."""
    every = client.post("/api/search", json={"text": "anything", "k": 50}).json()["results"]
    return int(next(result["photo"]["id"] for result in every if result["photo"]["path"] == path))


# Searching


def test_search_is_the_library_s_own_answer(client: httpx.Client, photographs: Path) -> None:
    wishes = [{"name": "place", "direction": "spread"}, {"name": "hour", "direction": "focus", "near": "18"}]
    told = _search(client, wishes=wishes, k=6).json()
    with Library.open(photographs) as library:
        found = library.search("sunset over water", [library.spread("place"), library.focus("hour=18")], k=6)
    assert [result["photo"]["path"] for result in told["results"]] == [photo.path for photo in found.photos]
    assert [result["was"] for result in told["results"]] == [result.was for result in found]
    assert [photo["path"] for photo in told["plain"]] == [photo.path for photo in found.plain]
    assert told["results"][0]["gains"] == pytest.approx(found.results[0].gains)
    assert told["query"] == "sunset over water"
    assert told["candidates"] == 32
    assert 0 < told["kept"] <= 1
    assert len(told["left_out"]) == 3
    assert set(told["took_ms"]) == {"retrieval", "steering"}


def test_without_words_all_are_as_good_and_the_newest_come_first(client: httpx.Client, photographs: Path) -> None:
    wishes = [{"name": "month", "direction": "spread"}]
    with Library.open(photographs) as library:
        found = library.search(None, [library.spread("month")], k=5, where="taken > '2019'")
    for words in ({}, {"text": ""}, {"text": " "}):
        told = client.post("/api/search", json={"wishes": wishes, "k": 5, "where": "taken > '2019'"} | words).json()
        assert [result["photo"]["path"] for result in told["results"]] == [photo.path for photo in found.photos]
        assert told["newest_of"] == found.hits.newest_of == told["candidates"]
    few = client.post("/api/search", json={"candidates": 3, "k": 2}).json()
    assert (few["candidates"], few["newest_of"], few["kept"]) == (3, 32, 1.0)
    assert _search(client).json()["newest_of"] is None


def test_spread_brings_more_places(client: httpx.Client) -> None:
    def cities(answer: httpx.Response) -> set[str]:
        return {result["photo"]["city"] for result in answer.json()["results"]}

    plain = _search(client, k=6, strength=0)
    spread = _search(client, k=6, strength=0.7, wishes=[{"name": "place", "direction": "spread"}])
    assert len(cities(spread)) > len(cities(plain))


def test_search_for_what_is_like_a_photograph_names_no_path_of_this_machine(
    client: httpx.Client, photographs: Path
) -> None:
    id_ = _numbered(client, "Tokyo/t0.jpg")
    answer = client.post("/api/search", json={"like": id_, "k": 3})
    with Library.open(photographs) as library:
        found = library.search(like=photographs / "Tokyo" / "t0.jpg", k=3)
    assert _ids(answer) == [photo.id for photo in found.photos]
    assert id_ not in _ids(answer)
    assert answer.json()["query"] == "like Tokyo/t0.jpg"
    assert str(photographs) not in answer.text


def test_every_method_and_option_answers(client: httpx.Client) -> None:
    wishes = [{"name": "place", "direction": "spread", "weight": 2}]
    for method in ("mascot", "paper", "mmr", "kdpp", "msdpp", "clustering", "relevance"):
        assert len(_ids(_search(client, method=method, strength=0.5, wishes=wishes, k=4))) == 4, method
    assert _search(client, keep=0.9, wishes=wishes).json()["kept"] >= 0.9 - 1e-9
    assert len(_ids(_search(client, protect=5, order="selection", missing="drop", wishes=wishes, k=4))) == 4
    assert _search(client, where="country = 'JP'", k=30).json()["candidates"] == 6
    assert _search(client, where="country = 'XX'").json()["results"] == []
    assert len(_ids(_search(client, k=9, candidates=2))) == 9, "no fewer candidates than results"


def test_failures_have_the_texts_of_the_library(client: httpx.Client, photographs: Path) -> None:
    with Library.open(photographs) as library:
        for asked, ask in (
            ({"wishes": [{"name": "plaice", "direction": "spread"}]}, lambda: library.spread("plaice")),
            ({"wishes": [{"name": "hour", "direction": "focus", "near": "77"}]}, lambda: library.focus("hour=77")),
            (
                {"wishes": [{"name": "camera", "direction": "focus", "near": "Box"}]},
                lambda: library.focus("camera=Box"),
            ),
            ({"like": 1}, lambda: library.hits("sunset over water", like=photographs / "plain0.jpg")),
            ({"where": "nonsense here"}, lambda: library.hits("a", where="nonsense here")),
            ({"keep": 0.9, "strength": 0.1}, lambda: mc.Mascot(keep=0.9, strength=0.1)),
        ):
            with pytest.raises(mc.MascotError) as known:
                ask()
            answer = _search(client, **asked)
            assert _message(answer, 400) == str(known.value)
            assert answer.json()["error"]["kind"] == type(known.value).__name__
    assert _message(client.post("/api/search", json={"like": 999}), 400) == "the library holds no photograph 999"


def test_limits_are_told(client: httpx.Client) -> None:
    for query in ({"k": 201}, {"k": 0}, {"candidates": 5001}, {"text": "x" * 1001}, {"where": "1" * 2001},
                  {"wishes": [{"name": "place", "direction": "spread"}] * 13}, {"strength": 1.5}, {"protect": -1},
                  {"wishes": [{"name": "place", "direction": "spread", "weight": 0}]}):  # fmt: skip
        assert _message(_search(client, **query), 422).startswith(next(iter(query))), query


# Whatever is sent


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"null", b"[]", b'"x"', b"\xff\xfe", b"\x00", b"[" * 100_000, b'{"text":' * 5000, b'{"text": 1}',
        b'{"text": "a", "k": "20"}', b'{"text": "a", "k": 1e400}', b'{"text": "a", "k": NaN}',
        b'{"text": "a", "k": ' + b"9" * 5000 + b"}", b'{"text": "a", "strength": Infinity}',
        b'{"text": "a", "nonsense": 1}', b'{"text": "a", "wishes": {}}', b'{"text": "a", "like": -1}',
        b'{"text": "\\ud800"}', b'{"text": "a", "where": "\\ud800"}', b'{"text": "a", "where": "\\u0000"}',
        b'{"\\ud800": 1}', b'{"text": "a", "wishes": [{"name": "\\ud800", "direction": "focus"}]}',
        b'{"text": "a", "wishes": [{"name": "place", "direction": "focus", "near": "\\ud800"}]}',
        b'{"text": "a", "wishes": [{"name": "place", "direction": "spread", "near": "\\ud83d"}]}',
        b'{"text": "a", "wishes": [{"name": "place\\u0000", "direction": "focus"}]}',
        b'{"text": "a", "wishes": [{"name": "camera", "direction": "focus", "near": "\\u0000"}]}',
        b'{"text": "a", "wishes": [{"name": "place", "direction": "focus", "near": "1e999,nan"}]}',
        b'{"text": "a", "wishes": [{"name": "size", "direction": "focus", "near": "1e999"}]}',
        b'{"text": "a", "wishes": [{"name": "hour", "direction": "focus", "near": "nan"}]}',
        b'{"text": "a", "wishes": [{"name": "date", "direction": "focus", "near": "9999-99"}]}',
        b'{"text": "a", "wishes": [{"name": "weekday", "direction": "focus", "near": "*"}]}',
    ],
)  # fmt: skip
def test_nothing_that_is_sent_breaks_the_server(client: httpx.Client, body: bytes) -> None:
    for path in ("/api/search", "/api/rerank"):
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert 400 <= answer.status_code < 500, answer.text
        assert answer.json()["error"]["message"]


def test_letters_of_all_kinds_are_searched_for(client: httpx.Client) -> None:
    for text in ("夕焼け", "🌇", "a\u0000b", "\u202eabc", "e\u0301" * 200, "'; DROP TABLE photos; --"):
        answer = _search(client, text=text, k=3)
        assert len(_ids(answer)) == 3
        assert answer.json()["query"] == text


@pytest.mark.parametrize(
    "where",
    [
        "1) OR (1", "1; DROP TABLE photos", "id IN (SELECT photo FROM vectors)", "(SELECT value FROM facts)",
        "load_extension('x')", "1 UNION SELECT 1", "writefile('/tmp/x', 'y')", "readfile('/etc/passwd')",
        "EXISTS (SELECT 1 FROM sqlite_master)", "ATTACH DATABASE '/tmp/x' AS y", "1 -- comment", "1 /*", "'unclosed",
        "id = ?", "id = :name", "randomblob(1000000000)", "zeroblob(1000000000)", "printf('%.*c', 100000000, 'x')",
        "pragma_database_list", "(" * 1500, "1" + " OR 1" * 90, "1" + " OR 1" * 390, "",
    ],
)  # fmt: skip
def test_a_filter_reads_photographs_and_nothing_else(client: httpx.Client, where: str) -> None:
    answer = _search(client, where=where, k=1)
    if where in ("1 -- comment", "1) OR (1", "1" + " OR 1" * 90):
        assert answer.status_code == 200
    else:
        assert _message(answer, 400).startswith("where: ")


def test_only_json_is_taken(client: httpx.Client) -> None:
    body = json.dumps({"text": "sunset"}).encode()
    told = client.post("/api/search", content=b"{", headers={"content-type": "application/json"})
    assert _message(told, 422) == "the request must be JSON in UTF-8: Input data was truncated"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json",
                 "application/x/y+json", "application/jsonp", "text/json", "application/json, text/plain"):  # fmt: skip
        told = client.post("/api/search", content=body, headers={"content-type": kind})
        assert _message(told, 415) == f"send content-type: application/json, got {kind}"
        assert told.json()["error"]["kind"] == "UnsupportedMediaType"
    assert _message(client.post("/api/search", content=body), 415).endswith("application/json, got none")
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/vnd.photos+json"):
        assert client.post("/api/search", content=body, headers={"content-type": kind}).status_code == 200, kind
    assert client.get("/api/search").status_code == 405
    assert client.delete("/api/photos/1").json()["error"]["kind"] == "MethodNotAllowed"


def test_oversized_requests_are_refused(client: httpx.Client) -> None:
    large = b'{"text": "' + b"x" * (17 * 1024 * 1024) + b'"}'
    told = client.post("/api/search", content=large, headers={"content-type": "application/json"})
    assert _message(told, 413) == "a request must be at most 16777216 bytes"

    def parts() -> Any:  # no length is told: it is counted
        for start in range(0, len(large), 1 << 20):
            yield large[start : start + (1 << 20)]

    for path in ("/api/search", "/api/rerank"):
        told = client.post(path, content=parts(), headers={"content-type": "application/json"})
        assert _message(told, 413) == "a request must be at most 16777216 bytes"
    assert client.post("/api/photos/1", content=parts()).status_code == 405
    assert client.get("/healthz").status_code == 200


# Photographs


def test_photographs_are_known_by_number(client: httpx.Client) -> None:
    id_ = _numbered(client, "Tokyo/t1.jpg")
    told = client.get(f"/api/photos/{id_}").json()
    assert (told["path"], told["city"], told["camera"]) == ("Tokyo/t1.jpg", "Tokyo", "Pixel 5")
    assert "hash" not in told
    thumb = client.get(f"/api/photos/{id_}/thumb")
    assert Image.open(io.BytesIO(thumb.content)).size == (48, 32)
    assert thumb.headers["content-type"] == "image/jpeg"
    for path in ("999", "999/thumb", "999/image"):
        assert _message(client.get(f"/api/photos/{path}"), 404) == "the library holds no photograph 999"
    for wrong in ("0", "-1", "1.5", "abc", "9007199254740993", "1" * 400, "%00", "NaN", "1%20OR%201", "%ff"):
        for path in (wrong, f"{wrong}/thumb", f"{wrong}/image"):
            assert client.get(f"/api/photos/{path}").status_code == 422, path


def test_a_photograph_is_sent_as_it_is(client: httpx.Client, photographs: Path) -> None:
    id_ = _numbered(client, "Lisbon/burst 3.jpg")
    whole = client.get(f"/api/photos/{id_}/image")
    assert whole.content == (photographs / "Lisbon" / "burst 3.jpg").read_bytes()
    assert whole.headers["content-type"] == "image/jpeg"
    part = client.get(f"/api/photos/{id_}/image", headers={"range": "bytes=2-5"})
    assert (part.status_code, part.content) == (206, whole.content[2:6])
    beyond = client.get(f"/api/photos/{id_}/image", headers={"range": "bytes=999999-"})
    assert _message(beyond, 416) == "the file has no such part: 'bytes=999999-'"
    assert beyond.headers["content-range"] == f"bytes */{len(whole.content)}"
    for nonsense in ("bytes=abc", "bytes=5-2"):
        told = client.get(f"/api/photos/{id_}/image", headers={"range": nonsense})
        assert _message(told, 416) == f"the file has no such part: {nonsense!r}"
        assert told.headers["content-range"] == f"bytes */{len(whole.content)}"
    for unknown in ("furlongs=1-2", "lines=1-2", "nonsense", "=", ""):  # as RFC 9110 wants it
        told = client.get(f"/api/photos/{id_}/image", headers={"range": unknown})
        assert (told.status_code, told.content) == (200, whole.content), unknown
        assert "content-range" not in told.headers
    part = client.get(f"/api/photos/{id_}/image", headers={"range": "Bytes=2-5"})
    assert (part.status_code, part.content) == (206, whole.content[2:6])


def test_a_browser_keeps_what_it_has(client: httpx.Client) -> None:
    for path in ("thumb", "image"):
        first = client.get(f"/api/photos/1/{path}")
        tag = first.headers["etag"]
        assert first.headers["cache-control"] == "private, no-cache", "another library may have this number tomorrow"
        for held in (tag, f'"other", W/{tag}', "*"):
            again = client.get(f"/api/photos/1/{path}", headers={"if-none-match": held})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert client.get(f"/api/photos/1/{path}", headers={"if-none-match": '"other"'}).content == first.content


def test_other_formats_come_as_jpeg(client: httpx.Client) -> None:
    for path, colour in (("scan.tif", (200, 20, 20)), ("phone.heic", (20, 200, 20))):
        answer = client.get(f"/api/photos/{_numbered(client, path)}/image")
        assert answer.headers["content-type"] == "image/jpeg"
        shown = Image.open(io.BytesIO(answer.content))
        assert (shown.format, shown.size) == ("JPEG", (64, 48))
        assert all(abs(a - b) < 12 for a, b in zip(shown.getpixel((30, 20)), colour, strict=True))


def test_head_is_get_without_the_body(client: httpx.Client) -> None:
    for path in ("/", "/healthz", "/api/library", "/api/photos/1", "/api/photos/1/thumb", "/api/photos/1/image",
                 "/static/index.html", "/metrics"):  # fmt: skip
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (200, b""), path
    assert client.head("/api/photos/1/image").headers["content-length"] == str(
        len(client.get("/api/photos/1/image").content)
    )
    assert client.head("/api/photos/999").status_code == 404


def test_nothing_outside_the_library_is_read(own: Path, tmp_path: Path) -> None:
    secret = write_jpeg(tmp_path / "secret.jpg", colour=(255, 0, 0))
    with served(own) as server, server.client() as client:
        linked, gone, damaged, fifo = (
            _numbered(client, path) for path in ("plain0.jpg", "plain1.jpg", "scan.tif", "plain2.jpg")
        )
        for path in ("plain0.jpg", "plain1.jpg", "plain2.jpg"):
            (own / path).unlink()
        (own / "plain0.jpg").symlink_to(secret)
        (own / "scan.tif").write_bytes(b"II*\x00 damaged")
        os.mkfifo(own / "plain2.jpg")
        assert "leads out of the library" in _message(client.get(f"/api/photos/{linked}/image"), 404)
        assert "not in the library's folder any more" in _message(client.get(f"/api/photos/{gone}/image"), 404)
        assert "'scan.tif'" in _message(client.get(f"/api/photos/{damaged}/image"), 404)
        assert client.get(f"/api/photos/{fifo}/image").status_code == 404
        for id_ in (linked, gone, damaged):  # the library's own thumbnails and vectors, made when indexing
            assert client.get(f"/api/photos/{id_}/thumb").status_code == 200
            like = _ids(client.post("/api/search", json={"like": id_, "k": 31}))
            assert sorted([*like, id_]) == list(range(1, 33))


@pytest.mark.parametrize(
    "path",
    [
        "/static/../wishes.py", "/static/%2e%2e/wishes.py", "/static/..%2fwishes.py", "/static/%2e%2e%2fwishes.py",
        "/static/....//wishes.py", "/static//etc/passwd", "/static/%00", "/static/\\..\\wishes.py",
        "/static/%5c..%5cwishes.py",
        "/static/" + "a" * 5000, "/static", "/static/", "/static/.", "/static/%c0%ae%c0%ae/wishes.py", "/../etc/passwd",
        "/%2e%2e/etc/passwd", "/etc/passwd", "/api/photos/../../etc/passwd", "/api/photos/1/../../../etc/passwd",
        "/api/photos/1/image/../../x", "/api/photos/%2e%2e%2f%2e%2e%2fetc%2fpasswd/image", "//etc/passwd",
        "/api/photos/1/image%00.jpg", "/.mascot/library.sqlite", "/api/photos/", "/docs", "/redoc",
    ],
)  # fmt: skip
def test_paths_lead_nowhere_else(server: Served, path: str) -> None:
    status, body = _raw(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert status in (307, 400, 404, 405, 422), body
    assert b"root:" not in body
    assert b"def make_app" not in body
    assert b"def wishes_of" not in body


def _raw(server: Served, request: str) -> tuple[int, bytes]:
    """Sent as it is written: clients tidy addresses up."""
    import socket

    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(request.encode("latin-1"))
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return int(answer.split(b" ", 2)[1]), answer


# The caller's own candidates


def test_own_candidates_are_reranked_as_by_the_library(client: httpx.Client) -> None:
    told = client.post("/api/rerank", json=OWN | {"explain": True, "gains": True}).json()
    found = mc.Candidates(OWN["scores"], OWN["ids"], OWN["columns"])
    ranking = mc.rerank(found, [mc.spread(mc.Category("camera"))], 2, mc.Mascot(protect=1))
    assert [result["id"] for result in told["results"]] == ranking.ids == ["a", "c"]
    assert told["results"] == json.loads(json.dumps(ranking.to_dict()["results"]))
    assert told["explanation"] == json.loads(json.dumps(ranking.explain().to_dict()))


def test_gains_and_reasons_come_only_where_they_are_asked_for(client: httpx.Client) -> None:
    plain = client.post("/api/rerank", json=OWN).json()
    assert set(plain) == {"results", "strength"}
    assert set(plain["results"][0]) == {"id", "position", "rank", "was", "score", "relevance"}
    assert "gains" in client.post("/api/rerank", json=OWN | {"gains": True}).json()["results"][0]
    assert set(client.post("/api/rerank", json=OWN | {"explain": True}).json()) == {*plain, "explanation"}


def test_every_attribute_and_method_takes_what_to_dict_writes(client: httpx.Client) -> None:
    columns = {
        "lat": [1.5, None, 30], "lon": [2, 3, -170.5], "taken": ["2019-07-14T20:15:00", None, "2020-01-01 10:00"],
        "n": [1, 2.5, None], "tags": [["a", "b"], [], "c"], "mixed": [1, "x", None],
    }  # fmt: skip
    asked = {"scores": [3, 2, 1], "columns": columns, "vectors": [[1, 0], [0, 1], [1, 1]]}
    attributes = [mc.Place(), mc.HourOfDay(), mc.DayOfYear(), mc.Weekday(), mc.Date(), mc.Number("n"),
                  mc.Cycle("n", 360.0), mc.Category("tags"), mc.Category("mixed"), mc.Clusters(2)]  # fmt: skip
    methods = [mc.Mascot(), mc.Mascot.paper(0.4), mc.Mascot(keep=0.9), mc.Mmr(), mc.KDpp(), mc.MsDpp(),
               mc.Clustering(clusters=2), mc.Relevance()]  # fmt: skip
    for attribute in attributes:
        for method in methods:
            wish = {"attribute": attribute.to_dict(), "direction": "spread"}
            answer = client.post("/api/rerank", json=asked | {"wishes": [wish], "method": method.to_dict()})
            assert answer.status_code == 200, (attribute, method, answer.text)
            candidates = mc.Candidates([3, 2, 1], None, columns, [[1, 0], [0, 1], [1, 1]])
            wanted = mc.rerank(candidates, [mc.spread(attribute)], method=method).ids
            assert [result["id"] for result in answer.json()["results"]] == wanted


def test_own_ids_and_labels_stay_what_they_are(client: httpx.Client) -> None:
    asked = {"scores": [2, 1], "ids": [2**62 + 1, "é"], "columns": {"n": [2**62 + 1, 2**62 + 2]}, "explain": True,
             "wishes": [{"attribute": {"kind": "Category", "column": "n"}, "direction": "spread"}]}  # fmt: skip
    told = client.post("/api/rerank", json=asked).json()
    assert [result["id"] for result in told["results"]] == [2**62 + 1, "é"]
    assert told["explanation"]["results"][0]["opened"]["n"] == [str(2**62 + 1)]


@pytest.mark.parametrize(
    ("change", "status", "text"),
    [
        ({"scores": []}, 422, "scores: Expected `array` of length >= 1"),
        ({"scores": [1.0] * 5001}, 422, "scores: Expected `array` of length <= 5000"),
        ({"k": 201}, 422, "k: Expected `int` <= 200"),
        ({"ids": ["a"]}, 400, "Candidates.ids must have 3 entries like the candidates, got 1"),
        ({"columns": {}}, 400, "Category needs column 'camera', got columns: none"),
        ({"columns": {"camera": ["x"]}}, 400, "Candidates.columns['camera'] must have 3 values like scores, got 1"),
        ({"vectors": [[1], [1, 2], [3]]}, 400, "vectors must all have the same length"),
        ({"vectors": [[1], [2]]}, 400, "Candidates.vectors must be 3 x D like scores, got 2 x 1"),
        ({"method": {"kind": "Mascot", "strength": 2}}, 422, "method.strength: Expected `float` <= 1.0"),
        ({"method": {"kind": "Mascot", "strength": 0.1, "keep": 0.5}}, 400, "Mascot.keep searches for the strength"),
        ({"method": {"kind": "MsDpp", "normalize": "tn"}, "scores": [-1, 0, 1]}, 400, "MsDpp.normalize takes"),
        ({"method": {"kind": "Wish"}}, 422, "method.kind: Invalid value 'Wish'"),
        ({"method": {"kind": "Mascot", "scale": [1]}}, 422, "method.scale: Expected `bool`"),
        ({"wishes": [{"spread": {"kind": "os.system"}}]}, 422, "wishes[0].spread.kind: Invalid value"),
        ({"wishes": [{"spread": "camera", "focus": "camera"}]}, 422, "wishes[0] must have exactly one of spread,"),
        ({"wishes": [{}]}, 422, "wishes[0] must have exactly one of spread,"),
        ({"wishes": [{"spread": "camera", "near": 1}]}, 422, "wishes[0]: Object contains unknown field `near`"),
        ({"strength": 0.5, "method": {"kind": "Relevance"}}, 400, "strength is not a parameter of Relevance"),
        ({"explain": "perhaps"}, 422, "explain: Expected `bool`"),
    ],
)  # fmt: skip
def test_mistakes_in_own_candidates_are_told(
    client: httpx.Client, change: dict[str, Any], status: int, text: str
) -> None:
    assert _message(client.post("/api/rerank", json=OWN | change), status).startswith(text)


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        ({"kind": "HourOfDay", "bins": 10**9}, "wishes[0].attribute.bins: Expected `int` <= 1440"),
        ({"kind": "HourOfDay", "bins": 0}, "wishes[0].attribute.bins: Expected `int` >= 1"),
        ({"kind": "Clusters", "count": 10**9}, "wishes[0].attribute.count: Expected `int` <= 200"),
        ({"kind": "Clusters", "seed": -1}, "wishes[0].attribute.seed: "),
        ({"kind": "Clusters", "seed": 10**30}, "wishes[0].attribute.seed: "),
        ({"kind": "Number", "column": "n", "sigma": 1e-300}, "Number.sigma must leave at most"),
        ({"kind": "Number", "column": "n", "sigma": 0}, "wishes[0].attribute.sigma: Expected `float` >"),
        ({"kind": "Number", "column": "n", "sigma": 1e300}, "wishes[0].attribute.sigma: "),
        ({"kind": "Place", "sigma_km": 1e-300}, "wishes[0].attribute.sigma_km: "),
        ({"kind": "Place", "lat": "word", "lon": "word"}, "Place column 'word' must hold numbers"),
        ({"kind": "Place", "lat": "n", "lon": "n"}, "Place column 'n' must be a latitude"),
        ({"kind": "Cycle", "column": "n", "period": 1e-320}, "wishes[0].attribute.period: "),
        ({"kind": "Cycle", "column": "n", "period": -1}, "wishes[0].attribute.period: "),
        ({"kind": "Date", "column": "word"}, "Date column 'word' must hold times"),
        ({"kind": "Date", "column": "taken", "sigma_days": 1e-12}, "Date.sigma_days must leave at most"),
        ({"kind": "Category", "column": "x" * 10_000}, "wishes[0].attribute.column: "),
        ({"kind": "Category", "column": "word", "name": "relevance"}, None),
        ({"kind": "Grid", "cells": 10**6}, "wishes[0].attribute.cells: "),
        ({"kind": "Branches", "counts": [10**9]}, "wishes[0].attribute.counts[0]: "),
    ],
)  # fmt: skip
def test_attributes_that_would_cost_the_world_are_refused(
    client: httpx.Client, attribute: dict[str, Any], text: str | None
) -> None:
    columns = {"lat": [1, 2, 3], "lon": [1, 2, 3], "n": [0, 5, 1e6], "word": ["a", "b", "c"],
               "taken": ["2019-01-01", "2020-01-01", "2021-01-01"]}  # fmt: skip
    wish = {"attribute": attribute, "direction": "spread"}
    started = time.perf_counter()
    answer = client.post("/api/rerank", json={"scores": [3, 2, 1], "columns": columns, "wishes": [wish],
                                              "vectors": [[1], [2], [3]]})  # fmt: skip
    assert time.perf_counter() - started < 10
    if text is None:
        assert answer.status_code == 200
    else:
        assert answer.status_code in (400, 422)
        assert answer.json()["error"]["message"].startswith(text)


@pytest.mark.parametrize("near", ["25:99", "abc", "", -1e99, [91, 0], [1, 2], "nan", "12:30:61", "\u0000"])
@pytest.mark.parametrize(
    "kind", ["HourOfDay", "DayOfYear", "Weekday", "Date", "Place", "Clusters", "Number", "Category"]
)
def test_a_point_to_be_near_is_checked(client: httpx.Client, kind: str, near: Any) -> None:
    column = {"Number": {"column": "n"}, "Category": {"column": "n"}}.get(kind, {})
    columns = {"lat": [1, 2, 3], "lon": [1, 2, 3], "n": [0, 5, 1e6], "taken": ["2019-01-01", None, "2021-01-01"]}
    wish = {"attribute": {"kind": kind} | column, "direction": "focus", "near": near}
    answer = client.post("/api/rerank", json={"scores": [3, 2, 1], "columns": columns, "wishes": [wish],
                                              "vectors": [[1], [2], [3]]})  # fmt: skip
    assert answer.status_code in (200, 400), answer.text


def test_methods_that_compare_all_pairs_take_fewer(client: httpx.Client) -> None:
    asked = {"scores": [1.0] * 1001, "columns": {"c": ["a"] * 1001}}
    asked |= {"wishes": [{"attribute": {"kind": "Category", "column": "c"}, "direction": "spread"}]}
    told = _message(client.post("/api/rerank", json=asked | {"method": {"kind": "KDpp"}}), 400)
    assert told == "KDpp compares all pairs: here candidates must be at most 1000, got 1001"
    told = _message(client.post("/api/rerank", json=asked | {"method": {"kind": "MsDpp"}}), 400)
    assert told == "MsDpp compares all pairs: here candidates must be at most 500, got 1001"


def test_many_labels_are_refused_before_they_fill_the_memory(client: httpx.Client) -> None:
    labels = [[f"{row}-{label}" for label in range(20)] for row in range(5000)]
    wish = {"attribute": {"kind": "Category", "column": "tags"}, "direction": "spread"}
    asked = {"scores": [1.0] * 5000, "columns": {"tags": labels}, "wishes": [wish]}
    for method in ({"kind": "Mmr"}, {"kind": "Clustering"}, {"kind": "Mascot", "bin_weight": "query"}):
        assert "must be at most" in _message(client.post("/api/rerank", json=asked | {"method": method}), 400)
    wish["attribute"]["missing"] = "neutral"
    assert "must be at most" in _message(client.post("/api/rerank", json=asked), 400)


# Streams


def test_a_stream_answers_line_by_line(client: httpx.Client) -> None:
    lines = [json.dumps(OWN | {"k": 1 + i % 3}) for i in range(2000)]
    lines[7] = "{nonsense"
    lines[8] = json.dumps(OWN | {"columns": {}})
    lines[9] = '{"scores": [NaN], "\\ud800": 1}'
    answer = client.post("/api/rerank/stream", content="\n".join(lines) + "\n\n  \n")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    told = [json.loads(line) for line in answer.text.splitlines()]
    assert len(told) == 2000
    for i, one in enumerate(told):
        if i in (7, 8, 9):
            assert one["error"]["message"]
        else:
            assert len(one["results"]) == 1 + i % 3
    assert told[8]["error"] == {
        "kind": "InputError", "message": "Category needs column 'camera', got columns: none"
    }  # fmt: skip


def test_answers_of_a_stream_come_before_the_request_has_ended(server: Served) -> None:
    import socket

    line = json.dumps(OWN).encode() + b"\n"
    with socket.create_connection(("127.0.0.1", server.port), 20) as connection:
        head = "POST /api/rerank/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        answer = b""
        for count in range(1, 4):
            connection.sendall(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            while answer.count(b'"results"') < count:  # the next line is sent only once this one is answered
                part = connection.recv(65536)
                assert part
                answer += part
        connection.sendall(b"0\r\n\r\n")
        while not answer.endswith(b"0\r\n\r\n"):
            answer += connection.recv(65536)


def test_a_stream_has_no_end_but_its_lines_do(client: httpx.Client) -> None:
    short = json.dumps(OWN).encode() + b"\n"

    def parts() -> Any:
        yield short
        for _ in range(18):  # one line of 18 MiB
            yield b"x" * (1 << 20)
        yield b"\n" + short
        for _ in range(18):
            yield b" " * (1 << 20) + b"\n"
        yield short.rstrip()

    told = [json.loads(line) for line in client.post("/api/rerank/stream", content=parts()).text.splitlines()]
    assert ["error" in one for one in told] == [False, True, False, False]
    assert told[1]["error"] == {"kind": "TooLarge", "message": "a line must be at most 16777216 bytes"}


# The library, and running


def test_the_library_is_read_by_a_few_threads_that_stay(server: Served) -> None:
    """Threads that come and go would each leave a connection open, until no file can be opened any more."""

    def ask(i: int) -> int:
        with server.client() as client:
            return client.get(f"/api/photos/{1 + i % 30}/thumb").status_code

    def connections() -> int:
        folder = Path(f"/proc/{server.process.pid}/fd")
        if not folder.is_dir():
            pytest.skip("needs /proc to count open files")
        return sum(os.readlink(file).endswith("library.sqlite") for file in folder.iterdir())

    with ThreadPoolExecutor(40) as pool:
        assert set(pool.map(ask, range(200))) == {200}
    assert connections() < 20  # eight, those of the start, and some that SQLite closes later


def test_the_library_is_told(client: httpx.Client, photographs: Path) -> None:
    told = client.get("/api/library").json()
    assert told["choices"]["camera"] == {"Pixel 5": 12, "X100": 12}
    assert told["choices"]["country"] == {"PT": 12, "AU": 6, "JP": 6}
    assert told["choices"]["rating"] == {}
    assert told["photos"] == 32
    assert sum(told["hours"]) == 24
    assert told["labels"]["city"] == {"Lisbon": 12, "Sydney": 6, "Tokyo": 6}
    assert len(told["points"]) == 24
    assert "place" in told["attributes"]
    assert str(photographs) not in json.dumps(told)


def test_metrics_are_prometheus_and_know_no_photograph(client: httpx.Client) -> None:
    for path in ("/api/photos/1", "/api/photos/2/thumb", "/api/photos/999", "/nowhere/1", "/nowhere/2"):
        client.get(path)
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert families["mascot_photos"].samples[0].value == 32
    counts = {(s.labels["route"], s.labels["status"]): s.value for s in families["mascot_requests"].samples
              if s.name == "mascot_requests_total"}  # fmt: skip
    routes = {route for route, _ in counts}
    assert counts["/api/photos/{id}/thumb", "200"] >= 1
    assert counts["/api/photos/{id}", "404"] >= 1
    assert counts["other", "404"] >= 2
    assert routes <= {"/", "other", "/static", "/healthz", "/metrics", "/readyz", "/openapi.json",
                      "/api/search", "/api/library",
                      "/api/rerank", "/api/rerank/stream", "/api/photos/{id}", "/api/photos/{id}/thumb",
                      "/api/photos/{id}/image"}  # fmt: skip
    assert not any(status == "500" for _, status in counts)
    assert families["mascot_requests_running"].samples[0].value == 1
    assert families["mascot_request_seconds"].type == "histogram"


def test_examples_of_the_schema_are_answered(client: httpx.Client) -> None:
    told = client.get("/openapi.json").json()
    for name, path in (("Search", "/api/search"), ("Rerank", "/api/rerank")):
        (example,) = told["components"]["schemas"][name]["examples"]
        assert client.post(path, json=example).status_code == 200
    for path, methods in told["paths"].items():
        for method in methods.values():
            assert method["responses"]["200"], path
            assert method.get("description"), path


def test_new_photographs_are_found_while_serving(own: Path, tmp_path: Path) -> None:
    elsewhere = write_jpeg(tmp_path / "drive" / "there.jpg", "Behind a link", colour=(9, 9, 90))
    with served(own) as server, server.client() as client:
        edited = _numbered(client, "plain0.jpg")
        tag = client.get(f"/api/photos/{edited}/thumb").headers["etag"]
        (own / "link.jpg").symlink_to(elsewhere)
        write_jpeg(own / "plain0.jpg", colour=(250, 250, 0))
        assert client.get("/api/library").json()["photos"] == 32
        before = _ids(_search(client, k=200))
        write_jpeg(own / "Paris" / "new.jpg", "Sunset over the water", "Paris", "2022-05-05T20:00:00")
        done = mascot("index", str(own), "--follow-links", state=own.parent / "state")
        assert done.returncode == 0, done.stderr
        after = _search(client, k=200)
        assert len(_ids(after)) == len(before) + 2
        assert "Paris/new.jpg" in after.text
        assert client.get("/api/library").json()["photos"] == 34
        assert "mascot_photos 34.0" in client.get("/metrics").text
        assert client.get(f"/api/photos/{edited}/thumb", headers={"if-none-match": tag}).status_code == 200
        linked = _numbered(client, "link.jpg")
        assert client.get(f"/api/photos/{linked}/image").content == elsewhere.read_bytes()
        assert linked not in _ids(client.post("/api/search", json={"like": linked, "k": 200}))
        elsewhere.write_bytes((own / "plain1.jpg").read_bytes())
        assert "that was not indexed" in _message(client.get(f"/api/photos/{linked}/image"), 404)


def test_a_library_that_vanishes_is_told_and_a_new_one_is_taken(own: Path, photographs: Path) -> None:
    with served(own) as server, server.client() as client:
        before = _search(client, k=200)
        shutil.rmtree(own / ".mascot")
        for _ in range(10):  # several threads, each with a connection of its own or none yet
            assert "is its folder still there?" in _message(_search(client, k=200), 503)
            for path in ("/readyz", "/metrics", "/api/library", "/api/photos/1", "/api/photos/1/thumb"):
                assert client.get(path).json()["error"]["kind"] == "LibraryError"
            assert client.get("/healthz").status_code == 200, "the process is alive"
        assert not (own / ".mascot").exists()
        shutil.copytree(photographs / ".mascot", own / ".mascot")  # with the same count of changes
        with closing(sqlite3.connect(own / ".mascot" / "library.sqlite")) as database, database:
            database.execute("UPDATE photos SET title = 'new' WHERE id = 1")
        assert client.get("/readyz").status_code == 200
        after = _search(client, k=200)
        assert _ids(after) == _ids(before)
        assert after.json()["results"] != before.json()["results"]
        shutil.rmtree(own)
        assert _search(client).status_code == client.get("/readyz").status_code == 503


def test_threads_answer_as_one(server: Served) -> None:
    wishes = [{"name": "place", "direction": "spread"}, {"name": "camera", "direction": "focus"}]
    questions = [{"text": f"sunset {i % 7}", "k": 5 + i % 4, "wishes": wishes[: i % 3]} for i in range(40)]

    def ask(asked: dict[str, Any]) -> list[Any]:
        with server.client() as client:
            told = client.post("/api/search", json=asked).json()
            return [(result["photo"]["id"], result["score"], result["gains"]) for result in told["results"]]

    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(ask, questions))
    assert together == [ask(asked) for asked in questions]


def test_steering_waits_for_no_encoder(photographs: Path) -> None:
    """While a new text is being encoded, a search that was asked before is steered at once."""
    from mascot.server import models
    from mascot.server.service import Service

    with Library.open(photographs) as library:
        service = Service(library)
        asked = models.Search(text="sunset", wishes=[{"name": "place", "direction": "spread"}])
        service.search(asked)
        with service._encoding:  # as if an encoder were at work
            steered = threading.Thread(target=service.search, args=(msgspec.structs.replace(asked, strength=0.9),))
            steered.start()
            steered.join(20)
            assert not steered.is_alive()
            waiting = threading.Thread(target=service.search, args=(msgspec.structs.replace(asked, text="new"),))
            waiting.start()
            waiting.join(0.3)
            assert waiting.is_alive()
        waiting.join(20)
        assert not waiting.is_alive()


def test_no_request_writes(own: Path) -> None:
    def state() -> dict[str, Any]:
        files = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(own.rglob("*"))
                 if path.is_file() and not path.name.endswith(("-shm", "-wal"))}  # fmt: skip
        database = sqlite3.connect(f"{(own / '.mascot' / 'library.sqlite').as_uri()}?mode=ro", uri=True)
        rows = {
            table: database.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("photos", "pixels", "vectors", "facts", "skipped")
        }
        database.close()
        return {"files": files, "rows": rows}

    with served(own) as server, server.client() as client:
        _search(client)
        client.post("/api/search", json={"like": 1})  # the first search of a kind builds its index from the database
        before = state()
        for where in ("1; DELETE FROM photos", "1) ; DROP TABLE photos; --", "id = (DELETE FROM photos)"):
            _search(client, where=where)
        for method in ("PUT", "PATCH", "DELETE", "POST", "OPTIONS", "TRACE", "PROPFIND"):
            for path in ("/", "/api/photos/1", "/api/photos/1/image", "/api/library", "/static/index.html"):
                assert client.request(method, path, content=b"x").status_code in (404, 405, 422), (method, path)
        for i in range(1, 33):
            client.get(f"/api/photos/{i}/image")
        for i in range(1, 5):
            client.post("/api/search", json={"like": i})
        client.post("/api/rerank", json=OWN)
        assert state() == before
        assert server.process.poll() is None
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        if children.exists():
            assert children.read_text() == ""  # nothing was started


def test_numbers_in_answers_are_json(client: httpx.Client) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    wish = {"attribute": {"kind": "Number", "column": "n"}, "direction": "focus", "near": 1e99}
    for scores in ([1e100, -1e100, 0], [5e-324, 0, -5e-324], [1, 1, 1]):
        for n in ([1e100, -1e100, 0], [None, None, None], [1, 1, 1]):
            for method in ({"kind": "Mascot"}, {"kind": "KDpp"}, {"kind": "MsDpp"}, {"kind": "Mmr"}):
                asked = {"scores": scores, "columns": {"n": n}, "wishes": [wish], "method": method, "explain": True}
                answer = client.post("/api/rerank", json=asked)
                assert answer.status_code == 200, answer.text
                told = json.loads(answer.text, parse_constant=refuse)
                assert all(math.isfinite(result["relevance"]) for result in told["results"])


def test_what_would_take_long_is_refused_at_once(client: httpx.Client) -> None:
    hours = [float(i % 24) for i in range(5000)]
    wish = {"attribute": {"kind": "HourOfDay", "column": "h", "bins": 1440, "sigma": 100}, "direction": "spread"}
    asked = {"scores": hours, "columns": {"h": hours}}
    started = time.perf_counter()
    told = _message(client.post("/api/rerank", json=asked | {"wishes": [wish] * 2}), 400)
    assert told.startswith("candidates x bins each of them reaches must be at most 10,000,000, got 14,400,000")
    asked |= {"wishes": [wish], "method": {"kind": "Mascot", "keep": 0.9}}
    told = _message(client.post("/api/rerank", json=asked), 400)
    assert "at most 2,500,000, got 7,200,000" in told
    vectors = [[float(i % 7), float(i % 11)] * 120 for i in range(5000)]
    clusters = {"attribute": {"kind": "Clusters", "count": 200}, "direction": "spread"}
    told = _message(client.post("/api/rerank", json=asked | {"vectors": vectors, "wishes": [clusters] * 2}), 400)
    assert told.startswith("candidates x numbers of a vector x clusters must be at most 400,000,000")
    assert time.perf_counter() - started < 15


def test_the_examples_of_the_documentation_answer_what_they_say(server: Served) -> None:
    """Those that do not depend on which photographs there are."""
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    page = (Path(__file__).resolve().parents[2] / "docs" / "http.md").read_text("utf-8")
    checked = 0
    for block in re.findall(r"^```console\n(.*?)^```", page, flags=re.S | re.M):
        for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
            # A command may have several lines; its answer begins with the first that begins with a bracket.
            lines = example.split("\n")
            start = next((at for at, line in enumerate(lines) if line[:1] in ("{", "[")), len(lines))
            command, shown = "\n".join(lines[:start]), "\n".join(lines[start:])
            if "/api/rerank" in command or '"k": 1000' in command:
                command = command.replace("localhost:8765", f"localhost:{server.port}")
                done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=30)
                assert done.stdout.strip() == shown.strip(), command
                checked += 1
    assert checked == 5
