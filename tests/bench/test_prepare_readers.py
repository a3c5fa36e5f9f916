"""The parsers of recipes: EXIF in JSON, boxes, annotations, places of hosts, and members of remote archives."""

from __future__ import annotations

import json
import random
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mascot.bench.prepare import exif_text, skyscript
from mascot.bench.prepare import incidents1m as incidents
from mascot.bench.prepare.outcomes import Loss
from mascot.bench.prepare.skyscript import Member, centre
from mascot.bench.prepare.web import Web
from mascot.errors import InputError
from tests.bench.range_server import Server, local_web
from tests.bench.recipe_worlds import exif, zipped

PLACE = (48 + 51 / 60 + 29 / 3600, 2 + 17 / 60 + 40 / 3600)


def reason(call: Any, *arguments: Any) -> str:
    with pytest.raises(Loss) as caught:
        call(*arguments)
    return caught.value.reason


LAT, LON, CLOCK = (*PLACE, "2018-01-11T13:09:38")
STUDY: list[tuple[dict[str, Any], Any]] = [  # what the study read: latitude, longitude and time, or why it read nothing
    ({}, (LAT, LON, CLOCK)),
    ({"taken": "0000:00:00 00:00:00"}, (LAT, LON, "0001-01-01T00:00:00")),
    ({"taken": "2018:02:30 09:30:00"}, (LAT, LON, "2018-01-01T09:30:00")),
    ({"taken": "1601:01:01 08:15:00"}, (LAT, LON, "1601-01-01T08:15:00")),
    ({"taken": "2018:01:11 13:09"}, (LAT, LON, "2018-01-11T13:09:00")),
    ({"taken": "    :  :     :  :  "}, "no time"),
    ({"EXIF_DateTimeOriginal": None, "DateTimeOriginal": "2018:01:11 13:09:38"}, "no time"),
    ({"lat": "[48, 51, 4467]"}, (48 + 51 / 60 + 4467 / 3600, LON, CLOCK)),
    ({"lat": "[95, 0, 0]"}, (95.0, LON, CLOCK)),  # dropped when its picture would be downloaded
    ({"GPS_GPSLatitudeRef": "S", "GPS_GPSLongitudeRef": "W"}, (-LAT, -LON, CLOCK)),
    ({"GPS_GPSLatitudeRef": None}, "no place"),
    ({"lat": "[0, 0, 0]"}, "no place"),
    ({"lat": "[48, 51, 2953/100]"}, "no whole numbers"),
]


@pytest.mark.parametrize(
    ("changes", "expected"), STUDY, ids=lambda value: str(value) if isinstance(value, dict) else ""
)
def test_the_study_reads_times_and_angles_in_its_own_way(changes: dict[str, Any], expected: Any) -> None:
    tags = exif_text.read_tags(exif(**changes))

    def study() -> tuple[float, float, str]:
        return *exif_text.study_place(tags), exif_text.study_time(tags.get("EXIF DateTimeOriginal")).isoformat()

    if isinstance(expected, str):
        assert reason(study) == expected
    else:
        assert study() == (pytest.approx(expected[0]), pytest.approx(expected[1]), expected[2])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0000:00:00 00:00:00", "00:00"),
        ("3018:01:11 10:30:00", "10:30"),
        ("garbage 09:05", "09:05"),
        ("2018:01:11", ""),
    ],
)
def test_a_clock_alone_is_read_whatever_the_date(text: str, expected: str) -> None:
    if expected:
        assert f"{exif_text.study_time(text, clock_alone=True):%H:%M}" == expected
    else:
        assert reason(exif_text.study_time, text, True) == "no time"


def test_the_middle_of_a_box() -> None:
    assert centre({"bbox": (8, 46, 9, 48), "box": None}) == (47.0, 8.5)
    assert centre({"box": [9.0, 48.0, 8.0, 46.0]}) == (47.0, 8.5)
    assert centre({"box": (179.5, 0.0, -179.9, 2.0)}) == pytest.approx((1.0, 179.8))
    assert centre({"box": (-179.5, 0.0, 179.9, 2.0)}) == pytest.approx((1.0, -179.8))
    records = [None, {}, {"box": "8 47 9 48"}, {"box": (1, 2, 3)}, {"box": (-1e-5, -1e-5, 1e-5, 1e-5)}]
    assert {reason(centre, record) for record in records} == {"no place"}
    assert reason(centre, {"box": (float("nan"), 2.0, 182.0, 4.0)}) == "out of range"


def test_services_are_asked_in_the_order_of_their_names(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"geolocation-db": "db", "ip-api": "api"}
    for name, path in names.items():
        monkeypatch.setitem(incidents.SERVICES, name, f"{server.url}/{path}/{{ip}}")
    answers: dict[str, Any] = {
        "/db/127.0.0.1": {"latitude": 48.85, "longitude": 2.35},
        "/db/127.0.0.2": {"latitude": "Not found", "longitude": "Not found"},
        "/api/127.0.0.2": {"status": "success", "lat": 3.0, "lon": 4.0},
        "/db/127.0.0.3": {"latitude": 0.0, "longitude": 0.0},
        **{f"/api/127.0.0.{host}": {"status": "fail"} for host in (3, 4)},
    }
    for path, values in answers.items():
        server.put(path, json.dumps(values).encode())
    server.put("/db/127.0.0.4", b"", always=503)
    published = incidents.from_services(local_web(retries=0, pause=0))
    assert published("127.0.0.1") == {"ip": "127.0.0.1", "lat": 48.85, "lon": 2.35, "source": "geolocation-db"}
    assert published("127.0.0.2")["source"] == "ip-api"
    assert reason(published, "127.0.0.3") == "no place"
    assert [request.path for request in server.requests][:3] == ["/db/127.0.0.1", "/db/127.0.0.2", "/api/127.0.0.2"]
    assert reason(published, "127.0.0.4") == "no answer"  # which is not a host without a place


