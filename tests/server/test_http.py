"""Every route of the photo library, asked over HTTP."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pillow_heif
import pytest
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import FileResponse

from mascot.photos import Library, SearchRequest
from mascot.photos.files.images import Unreadable
from mascot.photos.photo import COLUMNS, Photo
from mascot.server import schemas
from mascot.server.library import pictures
from mascot.server.library.service import Service
from tests.photos.jpegs import write_jpeg
from tests.retelling import PATIENCE_S
from tests.server.serving import Served, hosted, indexed, message, read_to_end, result_ids

DOCS = Path(__file__).resolve().parents[2] / "docs"
JSON = {"content-type": "application/json"}
_PHOTO = Photo(**dict.fromkeys(COLUMNS) | {"id": 1, "width": 48, "height": 64})  # as it was indexed


def _search(client: httpx.Client, **query: Any) -> httpx.Response:
    return client.post("/api/search", json={"text": "sunset over water"} | query)


def _id_of(client: httpx.Client, path: str) -> int:
    """The id of the photograph of this path."""
    results = client.post("/api/search", json={"text": "anything", "k": 50}).json()["results"]
    return int(next(result["photo"]["id"] for result in results if result["photo"]["path"] == path))


WISHES = [{"spread": "place"}, {"focus": "hour", "near": "18"}]


def test_an_answer_has_the_values_of_the_library(client: httpx.Client, photographs: Path) -> None:
    answer = _search(client, wishes=WISHES, k=6).json()
    with Library.open(photographs) as library:
        results = library.search("sunset over water", [library.spread("place"), library.focus("hour=18")], k=6)
    assert [result["was"] for result in answer["results"]] == [result.was for result in results]
    assert [photo["path"] for photo in answer["plain"]] == [photo.path for photo in results.plain]
    assert answer["results"][0]["gains"] == pytest.approx(results.results[0].gains)
    assert (answer["query"], answer["candidates"], answer["newest_of"]) == ("sunset over water", 32, None)
    assert 0 < answer["kept"] < _search(client, k=6).json()["kept"] == 1
    assert len(answer["left_out"]) == 3
    assert set(answer["took_ms"]) == {"retrieval", "steering"}


def test_trips_and_years_can_be_searched(client: httpx.Client) -> None:
    answer = client.get("/api/trips").json()
    periods = [*answer["trips"], *answer["years"]]
    assert answer["years"] == sorted(answer["years"], key=lambda year: year["since"], reverse=True)
    for period in periods:
        request = period["request"] | {"k": 200, "stacks": False}
        results = client.post("/api/search", json=request).json()["results"]
        assert len(results) == period["photos"]
        assert period["cover"] in [result["photo"]["id"] for result in results]


def test_a_target_says_how_far_the_nearest_result_is(client: httpx.Client) -> None:
    wishes = [{"focus": "place", "near": "Reykjavik"}, {"focus": "hour", "near": 3}, {"focus": "date", "near": "1999"}]
    place, hour, date = _search(client, wishes=wishes).json()["targets"]
    assert (place["name"], place["near"], round(place["lat"])) == ("place", "Reykjavik", 64)
    assert re.fullmatch(r"nearest is [23],\d{3} km away", place["nearest"])
    assert re.fullmatch(r"nearest is \d hours away", hour["nearest"])
    assert (date["date"], date["nearest"]) == ("1999-07-01", "nearest is 20 years away")
    (near,) = _search(client, wishes=[{"focus": "place", "near": [38.7, -9.1]}]).json()["targets"]
    assert (near["near"], near["nearest"]) == ("38.7,-9.1", None)


def test_what_is_like_a_photograph_names_no_path_of_this_machine(client: httpx.Client, photographs: Path) -> None:
    answer = client.post("/api/search", json={"like": _id_of(client, "Tokyo/t0.jpg"), "k": 3})
    with Library.open(photographs) as library:
        results = library.search(like=photographs / "Tokyo/t0.jpg", k=3)
    assert result_ids(answer) == [photo.id for photo in results.photos]
    assert answer.json()["query"] == "like Tokyo/t0.jpg"
    assert str(photographs) not in answer.text
    assert message(client.post("/api/search", json={"like": 999}), 400) == "the library holds no photograph 999"


def test_nothing_that_is_sent_breaks_the_server(client: httpx.Client) -> None:
    for body in (
        b"{", b"\xff\xfe", b"[" * 100_000, b'{"text": "a", "k": NaN}', b'{"text": "a", "k": ' + b"9" * 5000 + b"}",
        b'{"text": "a", "nonsense": 1}', b'{"text": "\\ud800"}', b'{"text": "a", "camera": "\\u0000", "where": "1"}',
        b'{"text": "a", "wishes": [{"focus": "camera", "near": "\\u0000"}]}',
        b'{"text": "a", "wishes": [{"focus": "place", "near": "1e999,nan"}]}',
    ):  # fmt: skip
        for path in ("/api/search", "/api/rerank"):
            answer = client.post(path, content=body, headers=JSON)
            assert 400 <= answer.status_code < 500, answer.text
            assert answer.json()["error"]["message"]
    for text in ("🌇", "a\u0000b", "'; DROP TABLE photos; --"):
        assert _search(client, text=text).json()["query"] == text


def test_only_json_of_limited_size_is_accepted(client: httpx.Client) -> None:
    body = json.dumps({"text": "sunset"}).encode()
    for kind in ("text/plain", "application/jsonp", "application/json, text/plain"):
        answer = client.post("/api/search", content=body, headers={"content-type": kind})
        assert message(answer, 415) == f"send content-type: application/json, got {kind}"
    assert message(client.post("/api/search", content=body), 415).endswith("application/json, got none")
    for kind in ("Application/JSON; charset=utf-8", "application/vnd.photos+json"):
        assert client.post("/api/search", content=body, headers={"content-type": kind}).status_code == 200, kind
    large = b'{"text": "' + b"x" * (17 * 1024 * 1024) + b'"}'

    def parts() -> Any:  # without a length: the bytes are counted
        for start in range(0, len(large), 1 << 20):
            yield large[start : start + (1 << 20)]

    for path, content in (("/api/search", large), ("/api/rerank", parts())):
        answer = client.post(path, content=content, headers=JSON)
        assert message(answer, 413) == "a request must be at most 16777216 bytes"


def test_photographs_are_found_by_id(client: httpx.Client) -> None:
    id_ = _id_of(client, "Tokyo/t1.jpg")
    photo = client.get(f"/api/photos/{id_}").json()
    assert (photo["path"], photo["city"], photo["camera"]) == ("Tokyo/t1.jpg", "Tokyo", "Pixel 5")
    assert list(photo) == list(schemas.PhotoDetails.__struct_fields__)
    assert photo["text"] is None  # not read
    assert Image.open(io.BytesIO(client.get(f"/api/photos/{id_}/thumb").content)).size == (48, 32)
    for path in ("", "/thumb", "/image"):
        assert message(client.get(f"/api/photos/999{path}"), 404) == "the library holds no photograph 999"
        for wrong in ("0", "9007199254740993", "1" * 400, "%00"):
            assert client.get(f"/api/photos/{wrong}{path}").status_code == 422, path


def test_a_photograph_is_sent_as_it_is_whole_or_in_ranges(client: httpx.Client, photographs: Path) -> None:
    image = f"/api/photos/{_id_of(client, 'Lisbon/burst 3.jpg')}/image"
    whole = client.get(image)
    assert whole.content == (photographs / "Lisbon" / "burst 3.jpg").read_bytes()
    assert client.head(image).headers["content-length"] == str(len(whole.content))
    for path in ("Lisbon/burst 3.jpg", "scan.tif", "phone.heic"):  # browsers cannot show the last two
        answer = client.get(f"/api/photos/{_id_of(client, path)}/image")
        assert answer.headers["content-type"] == "image/jpeg"
        assert Image.open(io.BytesIO(answer.content)).format == "JPEG"
    part = client.get(image, headers={"range": "Bytes=2-5"})
    assert (part.status_code, part.content) == (206, whole.content[2:6])
    for wrong in ("bytes=999999-", "bytes=abc"):
        answer = client.get(image, headers={"range": wrong})
        assert message(answer, 416) == f"the file has no such part: {wrong!r}"
        assert answer.headers["content-range"] == f"bytes */{len(whole.content)}"
    answer = client.get(image, headers={"range": "furlongs=1-2"})  # as RFC 9110 requires
    assert (answer.status_code, answer.content) == (200, whole.content)


def test_a_browser_revalidates_what_it_has(client: httpx.Client) -> None:
    for path in ("/api/photos/1/thumb", "/api/photos/1/image"):
        first = client.get(path)
        tag = first.headers["etag"]
        assert first.headers["cache-control"] == "private, no-cache", "another library may have this number tomorrow"
        for cached in (f'"other", W/{tag}', "*"):
            again = client.get(path, headers={"if-none-match": cached})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert client.get(path, headers={"if-none-match": '"other"'}).content == first.content


def _sent(path: Path) -> tuple[str | None, bytes]:
    answer = pictures.photograph({}, path, _PHOTO)
    return answer.media_type, path.read_bytes() if isinstance(answer, FileResponse) else bytes(answer.body)


def test_the_content_says_what_a_file_is_and_not_its_name(tmp_path: Path) -> None:
    picture = Image.new("RGB", (64, 48), (20, 200, 20))
    for kind in ("TIFF", "HEIF"):
        lying = tmp_path / f"{kind}.jpg"
        if kind == "HEIF":
            pillow_heif.from_pillow(picture).save(lying, format="HEIF")
        else:
            picture.save(lying, kind)
        media_type, body = _sent(lying)
        assert (media_type, Image.open(io.BytesIO(body)).format) == ("image/jpeg", "JPEG")
    for kind, wanted in (("JPEG", "image/jpeg"), ("PNG", "image/png"), ("WEBP", "image/webp")):
        lying = tmp_path / f"{kind}.tif"
        picture.save(lying, kind)
        assert _sent(lying) == (wanted, lying.read_bytes())
    (tmp_path / "notes.jpg").write_text("a secret")
    with pytest.raises(Unreadable, match="not an image"):
        _sent(tmp_path / "notes.jpg")


def test_nothing_outside_the_library_is_read(own: Path, own_client: httpx.Client, tmp_path: Path) -> None:
    secret = write_jpeg(tmp_path / "secret.jpg", colour=(255, 0, 0))
    paths = ("plain0.jpg", "plain1.jpg", "scan.tif", "plain2.jpg")
    linked, gone, damaged, fifo = (_id_of(own_client, path) for path in paths)
    for path in paths:
        (own / path).unlink()
    (own / "plain0.jpg").symlink_to(secret)
    (own / "scan.tif").write_bytes(b"II*\x00 damaged")
    os.mkfifo(own / "plain2.jpg")
    assert "a link to a file outside the library" in message(own_client.get(f"/api/photos/{linked}/image"), 404)
    assert "not in the library's folder any more" in message(own_client.get(f"/api/photos/{gone}/image"), 404)
    assert "'scan.tif'" in message(own_client.get(f"/api/photos/{damaged}/image"), 404)
    assert own_client.get(f"/api/photos/{fifo}/image").status_code == 404
    assert own_client.get(f"/api/photos/{linked}/thumb").status_code == 200, "made when it was indexed"
    like = result_ids(own_client.post("/api/search", json={"like": gone, "k": 31}))
    assert sorted([*like, gone]) == list(range(1, 33))


def test_paths_lead_nowhere_else(server: Served) -> None:
    for path in (
        "/static/../guard.py", "/static/%2e%2e/guard.py", "/static/..%2fguard.py", "/static/....//guard.py",
        "/static//etc/passwd", "/static/%00", "/static/%5c..%5cguard.py", "/static/%c0%ae%c0%ae/guard.py",
        "/static/" + "a" * 5000, "/../etc/passwd", "/api/photos/%2e%2e%2f%2e%2e%2fetc%2fpasswd/image", "//etc/passwd",
        "/api/photos/1/image%00.jpg", "/.mascot/library.sqlite",
    ):  # fmt: skip
        with server.connect() as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = read_to_end(connection)
        assert int(answer.split(b" ", 2)[1]) in (307, 400, 404, 405, 422), answer
        assert b"root:" not in answer
        assert b"class Guard" not in answer


def test_the_library_is_described(client: httpx.Client, photographs: Path) -> None:
    answer = client.get("/api/library").json()
    assert answer["choices"]["country"] == {"PT": 12, "AU": 6, "JP": 6}
    assert answer["labels"]["city"] == {"Lisbon": 12, "Sydney": 6, "Tokyo": 6}
    assert (answer["photos"], sum(answer["hours"]), len(answer["points"])) == (32, 24, 24)
    assert "place" in answer["attributes"]
    assert str(photographs) not in json.dumps(answer)


def test_an_empty_library_is_served_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with hosted(indexed(tmp_path / "empty")) as server, server.client() as client:
        answer = client.get("/api/library").json()
        assert (answer["photos"], answer["points"], answer["first"]) == (0, [], None)
        assert "holds no photographs" in message(client.post("/api/search", json={"text": "sunset"}), 400)
        assert client.get("/").status_code == client.get("/metrics").status_code == 200


def test_metrics_are_prometheus_and_have_no_series_per_photograph(client: httpx.Client) -> None:
    for path in ("photos/1", "photos/999", "nowhere/1", "../static/index.html"):
        client.get(f"/api/{path}")
    client.post("/api/rerank", json={"scores": [1]})
    families = {family.name: family for family in text_string_to_metric_families(client.get("/metrics").text)}
    assert families["mascot_photos"].samples[0].value == 32
    counts = {(sample.labels["route"], sample.labels["status"])
              for sample in families["mascot_requests"].samples if sample.name == "mascot_requests_total"}  # fmt: skip
    photo = "/api/photos/{id}"
    assert {(photo, "200"), (photo, "404"), ("other", "404"), ("/static", "200")} <= counts
    paths = set(client.get("/openapi.json").json()["paths"])
    assert {route for route, _ in counts} <= paths | {"other", "/static"}
    assert not any(status == "500" for _, status in counts)
    assert families["mascot_requests_running"].samples[0].value == 1
    dashboard = json.loads((DOCS.parent / "src" / "mascot" / "server" / "dashboard.json").read_text("utf-8"))
    names = set(re.findall(r"mascot_\w+", str([panel["targets"] for panel in dashboard["panels"]])))
    effects = {name for name in names if name.startswith("mascot_profile_")}  # series exist once a profile is used
    assert names - effects <= {sample.name for family in families.values() for sample in family.samples}
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
    declared = {name: {name + suffix for suffix in suffixes[family.type]} for name, family in families.items()}
    assert effects <= set().union(*declared.values())
    assert all(own & effects for name, own in declared.items() if name.startswith("mascot_profile_"))


def test_new_photographs_are_found_while_serving(own: Path, own_client: httpx.Client, tmp_path: Path) -> None:
    elsewhere = write_jpeg(tmp_path / "drive" / "there.jpg", "Behind a link", colour=(9, 9, 90))
    edited = _id_of(own_client, "plain0.jpg")
    tag = own_client.get(f"/api/photos/{edited}/thumb").headers["etag"]
    (own / "link.jpg").symlink_to(elsewhere)
    write_jpeg(own / "plain0.jpg", colour=(250, 250, 0))
    assert own_client.get("/api/library").json()["photos"] == 32
    before = result_ids(_search(own_client, k=200, stacks=False))
    write_jpeg(own / "Paris" / "new.jpg", "Sunset over the water", "Paris", "2022-05-05T20:00:00")
    indexed(own, follow_links=True)
    after = _search(own_client, k=200, stacks=False)
    assert len(result_ids(after)) == len(before) + 2
    assert "Paris/new.jpg" in after.text
    assert own_client.get("/api/library").json()["photos"] == 34
    assert "mascot_photos 34.0" in own_client.get("/metrics").text
    assert own_client.get(f"/api/photos/{edited}/thumb", headers={"if-none-match": tag}).status_code == 200
    linked = _id_of(own_client, "link.jpg")
    assert own_client.get(f"/api/photos/{linked}/image").content == elsewhere.read_bytes()
    assert linked not in result_ids(own_client.post("/api/search", json={"like": linked, "k": 200}))
    elsewhere.write_bytes((own / "plain1.jpg").read_bytes())
    assert "that was not indexed" in message(own_client.get(f"/api/photos/{linked}/image"), 404)


def test_a_library_that_vanishes_is_reported_and_a_new_one_is_opened(
    own: Path, own_client: httpx.Client, photographs: Path
) -> None:
    before = _search(own_client, k=200)
    shutil.rmtree(own / ".mascot")
    for _ in range(3):  # several threads, each with a connection of its own or none yet
        assert "is its folder still there?" in message(_search(own_client, k=200), 503)
        for path in ("/readyz", "/metrics", "/api/library", "/api/photos/1", "/api/photos/1/thumb"):
            assert own_client.get(path).json()["error"]["kind"] == "LibraryError"
        assert own_client.get("/healthz").status_code == 200, "the process is alive"
    assert not (own / ".mascot").exists()
    shutil.copytree(photographs / ".mascot", own / ".mascot")  # with the same count of changes
    with closing(sqlite3.connect(own / ".mascot" / "library.sqlite")) as database, database:
        database.execute("UPDATE photos SET title = 'new' WHERE id = 1")
    assert own_client.get("/readyz").status_code == 200
    after = _search(own_client, k=200)
    assert result_ids(after) == result_ids(before)
    assert after.json()["results"] != before.json()["results"]
    shutil.rmtree(own)
    assert _search(own_client).status_code == own_client.get("/readyz").status_code == 503


def test_concurrent_searches_have_the_same_answers_from_a_few_threads_that_stay(server: Served) -> None:
    """Threads that come and go would each leave a connection open, until no file can be opened any more."""
    wishes = [{"spread": "place"}, {"focus": "camera"}]
    queries = [{"text": f"sunset {i % 4}", "k": 5 + i % 4, "wishes": wishes[: i % 3]} for i in range(12)]

    def ask(query: dict[str, Any]) -> list[Any]:
        with server.client() as client:
            results = client.post("/api/search", json=query).json()["results"]
            ids = [result["photo"]["id"] for result in results]
            assert {client.get(f"/api/photos/{id_}/thumb").status_code for id_ in ids} == {200}
            return [(result["photo"]["id"], result["score"], result["gains"]) for result in results]

    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(ask, queries))
    assert together == [ask(query) for query in queries]
    if Path("/proc/self/fd").is_dir():
        index = str(server.root / ".mascot" / "library.sqlite")
        connections = sum(os.path.realpath(file) == index for file in Path("/proc/self/fd").iterdir())
        assert connections < 20  # eight, those of the start, and some that SQLite closes later


def test_steering_does_not_wait_for_the_encoder(photographs: Path) -> None:
    """While a new text is being encoded, a search that was asked before is steered at once."""
    with Library.open(photographs) as library, ThreadPoolExecutor() as pool:
        service = Service(library)
        request = SearchRequest("sunset", wishes=[{"spread": "place"}])
        service.search(request)
        with service._encoding:  # as if an encoder were at work
            pool.submit(service.search, replace(request, strength=0.9)).result(PATIENCE_S)
            waiting = pool.submit(service.search, replace(request, text="new"))
            with pytest.raises(FutureTimeout):
                waiting.result(0.3)
        waiting.result(PATIENCE_S)


def test_no_request_writes(own: Path, own_client: httpx.Client) -> None:
    def state() -> dict[Any, Any]:
        files = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(own.rglob("*"))
                 if path.is_file() and not path.name.endswith(("-shm", "-wal"))}  # fmt: skip
        with closing(sqlite3.connect(f"{(own / '.mascot/library.sqlite').as_uri()}?mode=ro", uri=True)) as database:
            tables = ("photos", "pixels", "vectors", "facts", "skipped")
            return files | {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in tables}

    _search(own_client)
    own_client.post("/api/search", json={"like": 1})  # the first search of a kind builds its index from the database
    before = state()
    _search(own_client, city="1) ; DROP TABLE photos; --")
    for method in ("PUT", "DELETE", "POST", "PROPFIND"):
        for path in ("/", "/api/photos/1", "/api/photos/1/image", "/api/library", "/static/index.html"):
            assert own_client.request(method, path, content=b"x").status_code in (404, 405, 422), (method, path)
    own_client.get("/api/photos/1/image")
    own_client.post("/api/search", json={"like": 2})
    own_client.post("/api/rerank", json={"scores": [1, 2]})
    assert state() == before


def test_the_examples_of_the_documentation_answer_what_they_say(server: Served) -> None:
    """Those that do not depend on which photographs there are."""
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    checked = 0
    for block in re.findall(r"^```console\n(.*?)^```", (DOCS / "http.md").read_text("utf-8"), flags=re.S | re.M):
        for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
            # A command may have several lines; its answer begins with the first that begins with a bracket.
            command, bracket, output = re.match(r"(.*?)(?:\n([{\[])(.*))?\Z", example, flags=re.S).groups("")
            if "/api/rerank" in command or '"k": 1000' in command:
                command = command.replace("localhost:8765", f"localhost:{server.port}")
                done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE_S)
                assert done.stdout.strip() == (bracket + output).strip(), command
                checked += 1
    assert checked == 4


def test_a_sentence_is_understood(client: httpx.Client) -> None:
    sentence = "2 photos of boats, one per year, without people"
    answer = client.post("/api/search", json={"sentence": sentence}).json()
    understood = answer["understood"]
    assert [(chip["kind"], chip["filled"]) for chip in understood["chips"]] == [("count", True), ("limit", True)]
    assert (understood["text"], understood["ignored"][0]["words"]) == ("boats", "without people")
    assert (answer["request"]["text"], answer["request"]["k"], len(answer["results"])) == ("boats", 2, 2)
    assert client.post("/api/understand", json={"sentence": sentence}).json() == understood | {"drop": []}
    none = client.post("/api/search", json={"sentence": "boats in 1950"}).json()
    assert (none["results"], none["understood"]["drop"][0]["label"]) == ([], "1950")
    both = client.post("/api/search", json={"sentence": "boats", "text": "boats"})
    assert both.status_code == 400
    assert client.post("/api/understand", json={"sentence": "x" * 1001}).status_code == 422
