"""SkyScript from archives of the true form, over a real server."""

from __future__ import annotations

import csv
import io
import json
import pickle
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import killing
import numpy as np
import pytest
from PIL import Image
from range_server import Manners, Server, local_web, serving

from mascot.bench.datasets.folder import read_folder, splits
from mascot.bench.prepare.outcomes import Loss
from mascot.bench.prepare.recipes import prepare, settings_of
from mascot.bench.prepare.skyscript import centre
from mascot.bench.prepare.web import Web
from mascot.errors import InputError


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as state:
        yield state


def _web() -> Web:
    return local_web(timeout=5, retries=1, pause=0.01, per_host=8)


def _jpeg(number: int, side: int = 40) -> bytes:
    pixels = np.random.default_rng(number).integers(0, 255, (side, side, 3), np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG")
    return stream.getvalue()


def _record(box: Any) -> bytes:
    facts = {
        "bbox" if isinstance(box, list) else "box": box,
        "time": (2021, 7, 3, 10, 20),
        "center_tags": {"building": "church"},
        "surrounding_tags": [{"highway": "path"}],
    }
    return pickle.dumps(facts, protocol=4)


class Site:
    """What the server has: a table, and two archives for each of two parts."""

    def __init__(self, server: Server, good: int = 30) -> None:
        self.server = server
        self.rows: list[tuple[str, str, str]] = []
        self.files: dict[str, dict[str, bytes]] = {"images2": {}, "meta2": {}, "images3": {}, "meta3": {}}
        for i in range(good):
            self.add(
                f"a{i:03d}_CH_19", f"a church, a path and {i} trees", box=(8 + i / 100, 47.0, 8.02 + i / 100, 47.5)
            )

    def add(self, stem: str, caption: str, box: Any = None, **parts: Any) -> None:
        part = 2 + len(self.rows) % 2
        self.rows.append((f"images{part}/{stem}.jpg", "a church", caption))
        picture = parts.get("picture", _jpeg(len(self.rows)))
        record = parts.get("record", _record(box or (8.0, 47.0, 8.1, 47.1)))
        if picture is not None:
            self.files[f"images{part}"][f"images{part}/{stem}.jpg"] = picture
        if record is not None:
            folder = "meta2" if part == 2 else "metas3"
            self.files[f"meta{part}"][f"{folder}/{stem}.pickle"] = record

    def publish(self, **manners: Any) -> dict[str, str]:
        table = io.StringIO()
        writer = csv.writer(table)
        writer.writerow(["filepath", "title", "title_multi_objects"])
        writer.writerows(self.rows)
        base = "/SkyScript/"
        for name, members in self.files.items():
            stream = io.BytesIO()
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
                for member, data in members.items():
                    archive.writestr(zipfile.ZipInfo(member), data, zipfile.ZIP_DEFLATED)
            self.server.put(f"{base}{name}.zip", stream.getvalue(), **manners)
        url = self.server.put(f"{base}dataframe/test.csv", table.getvalue().encode())
        return {"base": self.server.url + base, "table": url}

    def reads(self) -> int:
        return sum(self.server.count(f"/SkyScript/{name}.zip", "GET") for name in self.files)


def _steps(out: Path) -> dict[str, dict[str, int]]:
    return {step["step"]: step["lost"] for step in json.loads((out / "dataset.json").read_text())["steps"]}


def test_the_whole_of_it(server: Server, tmp_path: Path) -> None:
    site = Site(server, good=20)
    site.add("b1", "a church, a path and 7 trees")  # said before
    site.add("b2", "  ")
    site.add("b3", "no picture", picture=None)
    site.add("b4", "no record", record=None)
    site.add("b5", "no box", record=pickle.dumps({"time": (2021, 7, 3, 10, 20)}))
    site.add("b6", "not on the globe", box=(8.0, 91.0, 8.1, 92.0))
    site.add("b7", "a web page", picture=b"<html>sorry</html>")
    site.add("b8", "cut off", picture=_jpeg(1, 200)[:900])
    site.add("b9", "no pickle", record=b"<html>sorry</html>")
    site.add("c1", "in an array", record=_record(np.array([10.0, 50.0, 12.0, 52.0])))
    site.add("c2", "across", box=(179.9, -17.0, -179.7, -16.8))
    site.add("c3", "large", picture=_jpeg(3, 1500))
    site.add("c4", "under another name", box=[8.0, 47.0, 8.1, 47.1])
    site.add("c5", "too small", picture=_jpeg(3, 31))
    site.rows.append(("elsewhere/d1.jpg", "", "not in an archive"))
    site.rows.append(("images2/a000_CH_19.jpg", "", "the same file under another caption"))
    steps: list[str] = []
    sources = site.publish()
    report = lambda step, *_: steps.append(step)  # noqa: E731
    prepare("skyscript", tmp_path / "out", behaviour="correct", web=_web(), report=report, **sources)
    stored = read_folder(tmp_path / "out")
    assert stored.name == "skyscript"
    assert (stored.images, stored.validation, len(stored.queries)) == (24, 4, 24)
    ids = stored.columns["id"].tolist()
    assert sorted(ids) == sorted([f"a{i:03d}_CH_19" for i in range(20)] + ["c1", "c2", "c3", "c4"])
    row = ids.index("a004_CH_19")
    assert (stored.columns["lat"][row], stored.columns["lon"][row]) == pytest.approx((47.25, 8.05))
    row = ids.index("c1")
    assert (stored.columns["lat"][row], stored.columns["lon"][row]) == (51.0, 11.0)
    assert stored.columns["path"][row] == "images3/c1.jpg"
    assert stored.columns["lon"][ids.index("c2")] == pytest.approx(-179.9)
    captions = {path.split("/")[1][:-4]: caption for path, _, caption in reversed(site.rows)}
    assert [query.positives for query in stored.queries] == [(i,) for i in range(24)]
    assert [query.text for query in stored.queries] == [captions[id_] for id_ in ids]
    for id_, file in zip(ids, stored.columns["file"], strict=True):
        with Image.open(tmp_path / "out" / file) as image:
            assert image.size == ((1024, 1024) if id_ == "c3" else (40, 40))
    assert _steps(tmp_path / "out") == {
        "captions": {"duplicate": 2, "no caption": 1, "bad address": 1},
        "places and pictures": {
            "not in archive": 2, "no place": 1, "out of range": 1, "not a picture": 2, "wrong content": 1,
            "too small": 1,
        },
        "queries": {},
    }  # fmt: skip
    assert {"download table", "directory of images2.zip", "directory of meta3.zip", "pictures"} <= set(steps)
    parts = splits(stored)
    assert [len(parts[split][1]) for split in ("validation", "test")] == [4, 20]
    facts = json.loads((tmp_path / "out" / "dataset.json").read_text())
    assert set(facts["sources"]) == {"table", "images2.zip", "images3.zip", "meta2.zip", "meta3.zip"}
    text = (tmp_path / "out" / "report.md").read_text()
    assert "b3: images2.zip" in text


def test_a_malicious_record_is_only_lost(server: Server, tmp_path: Path) -> None:
    class Runs:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "made",)

    site = Site(server, good=8)
    site.add("evil", "evil", record=pickle.dumps({"box": Runs()}))
    site.add("half", "half evil", record=pickle.dumps({"box": (8.0, 47.0, 8.1, 47.1), "time": Runs()}))
    prepare("skyscript", tmp_path / "out", web=_web(), **site.publish())
    assert not (tmp_path / "made").exists()
    assert _steps(tmp_path / "out")["places and pictures"] == {"wrong content": 1}
    assert "half" in read_folder(tmp_path / "out").columns["id"]