def moves(count: int) -> Any:
    places = np.tile((10.001, 20.004), (count, 1))
    return incidents.scattered([f"image {i}" for i in range(count)], places, 0) - places


def test_published_noise_grows_with_the_earlier_images_and_is_not_capped() -> None:
    widths = np.abs(moves(400))
    assert (widths.max(axis=1) <= 0.001 * np.arange(400)).all()
    assert (widths / (0.001 * np.maximum(np.arange(400), 1))[:, None]).mean() == pytest.approx(0.5, abs=0.05)
    near = np.array([[10.00001, 20.0], [10.00002, 20.0], [10.0003, 20.0]])  # compared to four decimals
    moved = incidents.scattered(["a", "b", "c"], near, 0) - near
    assert np.abs(moved).max(axis=1).astype(bool).tolist() == [False, True, False]


NOISE = random.Random(7).randbytes(5000)
TEXT = b"all work and no play " * 200


@pytest.fixture
def web() -> Web:
    return local_web(retries=1)


def directory(web: Web, url: str, stems: set[str], path: Path) -> dict[str, Member]:
    return skyscript.directory(web, url, stems, ".jpg", path / "a.jsonl", lambda *_: None)


@pytest.mark.parametrize("shape", ["descriptors", "zip64", "prefix", "long header"])
def test_members_are_found_by_their_stem_and_read_with_one_request(
    server: Server, web: Web, tmp_path: Path, shape: str
) -> None:
    members = {"i/a.jpg": NOISE, "deep/er/b_CH.JPG": TEXT, "i/c.jpg": b"", "i/d.jpg": NOISE[::-1]}
    others = {"i/": b"", "i/a.txt": b"no", "i/e.jpg": b"not asked for", "j/a.jpg": b"not the first"}
    url = server.put("/a.zip", zipped(members | others, shape=shape))
    selection = directory(web, url, {"a", "b_CH", "c", "d", "absent"}, tmp_path)
    assert {member.name for member in selection.values()} == set(members)
    before = server.count("/a.zip")
    assert {member.name: member.read(web, url) for member in selection.values()} == members
    assert server.count("/a.zip") - before == 4 or shape == "long header"


def test_a_directory_is_read_once_in_pieces_and_the_members_alone(
    server: Server, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {f"images2/a{i:05d}_with_a_rather_long_name.jpg": b"%d" % i for i in range(1500)}
    rubbish = random.Random(1).randbytes(1_000_000)
    url = server.put("/a.zip", zipped({"i/big.jpg": rubbish, **members}))
    monkeypatch.setattr(skyscript, "_PIECE", 25_000)
    stems = {"a01234_with_a_rather_long_name"}
    first = directory(web, url, stems, tmp_path)
    assert next(iter(first.values())).read(web, url) == b"1234"
    assert server.sent["/a.zip"] < 1500 * (46 + 42) + 3 * 65536 + 1000  # the directory, and less than the large member
    before = server.count("/a.zip")
    assert directory(web, url, stems, tmp_path) == first
    assert server.count("/a.zip") == before + 1  # the size
    stems = {"a00007_with_a_rather_long_name"}
    assert set(directory(web, url, stems, tmp_path)) == stems  # another question
    server.put("/a.zip", zipped({"i/new.jpg": TEXT, **members}))
    (member,) = directory(web, url, stems, tmp_path).values()  # another archive
    assert member.read(web, url) == b"7"
    (tmp_path / "a.jsonl").write_text("{torn")
    assert set(directory(web, url, stems, tmp_path)) == stems


def test_damage_is_noticed_and_a_bomb_does_not_go_off(server: Server, web: Web, tmp_path: Path) -> None:
    content = zipped({"i/a.jpg": NOISE, "i/b.jpg": TEXT}, zipfile.ZIP_STORED)
    url = server.put("/a.zip", content)
    member = directory(web, url, {"a", "b"}, tmp_path)["a"]
    at = content.index(NOISE) + 100
    damage = {
        r"i/a\.jpg: .*damaged": content[:at] + b"?" + content[at + 1 :],
        "not where the directory says": b"x" + content,  # another archive, everything a byte further on
        "encrypted": content[:6] + bytes([content[6] | 1]) + content[7:],
        "dead link|no answer|not where": content[:20],
    }
    for words, damaged in damage.items():
        server.put("/a.zip", damaged)
        with pytest.raises(Loss, match=words):
            member.read(web, url)
    url = server.put("/bomb.zip", zipped({"i/a.jpg": bytes(5_000_000)}))
    member = directory(web, url, {"a"}, tmp_path)["a"]
    with pytest.raises(Loss, match="too large"):
        member.read(web, url, most=1 << 20)
    with pytest.raises(Loss, match="damaged"):
        replace(member, size=100, crc=zlib.crc32(bytes(100))).read(web, url)


def test_what_is_no_archive(server: Server, web: Web, tmp_path: Path) -> None:
    urls = {
        "must be a zip archive": server.put("/a.zip", b"PK\5\6" + b"\xff" * 18),
        "no ranges": server.put("/b.zip", zipped({"i/a.jpg": NOISE}), no_ranges=True),
        r"c\.zip: dead link .*run the same command again": server.url + "/c.zip",
    }
    for words, url in urls.items():
        with pytest.raises(InputError, match=words):
            directory(web, url, {"a"}, tmp_path)
