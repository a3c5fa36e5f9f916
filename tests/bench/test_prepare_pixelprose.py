"""PixelProse from a local server that answers as the hub does: Parquet shards of the true form, and pictures."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import exifread
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import ExifTags, Image
from PIL.TiffImagePlugin import IFDRational
from preparing import files, jpeg, kill, losses, prepare
from range_server import Server

from mascot.bench.datasets.folder import read_folder
from mascot.bench.prepare import exif_text
from mascot.bench.prepare.outcomes import Loss
from mascot.bench.prepare.pixelprose import _natural, _part
from mascot.errors import InputError
from mascot.photos import exif as photo_exif
from mascot.photos.exif import Exif
from mascot.photos.images import open_image

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
        "EXIF DateTimeOriginal": taken, "GPS GPSLatitudeRef": "N", "GPS GPSLatitude": lat,
        "GPS GPSLongitudeRef": "E", "GPS GPSLongitude": "[2, 17, 40]",
        **{name.replace("_", " "): value for name, value in changes.items()},
    }  # fmt: skip
    return json.dumps({name: value for name, value in tags.items() if value is not None})


def table(rows: list[dict[str, Any]]) -> bytes:
    """A shard in small groups of rows, with columns that nobody reads."""
    columns = ("uid", "url", "key", "status", "title", "exif", "sha256", "vlm_caption")
    schema = pa.schema({**dict.fromkeys(columns, pa.string()), "toxicity": pa.float64()})
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema), stream, row_group_size=5, compression="snappy")
    return stream.getvalue()


def rows_of(server: Server, shard: str, number: int) -> list[dict[str, Any]]:
    """Photographs that are accepted, and one of everything that is not."""
    rows: list[dict[str, Any]] = []
    for i in range(PER_SHARD):
        name = f"{number}-{i}"
        url = server.put(f"/photos/{name}.jpg", jpeg(10 * number + i, (1300, 600) if i == 1 else (120, 80)))
        text = exif(f"[{10 * number + i}, 30, 0]", f"2018:01:1{i} 0{i}:30:00")
        caption = f" This image displays:\nphotograph {name}, of café {shard}. "
        rows.append({"uid": f"uid{name}", "url": url, "exif": text, "vlm_caption": caption})
        rows.append({"uid": f"none{name}", "url": url + "x", "exif": (None, "", "{}", "null")[i % 4]})
    server.put(f"/bad/{number}/page.jpg", b"<html>moved to another place</html>")
    bad: dict[str, tuple[str, dict[str, Any]]] = {
        "no-gps": (exif(GPS_GPSLatitude=None, GPS_GPSLatitudeRef=None), {}),
        "no-time": (exif(EXIF_DateTimeOriginal=None), {}),
        "no-ref": (exif(GPS_GPSLongitudeRef=None), {}),
        "zero-time": (exif(taken="0000:00:00 00:00:00"), {}),
        "north": (exif("[95, 0, 0]"), {}),
        "fraction": (exif("[48, 51, 2953/100]"), {}),
        "equator": (exif("[0, 0, 0]"), {}),
        "future": (exif(taken="2025:01:11 13:09:38"), {}),
        "no-caption": (exif(), {"vlm_caption": " "}),
        "no-url": (exif(), {"url": None}),
        "gone": (exif(), {}),
        "page": (exif(), {}),
    }
    for name, (text, changes) in bad.items():
        url = f"{server.url}/bad/{number}/{name}.jpg"
        rows.append({"uid": f"{name}{number}", "url": url, "exif": text, "vlm_caption": "A caption.", **changes})
    rows.append(dict(rows[0]))  # the same address
    rows.append({**rows[0], "url": f"{server.url}/mirror/{number}-0.jpg"})  # the same uid and file name
    rows.append({**rows[2], "uid": "another"})  # the same address by another uid
    return rows


def publish(server: Server, shards: dict[str, bytes], lfs: bool = True) -> dict[str, str]:
    """Serve files as the hub does; the source that names it."""
    others = (".gitattributes", "README.md", "data/other.parquet")
    siblings: list[dict[str, Any]] = [{"rfilename": name} for name in others]
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


def downloads(server: Server, *numbers: int) -> list[int]:
    return [server.count(f"{FILES}/{ORDER[number]}", "GET") for number in numbers]


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")


def test_the_whole_recipe(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    steps: dict[str, tuple[int, int | None]] = {}
    prepare("pixelprose", tmp_path, report=lambda s, d, t: steps.update({s: (d, t)}), seed=5, **sources)
    stored, shards = read_folder(tmp_path), len(ORDER)
    assert (stored.name, stored.images, stored.validation) == (
        "pixelprose",
        shards * PER_SHARD,
        shards * PER_SHARD // 5,
    )
    assert set(stored.columns) == {"id", "file", "lat", "lon", "taken", "url", "uid", "part"}
    for row, query in enumerate(stored.queries):
        number, i = map(int, str(stored.columns["uid"][row]).removeprefix("uid").split("-"))
        assert query.positives == (row,)
        assert query.text == f" This image displays:photograph {number}-{i}, of café {ORDER[number]}. "  # as published
        assert stored.columns["part"][row] == SHARDS[ORDER[number]]
        place = (stored.columns["lat"][row], stored.columns["lon"][row])
        assert place == pytest.approx((10 * number + i + 0.5, 2 + 17 / 60 + 40 / 3600))
        assert str(stored.columns["taken"][row]).startswith(f"2018-01-1{i}T0{i}:30:00")
        with Image.open(tmp_path / stored.columns["file"][row]) as image:
            assert image.size == ((1024, 473) if i == 1 else (120, 80))
    assert losses(tmp_path) == {
        "place and time in the tables": {
            "no metadata": PER_SHARD * shards, "no place": 3 * shards, "no time": 3 * shards, "out of range": shards,
            "no caption": shards, "bad address": shards, "no whole numbers": shards,
        },
        "duplicates": {"duplicate": 3 * shards},
        "picture": {"dead link": shards, "not a picture": shards},
        "queries": {},
    }  # fmt: skip
    note = f"{8 * shards} rows have a place and a time; the paper has 1799"
    assert (stored.about["notes"], stored.about["validation_queries"]) == ([note], 50)
    digest = hashlib.sha256(server.files[f"{FILES}/{ORDER[0]}"]).hexdigest()
    expected = {"url": f"tomg-group-umd/pixelprose/{ORDER[0]}", "sha256": digest, "rows": 27}
    assert stored.about["sources"][ORDER[0]] == expected
    assert stored.about["sources"]["hub"] == {"url": "tomg-group-umd/pixelprose", "revision": COMMIT}
    assert not list((tmp_path / "work" / "shards").rglob("*.parquet"))  # deleted when read
    expected_steps = {f"note: {note}": (0, None), "pictures": (8 * shards,) * 2, "table 5 of 5, rows": (27, 27)}
    assert expected_steps.items() <= steps.items()
    assert "data/vlm_captions_cc12m_00.parquet row 1" in (tmp_path / "report.md").read_text()

    before = files(tmp_path)
    server.requests.clear()
    prepare("pixelprose", tmp_path, seed=5, **sources)  # a second run asks for the listing alone
    assert [request.path for request in server.requests] == [API]
    assert files(tmp_path) == before


def test_correct_reads_what_the_study_dropped(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    prepare("pixelprose", tmp_path / "correct", behaviour="correct", limit=30, **sources)
    stored = read_folder(tmp_path / "correct")
    assert "no whole numbers" not in losses(tmp_path / "correct")["place and time in the tables"]
    assert "\n" in stored.queries[0].text
    prepare("pixelprose", tmp_path / "one", gps="fractions", test_queries="10", split="numpy", **sources)
    stored = read_folder(tmp_path / "one")
    assert stored.about["steps"][0]["kept"] == 12 * len(ORDER)
    assert sum(query.positives[0] >= stored.validation for query in stored.queries) == 10
    assert losses(tmp_path / "one")["queries"] == {"not sampled": 14}
    assert stored.about["settings"]["gps"] == "fractions"


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "GatedRepo", "is gated: accept its terms at https://huggingface.co/datasets/.* set HF_TOKEN"),
        (401, "RepoNotFound", "does not exist, or needs a token in HF_TOKEN"),
        (403, "", "needs a token in HF_TOKEN"),
        (429, "", "is rate-limited: wait, or set HF_TOKEN"),
        (404, "RepoNotFound", "does not exist"),
        (418, "", "gave no answer"),
    ],
)
def test_the_hub_may_refuse(server: Server, tmp_path: Path, status: int, code: str, words: str) -> None:
    server.put(API, b"", always=status, headers={"X-Error-Code": code} if code else {})
    with pytest.raises(InputError, match=words):
        prepare("pixelprose", tmp_path, hub=server.url)


def test_a_token_is_sent_to_the_hub_alone(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    prepare("pixelprose", tmp_path, limit=5, **fill(server))
    for request in server.requests:
        token = {name.lower(): value for name, value in request.headers.items()}.get("authorization")
        assert token == ("Bearer hf_secret" if request.path.startswith(("/api/", "/datasets/")) else None)


def test_the_limit_stops_reading_tables(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    prepare("pixelprose", tmp_path, limit=10, workers=3, **sources)
    expected = [f"uid{number}-{i}" for number in (0, 1) for i in range(PER_SHARD)][:10]
    assert sorted(read_folder(tmp_path).columns["uid"].tolist()) == expected
    assert downloads(server, 0, 1, 2, 3, 4) == [1, 1, 0, 0, 0]
    assert len(list((tmp_path / "images").iterdir())) == 10
    prepare("pixelprose", tmp_path, limit=14, **sources)  # more of the same folder later
    assert len(read_folder(tmp_path).columns["id"]) == 14
    assert downloads(server, 0, 1, 2) == [1, 1, 1]
    assert server.count("/photos/0-0.jpg") == 1


def test_a_shard_must_be_what_the_hub_lists(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    good = server.files[f"{FILES}/{ORDER[1]}"]
    shard(server, ORDER[1], table([]))
    with pytest.raises(InputError, match=r"must have the SHA-256 .* that the hub lists, got .*|gave no answer"):
        prepare("pixelprose", tmp_path, **sources)
    shard(server, ORDER[1], good)
    prepare("pixelprose", tmp_path, **sources)
    assert downloads(server, 0) == [1]
    assert read_folder(tmp_path).images == 30


def _other_columns() -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table({"url": ["x"], "exif": ["{}"]}), stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<html>no table</html>", r"cc12m_2.parquet must be a Parquet file"),
        (b"PAR1" + bytes(50) + b"PAR1", r"cc12m_2.parquet must be a Parquet file"),
        (_other_columns(), "must have the columns uid, vlm_caption, got url, exif"),
    ],
)
def test_a_shard_that_is_not_a_table_is_named(server: Server, tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        prepare("pixelprose", tmp_path, **publish(server, {ORDER[1]: content}, lfs=False))
    assert not list((tmp_path / "work" / "shards").rglob("*.parquet"))


def test_a_dataset_of_something_else_is_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must have Parquet files of cc12m, commonpool, redcaps, got 3 others"):
        prepare("pixelprose", tmp_path, **publish(server, {}))
    names = ("data/x_cc12m_00", "data/x_commonpool_1", "data/x_common-pool_1", "x_redcaps_1", "redcaps/readme")
    assert [_part(f"{name}.parquet") for name in names] == [0, 1, 1, 2, None]
    assert _part("data/x_redcaps_1.csv") is None
    assert sorted(["a_10", "a_9", "a_1", "b"], key=_natural) == ["a_1", "a_9", "a_10", "b"]


def stored_text(path: Path) -> str:
    """The EXIF of a file as image crawlers store it: every tag by its printed name, with its printed value.

    In a few files exifread finds nothing; there it is what our own reader finds, printed in the same form.
    """
    with open(path, "rb") as stream:
        tags = exifread.process_file(stream, details=False)
    names = {name: str(value).strip() for name, value in tags.items() if value is not None}
    if not names:
        with open_image(path) as image:
            content = photo_exif.read(image)
        names = {f"EXIF {ExifTags.TAGS.get(tag, tag)}": _printed(value) for tag, value in content.exposure.items()}
        names |= {f"GPS {ExifTags.GPSTAGS.get(tag, tag)}": _printed(value) for tag, value in content.gps.items()}
    return json.dumps(names)


def _printed(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_printed, value))}]"
    if isinstance(value, IFDRational):
        return f"{value.numerator}/{value.denominator}" if value.denominator != 1 else str(value.numerator)
    return str(value)


@pytest.mark.parametrize(("behaviour", "count"), [("correct", 94), ("published", 5)])
def test_real_photographs_come_through_with_their_place_and_time(
    server: Server, tmp_path: Path, data: Path, behaviour: str, count: int
) -> None:
    """A coordinate such as [51, 45, 4467/100] is not a Python literal, so the released study dropped it."""
    with open(data / "photos_manifest.csv", newline="", encoding="utf-8") as stream:
        manifest = {row["file"]: row for row in csv.DictReader(stream)}
    rows = []
    for file in manifest:
        path = data / "photos" / file
        url = server.put(f"/real/{file}", path.read_bytes())
        rows.append({"uid": file, "url": url, "exif": stored_text(path), "vlm_caption": f"A photograph called {file}."})
    prepare("pixelprose", tmp_path, behaviour=behaviour, **publish(server, {"redcaps_0.parquet": table(rows)}))
    stored = read_folder(tmp_path)
    assert stored.images == count
    for file, lat, lon, taken, image in zip(
        *(stored.columns[name].tolist() for name in ("uid", "lat", "lon", "taken", "file")), strict=True
    ):
        row = manifest[file]
        assert (lat, lon) == pytest.approx((float(row["lat"]), float(row["lon"])), abs=1e-5)
        assert str(taken)[:19].replace("-", ":").replace("T", " ") == row["DateTimeOriginal"]
        with Image.open(tmp_path / image) as picture:
            picture.load()
            assert max(picture.size) <= 1024


def test_a_killed_preparation_goes_on_to_the_same_result(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    prepare("pixelprose", tmp_path / "whole", workers=3, **sources)
    server.requests.clear()
    shard(server, ORDER[2], server.files[f"{FILES}/{ORDER[2]}"], wait=0.3)
    last = "/photos/4-5.jpg"
    server.put(last, server.files[last], wait=0.5)  # time for a kill before the end
    out = tmp_path / "killed"
    kill("pixelprose", out, lambda: downloads(server, 2) == [1], workers=3, **sources)
    assert not (out / "images").exists()
    kill("pixelprose", out, lambda: len(list((out / "images").glob("*.jpg"))) > 7, workers=3, **sources)
    assert not (out / "dataset.json").exists()
    assert (out / "work" / "pictures.jsonl").stat().st_size > 0
    prepare("pixelprose", out, workers=3, **sources)
    assert files(out) == files(tmp_path / "whole")
    assert downloads(server, 0, 1, 4) == [1, 1, 1]


# EXIF in its JSON form

GOOD: dict[str, Any] = {
    "Image Model": "X100",
    "EXIF DateTimeOriginal": "2018:01:11 13:09:38",
    "GPS GPSLatitudeRef": "N",
    "GPS GPSLatitude": "[48, 51, 2953/100]",
    "GPS GPSLongitudeRef": "W",
    "GPS GPSLongitude": "[2, 17, 4019/100]",
}
PLACE = (48 + 51 / 60 + 29.53 / 3600, -(2 + 17 / 60 + 40.19 / 3600))


def parsed(**changes: Any) -> tuple[tuple[float, float], str]:
    tags = exif_text.parse(json.dumps({**GOOD, **{name.replace("_", " "): value for name, value in changes.items()}}))
    return exif_text.place(tags), exif_text.taken(tags).isoformat()


def test_a_fallback_for_the_time_and_a_coordinate_of_zero() -> None:
    changed = Exif(picture={ExifTags.Base.DateTime: "2019:02:03 04:05:06"})
    assert exif_text.taken(changed, fallback=True).isoformat() == "2019-02-03T04:05:06"
    with pytest.raises(Loss, match="no time"):
        exif_text.taken(changed)
    both = Exif(changed.picture, {ExifTags.Base.DateTimeOriginal: "2018:01:01 00:00:01"})
    assert exif_text.taken(both, fallback=True).year == 2018
    zero = exif_text.parse(json.dumps({**GOOD, "GPS GPSLongitude": "[0, 0, 0]"}))
    assert exif_text.place(zero) == pytest.approx((PLACE[0], 0))
    with pytest.raises(Loss, match="no place"):
        exif_text.place(zero, "either")


@pytest.mark.parametrize(
    "angle",
    [
        "[48, 51, 2953/100]", [48, 51, 29.53], ["48", "51", "2953/100"], [[48, 1], [51, 1], [2953, 100]],
        "48, 51, 29.53", "(48, 51, 29.53)", "[48/1, 51/1, 2953 / 100]", "[48, 51.49216666667]", "48.85820277778",
        48.85820277778, [48.85820277778],
    ],
)  # fmt: skip
def test_angles_in_all_spellings(angle: Any) -> None:
    place, taken = parsed(GPS_GPSLatitude=angle)
    assert place == pytest.approx(PLACE)
    assert taken == "2018-01-11T13:09:38"


def test_names_without_their_block_and_noise_around_letters() -> None:
    plain = {name.rpartition(" ")[2]: value for name, value in GOOD.items()}
    tags = exif_text.parse(json.dumps(plain))
    assert exif_text.place(tags) == pytest.approx(PLACE)
    assert exif_text.taken(tags).year == 2018
    both = exif_text.parse(json.dumps({"Thumbnail DateTimeOriginal": "1999:01:01 00:00:01", **GOOD}))
    assert exif_text.taken(both).year == 2018
    assert exif_text.place(exif_text.parse(json.dumps(json.dumps(GOOD)))) == pytest.approx(PLACE)
    assert parsed(GPS_GPSLatitudeRef=" s\0", GPS_GPSLongitudeRef=["E"])[0] == pytest.approx((-PLACE[0], -PLACE[1]))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"GPS_GPSLatitude": "[97, 0, 0]"}, "out of range"),
        ({"GPS_GPSLongitude": "[181, 0, 0]"}, "out of range"),
        *(({"GPS_GPSLatitude": angle}, "no place") for angle in ("[48, 61, 0]", "[48, 51, 0/0]", "[]", None)),
        ({"GPS_GPSLatitude": "[1, 2, 3, 4]"}, "no place"),
        ({"GPS_GPSLatitude": "[0, 0, 0]", "GPS_GPSLongitude": "[0, 0, 0]"}, "no place"),
        *(({"GPS_GPSLatitudeRef": letter}, "no place") for letter in ("", "E", None)),
        *(({"EXIF_DateTimeOriginal": time}, "no time") for time in ("0000:00:00 00:00:00", "    :  :     :  :  ")),
        *(({"EXIF_DateTimeOriginal": time}, "no time") for time in ("2018:01:11", "2018:13:11 10:00:00")),
        *(({"EXIF_DateTimeOriginal": time}, "no time") for time in ("3018:01:11 10:00:00", 2018, None)),
    ],
)
def test_what_means_nothing_is_lost_for_a_reason(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(Loss) as caught:
        parsed(**changes)
    assert caught.value.reason == reason


@pytest.mark.parametrize("text", ["", "{}", "null", "[]", "{bad", '"text"', "3", "[" * 100_000])
def test_what_is_no_record_at_all(text: str) -> None:
    with pytest.raises(Loss, match="no metadata"):
        exif_text.parse(text)