def test_each_image_takes_two_ranges(server: Server, tmp_path: Path) -> None:
    site = Site(server, good=30)
    sources = site.publish()
    prepare("skyscript", tmp_path / "out", web=_web(), **sources)
    first = site.reads()
    assert 2 * 30 < first <= 4 * 4 + 2 * 30  # a small directory takes a few requests
    before = killing.files(tmp_path / "out")
    prepare("skyscript", tmp_path / "out", web=_web(), **sources)
    assert site.reads() == first + 0  # nothing again
    assert killing.files(tmp_path / "out") == before
    victim = tmp_path / "out" / read_folder(tmp_path / "out").columns["file"][3]
    victim.unlink()
    prepare("skyscript", tmp_path / "out", web=_web(), **sources)
    assert site.reads() == first + 2 + 2  # the sizes of two archives, and two members
    assert killing.files(tmp_path / "out") == before


@pytest.mark.parametrize("workers", [1, 8])
def test_a_limit_takes_the_first_that_succeed(server: Server, tmp_path: Path, workers: int) -> None:
    site = Site(server, good=0)
    for i in range(30):
        site.add(f"a{i:02d}", f"caption {i}", picture=None if i in (1, 4) else _jpeg(i))
    prepare("skyscript", tmp_path / "out", limit=10, workers=workers, behaviour="correct", web=_web(), **site.publish())
    stored = read_folder(tmp_path / "out")
    assert sorted(stored.columns["id"]) == [f"a{i:02d}" for i in range(12) if i not in (1, 4)]
    assert len(list((tmp_path / "out" / "images").iterdir())) == 10
    assert _steps(tmp_path / "out")["places and pictures"] == {"not in archive": 2}


