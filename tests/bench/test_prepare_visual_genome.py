"""Visual Genome from a server of our own: tables of its true form, pictures with and without a time."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import killing
import pytest
from PIL import ExifTags, Image
from range_server import Server, local_web, serving

from mascot.bench.datasets.folder import read_folder, splits
from mascot.bench.prepare.recipes import prepare
from mascot.bench.prepare.visual_genome import QUERIES
from mascot.bench.prepare.web import Web
from mascot.errors import InputError

GOOD = 40  # pictures with a time
NAMES = ("person", " Sky", "TREE ", "car")  # as annotators type them


def picture(number: int, taken: str | None, size: tuple[int, int] = (300, 200)) -> bytes:
    exif = Image.Exif()
    exif[ExifTags.Base.Model] = "X100"
    if taken:
        exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = taken
    image = Image.effect_noise(size, 90).convert("RGB") if size[0] > 1000 else Image.new("RGB", size, (number, 90, 60))
    stream = io.BytesIO()
    image.save(stream, "JPEG", exif=exif, quality=95)
    return stream.getvalue()


def plain(number: int) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (60, 40), (number, 9, 9)).save(stream, "JPEG")
    return stream.getvalue()


def zipped(name: str, value: Any) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name, (2016, 1, 1, 0, 0, 0)), json.dumps(value))
    return stream.getvalue()


def fill(server: Server) -> dict[str, str]:
    """The tables and the pictures; the sources for `prepare`."""
    listing, objects = [], []

    def add(image: int, content: bytes | None, annotations: list[dict[str, Any]], **manners: Any) -> None:
        path = f"/VG_100K{'_2' if image % 2 else ''}/{image}.jpg"
        if content is not None:
            server.put(path, content, **manners)
        listing.append({
            "width": 300, "url": server.url + path, "height": 200, "image_id": image, "coco_id": None, "flickr_id": 7,
        })  # fmt: skip
        objects.append({"image_id": image, "objects": annotations, "image_url": server.url + path})

    def annotation(*names: str) -> dict[str, Any]:
        return {"synsets": ["x.n.01"], "h": 10, "object_id": 5, "merged_object_ids": [], "names": list(names), "w": 3,
                "y": 1, "x": 2}  # fmt: skip

    for i in range(GOOD):
        # Every picture has a person; one in two the sky, one in three a tree, and so on.
        annotations = [annotation("shoe", name) for step, name in enumerate(NAMES, 1) if i % step == 0] + [
            annotation("skyline")
        ]
        annotations += [annotation("dog")] * (i == 3)
        add(2 * i + 1, picture(i, f"2012:06:{1 + i % 28:02d} {i % 24:02d}:15:00"), annotations)
        add(2 * i + 2, plain(i) if i % 2 else picture(i, None), [annotation("person"), annotation("apple")])
    add(1001, b"", [], always=404)
    add(1002, b"<html><body>moved</body></html>", [])
    add(1003, picture(9, "0000:00:00 00:00:00"), [annotation("dog")])
    add(1004, picture(3, "2013:01:01 10:00:00"), [annotation("bird")], redirect="/elsewhere.jpg")
    server.put("/elsewhere.jpg", picture(3, "2013:01:01 10:00:00"))
    add(1005, picture(4, "2013:02:02 11:30:00", (1500, 1100)), [annotation("person")], no_ranges=True)
    add(1006, picture(5, "2013:03:03 12:45:00", (1500, 1100))[:70_000], [annotation("person")])  # its end is missing
    add(1007, picture(6, "2013:04:04 13:00:00"), [annotation("person")], statuses=[503, 500])
    listing.append(dict(listing[0]))
    listing.append({"image_id": 5000, "url": None})
    return {
        "images": server.put("/image_data.json.zip", zipped("image_data.json", listing)),
        "objects": server.put("/objects.json.zip", zipped("objects.json", objects)),
    }


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as state:
        yield state


def web() -> Web:
    return local_web(timeout=5.0, retries=2, pause=0.01)


def test_the_whole_recipe(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    steps: dict[str, int] = {}
    report = lambda step, count, _: steps.update({step: count})  # noqa: E731
    prepare("visual-genome", tmp_path, behaviour="correct", web=web(), report=report, **sources)
    stored = read_folder(tmp_path)
    assert stored.name == "visual-genome"
    assert set(stored.columns) == {"id", "file", "taken", "url"}
    ids = stored.columns["id"].tolist()
    assert sorted(map(int, ids)) == [*range(1, 2 * GOOD, 2), 1004, 1005, 1007]
    assert stored.validation == 43 // 5
    taken = dict(zip(ids, stored.columns["taken"].tolist(), strict=True))
    assert str(taken["1005"]).startswith("2013-02-02T11:30:00")
    for id_, file in zip(ids, stored.columns["file"].tolist(), strict=True):
        assert (tmp_path / file).read_bytes().startswith(b"\xff\xd8"), id_
    at = tmp_path / stored.columns["file"][ids.index("1005")]
    assert at.read_bytes() == server.files["/VG_100K_2/1005.jpg"]  # as it is: only PixelProse is made smaller

    row = {id_: i for i, id_ in enumerate(ids)}
    queries = {query.text: query.positives for query in stored.queries}
    assert set(queries) <= set(QUERIES)
    assert list(queries) == [name for name in QUERIES if name in queries]
    sky = sorted(row[str(2 * i + 1)] for i in range(0, GOOD, 2))
    assert list(queries["sky"]) == sky  # "skyline" is no sky, " Sky" is
    assert len(queries["person"]) == GOOD + 2
    assert not {"dog", "bird", "apple"} & set(queries)  # too few, or none among what was kept
    both = splits(stored)
    for number, query in enumerate(stored.queries):
        early = sum(positive < stored.validation for positive in query.positives)
        assert min(early, len(query.positives) - early) >= 2
        assert all(number in numbers for _, numbers in both.values())

    losses = {step["step"]: step["lost"] for step in stored.about["steps"]}
    assert losses["list"] == {"duplicate": 1, "bad address": 1}
    assert losses["time and picture"] == {
        "dead link": 1, "no metadata": GOOD // 2, "no time": GOOD // 2 + 1, "not a picture": 2,
    }  # fmt: skip
    assert losses["queries"]["few positives"] == 15 - len(queries)
    assert stored.about["sources"]["images"]["url"] == sources["images"]
    assert len(stored.about["sources"]["objects"]["sha256"]) == 64
    assert steps["pictures"] == 2 * GOOD + 7
    assert {"download images", "download objects", "pictures"} <= set(steps)


def test_only_the_beginning_is_read_where_there_is_no_time(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    large = picture(1, None, (1500, 1100))
    assert len(large) > 4 * 65_536
    server.put("/VG_100K/2.jpg", large)
    prepare("visual-genome", tmp_path, web=web(), **sources)
    assert server.sent["/VG_100K/2.jpg"] == 65_536


def test_a_second_run_asks_for_nothing_and_changes_nothing(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    prepare("visual-genome", tmp_path, web=web(), **sources)
    before, numbers = killing.files(tmp_path), len(server.requests)
    prepare("visual-genome", tmp_path, web=web(), **sources)
    assert killing.files(tmp_path) == before
    assert len(server.requests) == numbers
    victim = sorted((tmp_path / "images").iterdir())[0]
    victim.unlink()
    prepare("visual-genome", tmp_path, web=web(), **sources)
    assert killing.files(tmp_path) == before
    assert len(server.requests) == numbers + 2


def test_the_first_in_order_are_the_limit(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    server.put("/VG_100K_2/5.jpg", picture(2, "2012:06:03 02:15:00")[:-300])  # has a time, but no end
    prepare("visual-genome", tmp_path / "few", web=web(), limit=30, workers=3, **sources)
    stored = read_folder(tmp_path / "few")
    expected = [i for i in range(1, 2 * GOOD, 2) if i != 5][:30]
    assert sorted(map(int, stored.columns["id"].tolist())) == expected
    assert len(list((tmp_path / "few" / "images").iterdir())) == 30
    assert server.count("/VG_100K_2/1007.jpg") == 0
    for workers in (1, 8):
        prepare("visual-genome", tmp_path / str(workers), web=web(), limit=30, workers=workers, **sources)
        assert killing.files(tmp_path / str(workers)) == killing.files(tmp_path / "few")


def test_a_server_that_was_down_is_asked_again_by_the_next_run(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    server.put("/VG_100K_2/9.jpg", server.files["/VG_100K_2/9.jpg"], always=503)  # type: ignore[arg-type]
    prepare("visual-genome", tmp_path, web=web(), **sources)
    assert "9" not in read_folder(tmp_path).columns["id"].tolist()
    server.manners.pop("/VG_100K_2/9.jpg")
    prepare("visual-genome", tmp_path, web=web(), **sources)
    assert "9" in read_folder(tmp_path).columns["id"].tolist()


def test_tables_may_lie_on_this_machine_and_pictures_on_a_mirror(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    listing = json.loads(zipfile.ZipFile(io.BytesIO(server.files["/image_data.json.zip"])).read("image_data.json"))  # type: ignore[arg-type]
    for entry in listing:
        entry["url"] = (entry["url"] or "").replace(server.url, "https://elsewhere.invalid/deep")
    (tmp_path / "image_data.json").write_text(json.dumps(listing))
    (tmp_path / "objects.zip").write_bytes(server.files["/objects.json.zip"])  # type: ignore[arg-type]
    prepare(
        "visual-genome", tmp_path / "out", web=web(), limit=40,
        images=str(tmp_path / "image_data.json"), objects=str(tmp_path / "objects.zip"), pictures=server.url + "/",
    )  # fmt: skip
    assert len(read_folder(tmp_path / "out").columns["id"]) == 40
    with pytest.raises(InputError, match="source images must be a web address or a file, got 'nowhere'"):
        prepare("visual-genome", tmp_path / "b", web=web(), images="nowhere", objects=sources["objects"])


@pytest.mark.parametrize("content", [b"<html>", b'[{"image_id": 1, "url": ', b"PK\3\4broken"])
def test_tables_that_are_none_are_named(server: Server, tmp_path: Path, content: bytes) -> None:
    sources = fill(server)
    server.put("/image_data.json.zip", content)
    with pytest.raises(InputError, match=r"images\.json\.zip must be a JSON list of objects"):
        prepare("visual-genome", tmp_path, web=web(), **sources)


def test_a_killed_preparation_goes_on_to_the_same_result(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    prepare("visual-genome", tmp_path / "whole", web=web(), workers=3, **sources)
    expected = killing.files(tmp_path / "whole")
    assert len(expected) == 43 + 5

    server.requests.clear()
    server.sent.clear()
    server.put("/objects.json.zip", server.files["/objects.json.zip"], pace=0.5)  # type: ignore[arg-type]
    last = "/VG_100K_2/1007.jpg"
    server.put(last, server.files[last], wait=0.5)  # type: ignore[arg-type]  # time for a kill before the end
    out = tmp_path / "killed"
    options = {"workers": 3, **sources}
    killing.kill("visual-genome", out, lambda: server.count("/objects.json.zip") == 2, **options)
    server.manners.pop("/objects.json.zip")
    killing.kill("visual-genome", out, lambda: len(server.requests) > 30, **options)  # in the middle of the times
    assert not (out / "dataset.json").exists()
    killing.kill("visual-genome", out, lambda: len(list((out / "images").glob("*.jpg"))) > 5, **options)
    assert not (out / "dataset.json").exists()
    prepare("visual-genome", out, web=web(), **options)
    assert killing.files(out) == expected
    assert server.count("/image_data.json.zip") == 2  # its size, and the one piece that it has
