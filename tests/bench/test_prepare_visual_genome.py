"""Visual Genome from a server of our own: tables of its true form, pictures with and without a time."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from PIL import ExifTags, Image
from preparing import files, jpeg, losses, prepare
from range_server import Server

from mascot.bench.datasets.folder import read_folder
from mascot.bench.prepare.visual_genome import QUERIES
from mascot.errors import InputError

GOOD = 24  # pictures with a time
NAMES = ("person", " Sky", "TREE ", "car")  # as annotators type them
LARGE = {"size": (1500, 1100), "noise": True}


def picture(number: int, taken: str | None, **options: Any) -> bytes:
    exif = Image.Exif()
    exif[ExifTags.Base.Model] = "X100"
    if taken:
        exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = taken
    return jpeg(number, exif=exif, **options)


def zipped(name: str, value: Any) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, json.dumps(value))
    return stream.getvalue()


def fill(server: Server) -> dict[str, str]:
    """The tables and the pictures; the sources for `prepare`."""
    listing: list[dict[str, Any]] = []
    objects = []

    def add(image: int, content: bytes, *names: str, **manners: Any) -> None:
        url = server.put(f"/VG_100K{'_2' if image % 2 else ''}/{image}.jpg", content, **manners)
        listing.append({"width": 300, "url": url, "height": 200, "image_id": image, "coco_id": None})
        annotations = [{"synsets": ["x.n.01"], "object_id": 5, "names": ["shoe", name], "w": 3} for name in names]
        objects.append({"image_id": image, "objects": annotations, "image_url": url})

    for i in range(GOOD):
        # Every picture has a person; one in two the sky, one in three a tree, and so on.
        names = [name for step, name in enumerate(NAMES, 1) if i % step == 0] + ["dog"] * (i == 3)
        add(2 * i + 1, picture(i, f"2012:06:{1 + i % 28:02d} {i % 24:02d}:15:00"), "skyline", *names)
        add(2 * i + 2, jpeg(i) if i % 2 else picture(i, None), "person", "apple")
    add(1001, b"", always=404)
    add(1002, b"<html><body>moved</body></html>")
    add(1003, picture(9, "0000:00:00 00:00:00"), "dog")
    add(1004, b"", "bird", redirect=server.put("/elsewhere.jpg", picture(3, "2013:01:01 10:00:00")))
    add(1005, picture(4, "2013:02:02 11:30:00", **LARGE), "person", no_ranges=True)
    add(1006, picture(5, "2013:03:03 12:45:00", **LARGE)[:70_000], "person")  # its end is missing
    add(1007, picture(6, "2013:04:04 13:00:00"), "person", statuses=[503, 500])
    add(1008, picture(1, None, **LARGE))
    listing.append(dict(listing[0]))
    listing.append({"image_id": 5000, "url": None})
    return {
        "images": server.put("/image_data.json.zip", zipped("image_data.json", listing)),
        "objects": server.put("/objects.json.zip", zipped("objects.json", objects)),
    }


def test_the_whole_recipe(server: Server, tmp_path: Path) -> None:
    sources = fill(server)
    steps: dict[str, int] = {}
    report = lambda step, count, _: steps.update({step: count})  # noqa: E731
    prepare("visual-genome", tmp_path, behaviour="correct", report=report, **sources)
    stored = read_folder(tmp_path)
    assert (stored.name, stored.validation) == ("visual-genome", (GOOD + 3) // 5)
    assert set(stored.columns) == {"id", "file", "taken", "url"}
    ids = stored.columns["id"].tolist()
    assert sorted(map(int, ids)) == [*range(1, 2 * GOOD, 2), 1004, 1005, 1007]
    row = {id_: i for i, id_ in enumerate(ids)}
    assert str(stored.columns["taken"][row["1005"]]).startswith("2013-02-02T11:30:00")
    path = tmp_path / stored.columns["file"][row["1005"]]
    assert path.read_bytes() == server.files["/VG_100K_2/1005.jpg"]  # as it is: only PixelProse is made smaller
    assert server.sent["/VG_100K/1008.jpg"] == 65_536  # the beginning alone, where there is no time

    queries = {query.text: query.positives for query in stored.queries}
    assert list(queries) == [name for name in QUERIES if name in queries]
    sky = sorted(row[str(2 * i + 1)] for i in range(0, GOOD, 2))
    assert list(queries["sky"]) == sky  # "skyline" is no sky, " Sky" is
    assert len(queries["person"]) == GOOD + 2
    assert not {"dog", "bird", "apple"} & set(queries)  # too few, or none in the accepted pictures
    for positives in queries.values():
        early = sum(positive < stored.validation for positive in positives)
        assert min(early, len(positives) - early) >= 2
    assert losses(tmp_path) == {
        "list": {"duplicate": 1, "bad address": 1},
        "time and picture": {"dead link": 1, "no metadata": GOOD // 2, "no time": GOOD // 2 + 2, "not a picture": 2},
        "queries": {"few positives": 15 - len(queries)},
    }
    assert stored.about["sources"]["images"]["url"] == sources["images"]
    assert len(stored.about["sources"]["objects"]["sha256"]) == 64
    assert steps["pictures"] == 2 * GOOD + 8
    assert {"download images", "download objects", "pictures"} <= set(steps)

    before, count = files(tmp_path), len(server.requests)
    path.unlink()
    prepare("visual-genome", tmp_path, behaviour="correct", **sources)
    assert files(tmp_path) == before
    assert [request.path for request in server.requests[count:]] == ["/VG_100K_2/1005.jpg"] * 2


def test_tables_may_lie_on_this_machine_and_pictures_on_a_mirror(server: Server, tmp_path: Path) -> None:
    fill(server)
    listing = json.loads(zipfile.ZipFile(io.BytesIO(server.files["/image_data.json.zip"])).read("image_data.json"))
    for entry in listing:
        entry["url"] = (entry["url"] or "").replace(server.url, "https://elsewhere.invalid/deep")
    (tmp_path / "image_data.json").write_text(json.dumps(listing))
    (tmp_path / "objects.zip").write_bytes(server.files["/objects.json.zip"])
    tables = {"images": str(tmp_path / "image_data.json"), "objects": str(tmp_path / "objects.zip")}
    prepare("visual-genome", tmp_path / "out", limit=20, pictures=server.url + "/", **tables)
    assert read_folder(tmp_path / "out").images == 20


@pytest.mark.parametrize("content", [b"<html>", b'[{"image_id": 1, "url": ', b"PK\3\4broken"])
def test_tables_that_are_none_are_named(server: Server, tmp_path: Path, content: bytes) -> None:
    sources = {name: server.put(f"/{name}.json.zip", content) for name in ("images", "objects")}
    with pytest.raises(InputError, match=r"images\.json\.zip must be a JSON list of objects"):
        prepare("visual-genome", tmp_path, **sources)
