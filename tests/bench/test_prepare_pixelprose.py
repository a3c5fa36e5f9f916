"""PixelProse from a local server that answers as the hub does: Parquet shards of the true form, and pictures."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import killing
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from range_server import Server, local_web, serving
from test_prepare_exif_text import crawled, written

from mascot.bench.datasets.folder import read_folder
from mascot.bench.prepare.pixelprose import _natural, _part
from mascot.bench.prepare.recipes import prepare
from mascot.bench.prepare.web import Web
from mascot.errors import InputError

PER_SHARD = 6  # photographs with a place and a time
SHARDS = {
    "data/vlm_captions_cc12m_00.parquet": "cc12m",
    "data/vlm_captions_cc12m_10.parquet": "cc12m",
    "data/vlm_captions_cc12m_2.parquet": "cc12m",
    "data/vlm_captions_common-pool_0000.parquet": "commonpool",
    "data/vlm_captions_redcaps_00.parquet": "redcaps",
}
ORDER = sorted(SHARDS, key=lambda name: (SHARDS[name], _natural(name)))
COMMIT = "0123456789abcdef0123456789abcdef01234567"
API = "/api/datasets/tomg-group-umd/pixelprose/revision/main"
FILES = f"/datasets/tomg-group-umd/pixelprose/resolve/{COMMIT}"


def exif(lat: str = "[48, 51, 29]", taken: str = "2018:01:11 13:09:38", **changes: str | None) -> str:
    tags = {
        "Image Model": "X100",
        "EXIF DateTimeOriginal": taken,
        "GPS GPSLatitudeRef": "N",
        "GPS GPSLatitude": lat,
        "GPS GPSLongitudeRef": "E",
        "GPS GPSLongitude": "[2, 17, 40]",
        **{name.replace("_", " "): value for name, value in changes.items()},
    }
    return json.dumps({name: value for name, value in tags.items() if value is not None})


def picture(number: int, size: tuple[int, int] = (120, 80)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, (number % 256, 90, 60)).save(stream, "JPEG")
    return stream.getvalue()


def table(rows: list[dict[str, Any]]) -> bytes:
    """A shard with all the columns of the hub's, in small groups of rows."""
    columns = {
        "uid": pa.string(), "url": pa.string(), "key": pa.string(), "status": pa.string(), "original_width": pa.int64(),
        "original_height": pa.int64(), "title": pa.string(), "exif": pa.string(), "sha256": pa.string(),
        "vlm_model": pa.string(), "vlm_caption": pa.string(), "toxicity": pa.float64(),
    }  # fmt: skip
    stream = io.BytesIO()
    schema = pa.schema(columns)
    filled = [{**dict.fromkeys(columns), "status": "success", **row} for row in rows]
    pq.write_table(pa.Table.from_pylist(filled, schema), stream, row_group_size=5, compression="snappy")
    return stream.getvalue()


def rows_of(server: Server, shard: str, number: int) -> list[dict[str, Any]]:
    """Photographs worth keeping, and one of everything that is not."""
    rows = []
    for i in range(PER_SHARD):
        name = f"{number}-{i}"
        url = server.put(f"/photos/{name}.jpg", picture(10 * number + i, (1300, 600) if i == 1 else (120, 80)))
        text = exif(f"[{10 * number + i}, 30, 0]", f"2018:01:1{i} 0{i}:30:00")
        caption = f" This image displays:\nphotograph {name}, of café {shard}. "
        rows.append({"uid": f"uid{name}", "url": url, "exif": text, "vlm_caption": caption})
        rows.append({"uid": f"none{name}", "url": url + "x", "exif": (None, "", "{}", "null")[i % 4]})
    last = {"uid": "u", "vlm_caption": "A caption."}

    def bad(path: str, text: str, **changes: Any) -> None:
        rows.append(
            {**last, "uid": f"{path}{number}", "url": f"{server.url}/bad/{number}/{path}.jpg", "exif": text, **changes}
        )

    bad("no-gps", exif(GPS_GPSLatitude=None, GPS_GPSLatitudeRef=None))
    bad("no-time", exif(EXIF_DateTimeOriginal=None))
    bad("no-ref", exif(GPS_GPSLongitudeRef=None))
    bad("zero-time", exif(taken="0000:00:00 00:00:00"))
    bad("north", exif("[95, 0, 0]"))
    bad("fraction", exif("[48, 51, 2953/100]"))
    bad("equator", exif("[0, 0, 0]"))
    bad("future", exif(taken="2025:01:11 13:09:38"))
    bad("no-caption", exif(), vlm_caption=" ")
    bad("no-url", exif(), url=None)
    bad("gone", exif())
    bad("page", exif())
    server.put(f"/bad/{number}/page.jpg", b"<html>moved to another place</html>")
    rows.append(dict(rows[0]))  # the same address
    rows.append({**rows[0], "url": f"{server.url}/mirror/{number}-0.jpg"})  # the same uid and file name
    rows.append({**rows[2], "uid": "another"})  # the same address by another uid
    return rows