def test_servers_in_trouble(server: Server, tmp_path: Path) -> None:
    site = Site(server, good=12)
    sources = site.publish()
    server.manners["/SkyScript/images2.zip"] = Manners(statuses=[503, 429], headers={"Retry-After": "0"})
    server.manners["/SkyScript/meta2.zip"] = Manners(cut=[1, 10])
    server.manners["/SkyScript/meta3.zip"] = Manners(hang_up=1)
    web = local_web(timeout=5, retries=4, pause=0.01)
    prepare("skyscript", tmp_path / "out", web=web, **sources)
    assert read_folder(tmp_path / "out").images == 12


def test_an_archive_that_is_gone_is_an_error(server: Server, tmp_path: Path) -> None:
    site = Site(server, good=12)
    sources = site.publish()
    archive = server.files.pop("/SkyScript/meta3.zip")
    with pytest.raises(InputError, match=r"meta3\.zip: dead link"):
        prepare("skyscript", tmp_path / "out", web=_web(), **sources)
    assert not (tmp_path / "out" / "dataset.json").exists()
    server.files["/SkyScript/meta3.zip"] = archive
    prepare("skyscript", tmp_path / "out", web=_web(), **sources)
    assert read_folder(tmp_path / "out").images == 12


def test_a_table_of_another_form(server: Server, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("filepath,title\nimages2/a.jpg,church\n")
    with pytest.raises(InputError, match="must have the columns filepath, title_multi_objects, got"):
        prepare("skyscript", tmp_path / "out", web=_web(), base=server.url + "/", table=str(table))


def test_killed_and_resumed_is_as_if_never_killed(server: Server, tmp_path: Path) -> None:
    site = Site(server, good=40)
    site.add("b3", "no picture", picture=None)
    site.add("b7", "a web page", picture=b"<html>sorry</html>")
    sources = site.publish(wait=0.02)
    prepare("skyscript", tmp_path / "whole", web=_web(), **sources)
    out = tmp_path / "killed"
    start = site.reads()
    killing.kill("skyscript", out, lambda: site.reads() >= start + 40, workers=2, **sources)
    assert not (out / "dataset.json").exists()
    assert (out / "work" / "pictures.jsonl").stat().st_size > 0
    start = site.reads()
    prepare("skyscript", out, web=_web(), **sources)
    assert site.reads() - start < 80  # the rest alone, of about 100
    assert killing.files(out) == killing.files(tmp_path / "whole")


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (None, "no place"),
        ({}, "no place"),
        ({"box": (1, 2, 3)}, "no place"),
        ({"box": "8 47 9 48"}, "no place"),
        ({"box": (True, 2, 3, 4)}, "no place"),
        ({"box": (float("nan"), 2.0, 3.0, 4.0)}, "out of range"),
        ({"box": (181.0, 2.0, 182.0, 4.0)}, "out of range"),
        ({"box": (-1e-5, -1e-5, 1e-5, 1e-5)}, "no place"),
    ],
)
def test_boxes_that_are_none(record: Any, reason: str) -> None:
    with pytest.raises(Loss) as caught:
        centre(record)
    assert caught.value.reason == reason


def test_the_middle_of_a_box() -> None:
    assert centre({"box": (8, 46, 9, 48)}) == (47.0, 8.5)
    assert centre({"bbox": (8, 46, 9, 48), "box": None}) == (47.0, 8.5)
    assert centre({"box": [9.0, 48.0, 8.0, 46.0]}) == (47.0, 8.5)
    assert centre({"box": (179.0, 0.0, -179.0, 2.0)}) == (1.0, 180.0)
    assert centre({"box": (179.5, 0.0, -179.9, 2.0)}) == pytest.approx((1.0, 179.8))
    assert centre({"box": (-179.5, 0.0, 179.9, 2.0)}) == pytest.approx((1.0, -179.8))


def test_published_rows_are_shuffled_and_cut_before_captions_are_unique(server: Server, tmp_path: Path) -> None:
    site = Site(server, good=0)
    for i in range(40):
        site.add(f"a{i:02d}", f"caption {i % 30}")
    prepare("skyscript", tmp_path / "out", web=_web(), rows="25", **site.publish())
    rows = [(path, caption) for path, _, caption in site.rows]
    random.Random(42).shuffle(rows)
    captions = list(dict.fromkeys(caption for _, caption in rows[:25]))
    stored = read_folder(tmp_path / "out")
    assert sorted(query.text for query in stored.queries) == sorted(captions)
    assert settings_of("skyscript")["rows"] == 20_000
    assert stored.about["validation_queries"] is None
