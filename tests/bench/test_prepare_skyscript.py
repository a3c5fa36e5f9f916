"""SkyScript from archives of the true form, over a real server, and members of any archive."""

from __future__ import annotations

import csv
import io
import pickle
import random
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from preparing import files, jpeg, losses, prepare
from range_server import Manners, Server, local_web, serving

from mascot.bench.datasets.folder import read_folder
from mascot.bench.prepare import archives
from mascot.bench.prepare.archives import Member
from mascot.bench.prepare.outcomes import Loss
from mascot.bench.prepare.recipes import settings_of
from mascot.bench.prepare.skyscript import centre
from mascot.bench.prepare.web import Web
from mascot.errors import InputError


def _record(box: Any) -> bytes:
    name = "bbox" if isinstance(box, list) else "box"
    return pickle.dumps({name: box, "time": (2021, 7, 3, 10, 20), "center_tags": {"building": "church"}}, protocol=4)


class Site:
    """What the server has: a table, and two archives for each of two parts."""

    def __init__(self, server: Server, good: int = 0) -> None:
        self.server = server
        self.rows: list[tuple[str, str, str]] = []
        self.files: dict[str, dict[str, bytes]] = {"images2": {}, "meta2": {}, "images3": {}, "meta3": {}}
        for i in range(good):
            self.add(f"a{i:03d}_CH_19", f"a church and {i} trees", box=(8 + i / 100, 47.0, 8.02 + i / 100, 47.5))

    def add(self, stem: str, caption: str, box: Any = (8.0, 47.0, 8.1, 47.1), **parts: Any) -> None:
        part = 2 + len(self.rows) % 2
        self.rows.append((f"images{part}/{stem}.jpg", "a church", caption))
        picture, record = parts.get("picture", jpeg(len(self.rows))), parts.get("record", _record(box))
        if picture is not None:
            self.files[f"images{part}"][f"images{part}/{stem}.jpg"] = picture
        if record is not None:
            self.files[f"meta{part}"][f"{'meta2' if part == 2 else 'metas3'}/{stem}.pickle"] = record

    def publish(self) -> dict[str, str]:
        table = io.StringIO()
        csv.writer(table).writerows([("filepath", "title", "title_multi_objects"), *self.rows])
        for name, members in self.files.items():
            self.server.put(f"/SkyScript/{name}.zip", _packed(members))
        url = self.server.put("/SkyScript/dataframe/test.csv", table.getvalue().encode())
        return {"base": self.server.url + "/SkyScript/", "table": url}

    def reads(self) -> int:
        return sum(self.server.count(f"/SkyScript/{name}.zip", "GET") for name in self.files)