def publish(server: Server, shards: dict[str, bytes], lfs: bool = True) -> dict[str, str]:
    """Serve files as the hub does; the source that names it."""
    siblings: list[dict[str, Any]] = [
        {"rfilename": name} for name in (".gitattributes", "README.md", "data/other.parquet")
    ]
    for name, content in shards.items():
        shard(server, name, content)
        entry: dict[str, Any] = {"rfilename": name}
        if lfs:
            digest = hashlib.sha256(content).hexdigest()
            entry |= {"size": len(content), "lfs": {"sha256": digest, "size": len(content), "pointerSize": 100}}
        siblings.insert(0, entry)
    body = {"id": "tomg-group-umd/pixelprose", "sha": COMMIT, "siblings": siblings, "tags": []}
    server.put(API, json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    return {"hub": server.url}


def shard(server: Server, name: str, content: bytes, **manners: Any) -> None:
    server.put(f"{FILES}/{name}", content, headers={"X-Repo-Commit": COMMIT}, **manners)


def fill(server: Server, lfs: bool = True) -> dict[str, str]:
    return publish(server, {name: table(rows_of(server, name, number)) for number, name in enumerate(ORDER)}, lfs)


def downloads(server: Server, number: int) -> int:
    return server.count(f"{FILES}/{ORDER[number]}", "GET")


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as state:
        yield state


def slow(server: Server, path: str) -> None:
    """So slow that there is time for a kill before the end."""
    server.put(path, server.files[path], wait=0.5)  # type: ignore[arg-type]


def web() -> Web:
    return local_web(timeout=5.0, retries=2, pause=0.01)


def test_the_whole_recipe(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    steps: dict[str, tuple[int, int | None]] = {}
    prepare("pixelprose", tmp_path, web=web(), report=lambda s, d, t: steps.update({s: (d, t)}), seed=5, **sources)
    stored = read_folder(tmp_path)
    count = len(ORDER) * PER_SHARD
    assert stored.name == "pixelprose"
    assert set(stored.columns) == {"id", "file", "lat", "lon", "taken", "url", "uid", "part"}
    assert len(stored.columns["id"]) == count
    assert stored.validation == count // 5
    assert len(stored.queries) == count
    for row, query in enumerate(stored.queries):
        number, i = map(int, str(stored.columns["uid"][row]).removeprefix("uid").split("-"))
        assert query.positives == (row,)
        assert query.text == f" This image displays:photograph {number}-{i}, of café {ORDER[number]}. "  # as published
        assert stored.columns["part"][row] == SHARDS[ORDER[number]]
        assert stored.columns["lat"][row] == pytest.approx(10 * number + i + 0.5)
        assert stored.columns["lon"][row] == pytest.approx(2 + 17 / 60 + 40 / 3600)
        assert str(stored.columns["taken"][row]).startswith(f"2018-01-1{i}T0{i}:30:00")
        with Image.open(tmp_path / stored.columns["file"][row]) as image:
            assert image.size == ((1024, 473) if i == 1 else (120, 80))
    shards = len(ORDER)
    losses = {step["step"]: step["lost"] for step in stored.about["steps"]}
    assert losses["place and time in the tables"] == {
        "no metadata": PER_SHARD * shards, "no place": 3 * shards, "no time": 3 * shards, "out of range": shards,
        "no caption": shards, "bad address": shards, "no whole numbers": shards,
    }  # fmt: skip
    assert losses["duplicates"] == {"duplicate": 3 * shards}
    assert losses["picture"] == {"dead link": shards, "not a picture": shards}
    looked = [(step["looked_at"], step["kept"]) for step in stored.about["steps"][:3]]
    assert looked == [(27 * shards, 11 * shards), (11 * shards, 8 * shards), (8 * shards, 6 * shards)]
    assert stored.about["sources"]["hub"] == {"url": "tomg-group-umd/pixelprose", "revision": COMMIT}
    assert stored.about["notes"] == [f"{8 * shards} rows have a place and a time; the paper has 1799"]
    assert steps[f"note: {8 * shards} rows have a place and a time; the paper has 1799"] == (0, None)
    assert stored.about["validation_queries"] == 50
    source = stored.about["sources"][ORDER[0]]
    assert source["rows"] == 27
    assert source["sha256"] == hashlib.sha256(server.files[f"{FILES}/{ORDER[0]}"]).hexdigest()  # type: ignore[arg-type]
    assert not list((tmp_path / "work" / "shards").rglob("*.parquet"))  # deleted when read
    assert steps["pictures"] == (8 * shards, 8 * shards)
    assert steps["table 5 of 5, rows"] == (27, 27)
    report = (tmp_path / "report.md").read_text()
    assert f"| picture | {8 * shards} | {6 * shards} |" in report
    assert "data/vlm_captions_cc12m_00.parquet row 1" in report


def test_correct_reads_what_the_study_dropped(server: Server, tmp_path: Path) -> None:
    prepare("pixelprose", tmp_path, behaviour="correct", web=web(), **fill(server))
    steps = {step["step"]: step for step in read_folder(tmp_path).about["steps"]}
    assert steps["place and time in the tables"]["kept"] == 14 * len(ORDER)
    assert "\n" in read_folder(tmp_path).queries[0].text


def test_a_single_option_can_be_chosen(server: Server, tmp_path: Path) -> None:
    prepare("pixelprose", tmp_path, web=web(), gps="fractions", test_queries="10", split="numpy", **fill(server))
    stored = read_folder(tmp_path)
    steps = {step["step"]: step for step in stored.about["steps"]}
    assert steps["place and time in the tables"]["kept"] == 12 * len(ORDER)
    assert sum(query.positives[0] >= stored.validation for query in stored.queries) == 10
    assert steps["queries"]["lost"] == {"not sampled": 14}
    assert stored.about["settings"]["gps"] == "fractions"


@pytest.mark.parametrize(
    ("status", "headers", "words"),
    [
        (
            403,
            {"X-Error-Code": "GatedRepo"},
            "is gated: accept its terms at https://huggingface.co/datasets/.* set HF_TOKEN",
        ),
        (401, {"X-Error-Code": "RepoNotFound"}, "does not exist, or needs a token in HF_TOKEN"),
        (403, {}, "needs a token in HF_TOKEN"),
        (429, {}, "is rate-limited: wait, or set HF_TOKEN"),
        (404, {"X-Error-Code": "RepoNotFound"}, "does not exist"),
        (418, {}, "gave no answer"),
    ],
)
def test_the_hub_may_refuse(server: Server, tmp_path: Path, status: int, headers: dict[str, str], words: str) -> None:
    server.put(API, b"", always=status, headers=headers)
    with pytest.raises(InputError, match=words):
        prepare("pixelprose", tmp_path, web=web(), hub=server.url)


def test_a_token_is_sent_where_one_is_set(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    prepare("pixelprose", tmp_path, web=web(), **fill(server))
    tokens = {request.headers.get("Authorization", request.headers.get("authorization")) for request in server.requests}
    photos = [request for request in server.requests if request.path.startswith("/photos/")]
    assert tokens == {"Bearer hf_secret", None}
    assert not any("authorization" in map(str.lower, request.headers) for request in photos)


def test_a_second_run_asks_for_the_listing_alone(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    prepare("pixelprose", tmp_path, web=web(), **sources)
    before = killing.files(tmp_path)
    server.requests.clear()
    prepare("pixelprose", tmp_path, web=web(), **sources)
    assert [request.path for request in server.requests] == [API]
    assert killing.files(tmp_path) == before


def test_the_limit_stops_reading_tables(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    prepare("pixelprose", tmp_path / "a", web=web(), limit=10, workers=3, **sources)
    stored = read_folder(tmp_path / "a")
    expected = [f"uid{number}-{i}" for number in (0, 1) for i in range(PER_SHARD)][:10]
    assert sorted(stored.columns["uid"].tolist()) == expected
    assert [downloads(server, number) for number in range(5)] == [1, 1, 0, 0, 0]
    assert len(list((tmp_path / "a" / "images").iterdir())) == 10
    prepare("pixelprose", tmp_path / "b", web=web(), limit=10, workers=1, **sources)
    assert killing.files(tmp_path / "b") == killing.files(tmp_path / "a")
    # More of the same folder later: what is there is not fetched again.
    server.requests.clear()
    prepare("pixelprose", tmp_path / "b", web=web(), limit=14, **sources)
    assert len(read_folder(tmp_path / "b").columns["id"]) == 14
    assert downloads(server, 0) == server.count("/photos/0-0.jpg") == 0


def test_a_shard_must_be_what_the_hub_lists(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    good = server.files[f"{FILES}/{ORDER[1]}"]
    shard(server, ORDER[1], table([]))
    with pytest.raises(InputError, match=r"must have the SHA-256 .* that the hub lists, got .*|gave no answer"):
        prepare("pixelprose", tmp_path, web=web(), **sources)
    shard(server, ORDER[1], good)  # type: ignore[arg-type]
    prepare("pixelprose", tmp_path, web=web(), **sources)
    assert downloads(server, 0) == 1
    assert len(read_folder(tmp_path).columns["id"]) == 30


@pytest.mark.parametrize("content", [b"<html>no table</html>", b"PAR1" + bytes(50) + b"PAR1"])
def test_a_shard_that_is_not_a_table_is_named_and_not_stored(server: Server, tmp_path: Path, content: bytes) -> None:
    sources = fill(server, lfs=False)
    shard(server, ORDER[1], content)
    with pytest.raises(InputError, match=r"cc12m_2.parquet must be a Parquet file"):
        prepare("pixelprose", tmp_path, web=web(), **sources)
    assert not list((tmp_path / "work" / "shards").rglob("*.parquet"))


def test_a_table_without_the_columns_is_named(server: Server, tmp_path: Path) -> None:
    sources = fill(server, lfs=False)
    stream = io.BytesIO()
    pq.write_table(pa.table({"url": ["x"], "exif": ["{}"]}), stream)
    shard(server, ORDER[0], stream.getvalue())
    with pytest.raises(InputError, match="must have the columns uid, vlm_caption, got url, exif"):
        prepare("pixelprose", tmp_path, web=web(), **sources)


def test_a_dataset_of_something_else_is_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must have Parquet files of cc12m, commonpool, redcaps, got 3 others"):
        prepare("pixelprose", tmp_path, web=web(), **publish(server, {}))


def test_which_file_is_of_which_part() -> None:
    assert _part("data/vlm_captions_cc12m_00.parquet") == 0
    assert _part("data/vlm_captions_commonpool_1.parquet") == 1
    assert _part("data/vlm_captions_common-pool_1.parquet") == 1
    assert _part("vlm_captions_redcaps_1.parquet") == 2
    assert _part("data/vlm_captions_redcaps_1.csv") is None
    assert _part("redcaps/readme.parquet") is None
    assert sorted(["a_10", "a_9", "a_1", "b"], key=_natural) == ["a_1", "a_9", "a_10", "b"]


@pytest.mark.parametrize(("behaviour", "count"), [("correct", 94), ("published", 5)])
def test_real_photographs_come_through_with_their_place_and_time(
    server: Server, tmp_path: Path, data: Path, behaviour: str, count: int
) -> None:
    with open(data / "photos_manifest.csv", newline="", encoding="utf-8") as stream:
        manifest = {row["file"]: row for row in csv.DictReader(stream)}
    rows = []
    for file in manifest:
        path = data / "photos" / file
        text = crawled(path)
        url = server.put(f"/real/{file}", path.read_bytes())
        caption = f"A photograph called {file}."
        rows.append({"uid": file, "url": url, "exif": written(path) if text == "{}" else text, "vlm_caption": caption})
    sources = publish(server, {"redcaps_0.parquet": table(rows)})
    prepare("pixelprose", tmp_path, behaviour=behaviour, web=web(), **sources)
    stored = read_folder(tmp_path)
    assert len(stored.columns["id"]) == count
    for i, file in enumerate(stored.columns["uid"].tolist()):
        row = manifest[file]
        place = (stored.columns["lat"][i], stored.columns["lon"][i])
        assert place == pytest.approx((float(row["lat"]), float(row["lon"])), abs=1e-5)
        taken = str(stored.columns["taken"][i])[:19]
        assert taken.replace("-", ":").replace("T", " ") == row["DateTimeOriginal"]
        with Image.open(tmp_path / stored.columns["file"][i]) as image:
            image.load()
            assert max(image.size) <= 1024


def test_a_killed_preparation_goes_on_to_the_same_result(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    prepare("pixelprose", tmp_path / "whole", web=web(), workers=3, **sources)
    expected = killing.files(tmp_path / "whole")
    assert len(expected) == 30 + 5

    server.requests.clear()
    shard(server, ORDER[2], server.files[f"{FILES}/{ORDER[2]}"], wait=0.3)  # type: ignore[arg-type]
    slow(server, "/photos/4-5.jpg")
    out = tmp_path / "killed"
    killing.kill("pixelprose", out, lambda: downloads(server, 2) == 1, workers=3, **sources)
    assert not (out / "images").exists()
    killing.kill("pixelprose", out, lambda: len(list((out / "images").glob("*.jpg"))) > 7, workers=3, **sources)
    assert not (out / "dataset.json").exists()
    prepare("pixelprose", out, web=web(), workers=3, **sources)
    assert killing.files(out) == expected
    assert downloads(server, 0) == downloads(server, 1) == downloads(server, 4) == 1


def test_a_killed_preparation_with_a_limit_too(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    prepare("pixelprose", tmp_path / "whole", web=web(), limit=15, **sources)
    slow(server, "/photos/2-2.jpg")
    out = tmp_path / "killed"
    options = {"workers": 4, "limit": 15, **sources}
    killing.kill("pixelprose", out, lambda: len(list((out / "images").glob("*.jpg"))) > 8, **options)
    prepare("pixelprose", out, web=web(), **options)
    assert killing.files(out) == killing.files(tmp_path / "whole")