def test_the_whole_recipe(server: Server, tmp_path: Path) -> None:
    site = Site(server, good=20)
    site.add("b1", "a church and 7 trees")  # as an earlier one
    site.add("b2", "  ")
    site.add("b3", "no picture", picture=None)
    site.add("b4", "no record", record=None)
    site.add("b5", "no box", record=pickle.dumps({"time": (2021, 7, 3, 10, 20)}))
    site.add("b6", "not on the globe", box=(8.0, 91.0, 8.1, 92.0))
    site.add("b7", "a web page", picture=b"<html>sorry</html>")
    site.add("b8", "cut off", picture=jpeg(1, (200, 200))[:900])
    site.add("b9", "no pickle", record=b"<html>sorry</html>")
    site.add("c1", "in an array", box=np.array([10.0, 50.0, 12.0, 52.0]))
    site.add("c2", "across", box=(179.9, -17.0, -179.7, -16.8))
    site.add("c3", "large", picture=jpeg(3, (1500, 1500)))
    site.add("c4", "under another name", box=[8.0, 47.0, 8.1, 47.1])
    site.add("c5", "too small", picture=jpeg(3, (31, 31)))
    site.rows.append(("elsewhere/d1.jpg", "", "not in an archive"))
    site.rows.append(("images2/a000_CH_19.jpg", "", "the same file under another caption"))
    steps, sources, out = list[str](), site.publish(), tmp_path / "out"
    prepare("skyscript", out, behaviour="correct", report=lambda step, *_: steps.append(step), **sources)
    stored = read_folder(out)
    assert (stored.name, stored.images, stored.validation, len(stored.queries)) == ("skyscript", 24, 4, 24)
    ids = stored.columns["id"].tolist()
    assert sorted(ids) == sorted([f"a{i:03d}_CH_19" for i in range(20)] + ["c1", "c2", "c3", "c4"])
    places = {id_: (stored.columns["lat"][i], stored.columns["lon"][i]) for i, id_ in enumerate(ids)}
    assert places["a004_CH_19"] == pytest.approx((47.25, 8.05))
    assert places["c1"] == (51.0, 11.0)
    assert places["c2"] == pytest.approx((-16.9, -179.9))
    assert stored.columns["path"][ids.index("c1")] == "images3/c1.jpg"
    captions = {path.split("/")[1][:-4]: caption for path, _, caption in reversed(site.rows)}
    assert [(query.text, query.positives) for query in stored.queries] == [
        (captions[id_], (i,)) for i, id_ in enumerate(ids)
    ]
    for id_, file in zip(ids, stored.columns["file"], strict=True):
        with Image.open(out / file) as image:
            assert image.size == ((1024, 1024) if id_ == "c3" else (50, 40))
    assert losses(out) == {
        "captions": {"duplicate": 2, "no caption": 1, "bad address": 1},
        "places and pictures": {
            "not in archive": 2, "no place": 1, "out of range": 1, "not a picture": 2, "wrong content": 1,
            "too small": 1,
        },
        "queries": {},
    }  # fmt: skip
    assert {"download table", "directory of images2.zip", "directory of meta3.zip", "pictures"} <= set(steps)
    assert set(stored.about["sources"]) == {"table", "images2.zip", "images3.zip", "meta2.zip", "meta3.zip"}
    assert "b3: images2.zip" in (out / "report.md").read_text()


def test_a_malicious_record_is_only_lost(server: Server, tmp_path: Path) -> None:
    class Runs:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "victim",)

    site = Site(server, good=8)
    site.add("evil", "evil", record=pickle.dumps({"box": Runs()}))
    site.add("half", "half evil", record=pickle.dumps({"box": (8.0, 47.0, 8.1, 47.1), "time": Runs()}))
    prepare("skyscript", tmp_path / "out", **site.publish())
    assert not (tmp_path / "victim").exists()
    assert losses(tmp_path / "out")["places and pictures"] == {"wrong content": 1}
    assert "half" in read_folder(tmp_path / "out").columns["id"]


def test_each_image_takes_two_ranges_even_from_servers_in_trouble(server: Server, tmp_path: Path) -> None:
    site, out = Site(server, good=20), tmp_path / "out"
    sources = site.publish()
    prepare("skyscript", out, **sources)
    first = site.reads()
    assert 2 * 20 < first <= 4 * 4 + 2 * 20  # a small directory takes a few requests
    before = files(out)
    (out / read_folder(out).columns["file"][3]).unlink()
    prepare("skyscript", out, **sources)
    assert site.reads() == first + 2 + 2  # the sizes of two archives, and two members
    assert files(out) == before
    server.manners |= {
        "/SkyScript/images2.zip": Manners(statuses=[503, 429], headers={"Retry-After": "0"}),
        "/SkyScript/meta2.zip": Manners(cut=[1, 10]),
        "/SkyScript/meta3.zip": Manners(hang_up=1),
    }
    prepare("skyscript", tmp_path / "trouble", **sources)
    assert files(tmp_path / "trouble") == before


def test_an_archive_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with serving() as server:  # its own: the threads of a preparation that fails may end later
        sources = Site(server, good=12).publish()
        del server.files["/SkyScript/meta3.zip"]
        with pytest.raises(InputError, match=r"meta3\.zip: dead link"):  # a whole part of the dataset would be missing
            prepare("skyscript", tmp_path, **sources)
    assert not (tmp_path / "dataset.json").exists()


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        *((record, "no place") for record in (None, {}, {"box": (1, 2, 3)}, {"box": "8 47 9 48"})),
        *(({"box": box}, "no place") for box in ((True, 2, 3, 4), (-1e-5, -1e-5, 1e-5, 1e-5))),
        *(({"box": (west, 2.0, 182.0, 4.0)}, "out of range") for west in (float("nan"), 181.0)),
    ],
)
def test_boxes_that_are_none(record: Any, reason: str) -> None:
    with pytest.raises(Loss, match=reason):
        centre(record)


def test_the_middle_of_a_box() -> None:
    assert centre({"box": (8, 46, 9, 48)}) == (47.0, 8.5)
    assert centre({"bbox": (8, 46, 9, 48), "box": None}) == (47.0, 8.5)
    assert centre({"box": [9.0, 48.0, 8.0, 46.0]}) == (47.0, 8.5)
    assert centre({"box": (179.0, 0.0, -179.0, 2.0)}) == (1.0, 180.0)
    assert centre({"box": (179.5, 0.0, -179.9, 2.0)}) == pytest.approx((1.0, 179.8))
    assert centre({"box": (-179.5, 0.0, 179.9, 2.0)}) == pytest.approx((1.0, -179.8))


def test_published_rows_are_shuffled_and_cut_before_captions_are_unique(server: Server, tmp_path: Path) -> None:
    site = Site(server)
    for i in range(24):
        site.add(f"a{i:02d}", f"caption {i % 18}")
    prepare("skyscript", tmp_path, rows="16", **site.publish())
    captions = [caption for *_, caption in site.rows]
    random.Random(42).shuffle(captions)
    stored = read_folder(tmp_path)
    assert sorted(query.text for query in stored.queries) == sorted(set(captions[:16]))
    assert settings_of("skyscript")["rows"] == 20_000
    assert stored.about["validation_queries"] is None


# Members of archives that stay on their server

NOISE = random.Random(7).randbytes(5000)
TEXT = b"all work and no play " * 200


class _Unseekable(io.BytesIO):
    """A stream that cannot go back, so that sizes come after the members."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: Any) -> int:
        raise OSError("not seekable")

    tell = seek


def _packed(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED, shape: str = "plain") -> bytes:
    stream = _Unseekable() if shape == "descriptors" else io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            if shape == "long header":
                info.extra = b"\xfe\xca" + (2000).to_bytes(2, "little") + b"x" * 2000
            info.compress_type = compression
            with archive.open(info, "w", force_zip64=shape == "zip64") as member:
                member.write(data)
    return b"#!/bin/sh\n" * 300 * (shape == "prefix") + stream.getvalue()


@pytest.fixture
def web() -> Web:
    return local_web(retries=1)


def directory(web: Web, url: str, stems: set[str], path: Path, report: Any = lambda *_: None) -> dict[str, Member]:
    return archives.directory(web, url, stems, ".jpg", path / "a.jsonl", report)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("shape", ["plain", "descriptors", "zip64", "prefix", "long header"])
def test_members_are_found_by_their_stem_and_read_with_one_request(
    server: Server, web: Web, tmp_path: Path, method: int, shape: str
) -> None:
    members = {"i/a.jpg": NOISE, "deep/er/b_CH.JPG": TEXT, "i/c.jpg": b"", "i/d.jpg": NOISE[::-1]}
    others = {"i/": b"", "i/a.txt": b"no", "i/e.jpg": b"not asked for", "j/a.jpg": b"not the first"}
    url = server.put("/a.zip", _packed(members | others, method, shape))
    selection = directory(web, url, {"a", "b_CH", "c", "d", "absent"}, tmp_path)
    assert {member.name for member in selection.values()} == set(members)
    before = server.count("/a.zip")
    assert {member.name: member.read(web, url) for member in selection.values()} == members
    second = sum(member.compressed > 0 for member in selection.values()) if shape == "long header" else 0
    assert server.count("/a.zip") - before == 4 + second


def test_a_directory_is_read_once_in_pieces_and_the_members_alone(
    server: Server, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {f"images2/a{i:05d}_with_a_rather_long_name.jpg": b"%d" % i for i in range(3000)}
    rubbish = random.Random(1).randbytes(2_000_000)
    url = server.put("/a.zip", _packed({"i/big.jpg": rubbish, **members}))
    monkeypatch.setattr(archives, "_PIECE", 50_000)
    reports: list[tuple[int, int | None]] = []
    stems = {"a01234_with_a_rather_long_name"}
    (member,) = directory(web, url, stems, tmp_path, lambda *step: reports.append(step)).values()
    assert member.read(web, url) == b"1234"
    size = 3000 * (46 + len("images2/a00000_with_a_rather_long_name.jpg"))
    assert reports[-1][1] == len(server.files["/a.zip"])
    assert size < server.sent["/a.zip"] < size + 3 * 65536 + 1000
    assert server.count("/a.zip") <= 6 + -(-size // 50_000) + 1


def test_damage_is_noticed(server: Server, web: Web, tmp_path: Path) -> None:
    content = _packed({"i/a.jpg": NOISE, "i/b.jpg": TEXT}, zipfile.ZIP_STORED)
    url = server.put("/a.zip", content)
    members = directory(web, url, {"a", "b"}, tmp_path)
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
            members["a"].read(web, url)


def test_a_bomb_does_not_go_off(server: Server, web: Web, tmp_path: Path) -> None:
    url = server.put("/a.zip", _packed({"i/a.jpg": bytes(5_000_000)}))
    member = directory(web, url, {"a"}, tmp_path)["a"]
    with pytest.raises(Loss, match="too large"):
        member.read(web, url, most=1 << 20)
    with pytest.raises(Loss, match="damaged"):
        replace(member, size=100, crc=zlib.crc32(bytes(100))).read(web, url)


@pytest.mark.parametrize(
    ("content", "manners", "words"),
    [
        (b"<html>sorry</html>", {}, "must be a zip archive"),
        (b"", {}, "the archive .*dead link"),
        (b"PK\5\6" + b"\xff" * 18, {}, "must be a zip archive"),
        (b"x" * 100_000, {}, "must be a zip archive"),
        (_packed({"i/a.jpg": NOISE}), {"no_ranges": True}, "no ranges"),
        (b"", {"always": 404}, r"a\.zip: dead link .*run the same command again"),
    ],
)
def test_what_is_no_archive(
    server: Server, web: Web, tmp_path: Path, content: bytes, manners: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        directory(web, server.put("/a.zip", content, **manners), {"a"}, tmp_path)


def test_a_directory_that_lies(server: Server, web: Web, tmp_path: Path) -> None:
    content = bytearray(_packed({"i/a.jpg": NOISE}))
    offset = content.rindex(b"PK\1\2") + 42
    content[offset : offset + 4] = (2**31).to_bytes(4, "little")  # the member is after the end
    url = server.put("/a.zip", bytes(content))
    with pytest.raises((InputError, Loss), match=r"must be a zip archive|status 416"):
        directory(web, url, {"a"}, tmp_path)["a"].read(web, url)


def test_the_directory_is_remembered(server: Server, web: Web, tmp_path: Path) -> None:
    members = {f"i/a{i}.jpg": NOISE[:i] for i in range(100)}
    url = server.put("/a.zip", _packed(members))
    first = directory(web, url, {"a7", "a8"}, tmp_path)
    before = server.count("/a.zip")
    assert directory(web, url, {"a8", "a7"}, tmp_path) == first
    assert server.count("/a.zip") == before + 1  # the size
    assert set(directory(web, url, {"a7", "a9"}, tmp_path)) == {"a7", "a9"}  # another question
    server.put("/a.zip", _packed({"i/new.jpg": TEXT, **members}))
    assert directory(web, url, {"a7", "a9"}, tmp_path)["a7"].read(web, url) == NOISE[:7]  # another archive
    (tmp_path / "a.jsonl").write_text("{torn")
    assert set(directory(web, url, {"a7"}, tmp_path)) == {"a7"}
