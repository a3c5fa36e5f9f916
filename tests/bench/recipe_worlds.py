"""What a local server has for each recipe, in the true formats, and what a preparation makes of it."""

from __future__ import annotations

import csv
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import ExifTags, Image

from mascot.bench.prepare import recipes
from tests.bench.range_server import Server, local_web
from tests.photos import local_hub

Lost = dict[str, int]


@dataclass(frozen=True)
class World:
    """A recipe with its sources: `fill` serves them and returns the options that name them."""

    name: str
    fill: Callable[[Server], dict[str, str]]
    images: int  # that a preparation accepts
    columns: str  # beside id and file
    losses: dict[str, Lost]  # by step and reason
    repair: int  # requests of another run for one picture that was deleted
    options: dict[str, Any] = field(default_factory=dict)


def prepare(name: str, out: Path, **options: Any) -> None:
    recipes.prepare(name, out, web=local_web(), **options)


def files(out: Path) -> dict[str, bytes]:
    names = {path.relative_to(out).as_posix(): path for path in sorted(out.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in names.items() if not name.startswith("work/")}


def losses(out: Path) -> dict[str, Lost]:
    return {step["step"]: step["lost"] for step in json.loads((out / "dataset.json").read_text())["steps"]}


def jpeg(number: int = 0, size: tuple[int, int] = (50, 40), noise: bool = False, **options: Any) -> bytes:
    """A picture in a colour of its own, or noise, which makes a large file."""
    stream = io.BytesIO()
    image = Image.effect_noise(size, 90).convert("RGB") if noise else Image.new("RGB", size, (number % 256, 90, 60))
    image.save(stream, "JPEG", quality=95, **options)
    return stream.getvalue()


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED, shape: str = "plain") -> bytes:
    """A zip archive with these members, in one of the shapes that archives have."""
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


class _Unseekable(io.BytesIO):
    """A stream that cannot go back, so that sizes come after the members."""

    def seek(self, *_: Any) -> int:
        raise OSError("not seekable")

    tell = seek


# PixelProse: Parquet shards on a hub, and pictures on the web

SHARDS = {  # in the order in which they are read
    "data/vlm_captions_cc12m_00.parquet": "cc12m",
    "data/vlm_captions_cc12m_2.parquet": "cc12m",
    "data/vlm_captions_cc12m_10.parquet": "cc12m",
    "data/vlm_captions_common-pool_0000.parquet": "commonpool",
    "data/vlm_captions_redcaps_00.parquet": "redcaps",
}
ORDER = list(SHARDS)
DATASET = "tomg-group-umd/pixelprose"
API = f"/api/datasets/{DATASET}/revision/main"
HUB_FILES = f"/datasets/{DATASET}/resolve/{local_hub.COMMIT}"


def exif(lat: Any = "[48, 51, 29]", taken: str = "2018:01:11 13:09:38", **changes: Any) -> str:
    """The tags of a photograph as crawlers store them; None leaves one out."""
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


def _rows(server: Server, shard: str, number: int) -> list[dict[str, Any]]:
    """Six photographs that are accepted, and one of everything that is not."""
    rows: list[dict[str, Any]] = []
    for i in range(6):
        name = f"{number}-{i}"
        url = server.put(f"/photos/{name}.jpg", jpeg(10 * number + i, (1300, 600) if i == 1 else (120, 80)))
        text = exif(f"[{10 * number + i}, 30, 0]", f"2018:01:1{i} 0{i}:30:00")
        caption = f" This image displays:\nphotograph {name}, of café {shard}. "
        rows.append({"uid": f"uid{name}", "url": url, "exif": text, "vlm_caption": caption})
        rows.append({"uid": f"none{name}", "url": url + "x", "exif": (None, "", "{}", "null")[i % 4]})
    server.put(f"/bad/{number}/page.jpg", b"<html>moved to another place</html>")
    bad: dict[str, tuple[str, dict[str, Any]]] = {
        "no-gps": (exif(GPS_GPSLatitude=None, GPS_GPSLatitudeRef=None), {}),
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
    same_name = {**rows[0], "url": f"{server.url}/mirror/{number}-0.jpg"}
    return [*rows, dict(rows[0]), same_name, {**rows[2], "uid": "another"}]


def publish(server: Server, shards: dict[str, bytes], large: float = 0) -> dict[str, str]:
    others = dict.fromkeys((".gitattributes", "README.md", "data/other.parquet"), b"")
    local_hub.publish(server, f"datasets/{DATASET}", f"/datasets/{DATASET}", {**shards, **others}, large)
    return {"hub": server.url}


def fill_pixelprose(server: Server) -> dict[str, str]:
    return publish(server, {name: table(_rows(server, name, number)) for number, name in enumerate(ORDER)})


# Visual Genome: two tables, and pictures on the web

GOOD = 24  # pictures with a time
OBJECTS = ("person", " Sky", "TREE ", "car")  # as annotators type them
LARGE = {"size": (600, 500), "noise": True}  # more bytes than are read for EXIF


def _timed(number: int, taken: str | None, **options: Any) -> bytes:
    tags = Image.Exif()
    tags[ExifTags.Base.Model] = "X100"
    if taken:
        tags.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = taken
    return jpeg(number, exif=tags, **options)


def fill_visual_genome(server: Server) -> dict[str, str]:
    listing: list[dict[str, Any]] = []
    objects = []

    def add(image: int, content: bytes, *names: str, **manners: Any) -> None:
        url = server.put(f"/VG_100K{'_2' if image % 2 else ''}/{image}.jpg", content, **manners)
        listing.append({"width": 300, "url": url, "height": 200, "image_id": image, "coco_id": None})
        # The field depends on the release.
        annotations = [
            {"object_id": 5, "w": 3} | ({"name": name} if image == 1003 else {"names": ["shoe", name]})
            for name in names
        ]
        objects.append({"image_id": image, "objects": annotations, "image_url": url})

    for i in range(GOOD):
        # Every picture has a person; one in two the sky, one in three a tree, and so on.
        names = [name for step, name in enumerate(OBJECTS, 1) if i % step == 0] + ["dog"] * (i == 3)
        add(2 * i + 1, _timed(i, f"2012:06:{1 + i % 28:02d} {i % 24:02d}:15:00"), "skyline", *names)
        add(2 * i + 2, jpeg(i) if i % 2 else _timed(i, None), "person", "apple")
    add(1001, b"", always=404)
    add(1002, b"<html><body>moved</body></html>")
    add(1003, _timed(9, "0000:00:00 00:00:00"), "dog")
    add(1004, b"", "bird", redirect=server.put("/elsewhere.jpg", _timed(3, "2013:01:01 10:00:00")))
    add(1005, _timed(4, "2013:02:02 11:30:00", **LARGE), "person", no_ranges=True)
    add(1006, _timed(5, "2013:03:03 12:45:00", **LARGE)[:70_000], "person")  # its end is missing
    add(1007, _timed(6, "2013:04:04 13:00:00"), "person", statuses=[503, 500])
    add(1008, _timed(1, None, **LARGE))
    listing += [dict(listing[0]), {"image_id": 5000, "url": None}]
    tables = {"images": ("image_data", listing), "objects": ("objects", objects)}
    return {
        key: server.put(f"/{name}.json.zip", zipped({f"{name}.json": json.dumps(rows).encode()}))
        for key, (name, rows) in tables.items()
    }


# Incidents1M: annotations, a table of hosts, and pictures on the web

HOSTS = {"localhost": (-33.875, 151.205), "127.0.0.1": (48.855, 2.345)}
HOSTS_TABLE = (
    "host,lat,lon\nlocalhost,-33.875,151.205\n127.0.0.1,48.855,2.345\nzero.example,0,0\nnorth.example,91,0\n"
    "text.example,x,y\n"
)


def labelled(url: Any, incidents: tuple[str, ...] = ("flooded",), places: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "url": url,
        "incidents": {name: int(name in incidents) for name in ("flooded", "train_accident", "on_fire")},
        "places": {name: int(name in places) for name in ("beach", "building_outdoor")},
    }


def annotations_of(server: Server, count: int) -> dict[str, Any]:
    port, annotations = server.url.rpartition(":")[2], {}
    for i in range(count):
        server.put(f"/{i}.jpg", jpeg(i))
        url = f"http://{'127.0.0.1' if i % 3 else 'localhost'}:{port}/{i}.jpg"
        places = ("beach",) if i % 4 else ("beach", "building_outdoor")
        incidents = ("flooded",) if i % 2 else ("flooded", "on_fire")
        annotations[f"flooded/{i:03d}.jpg"] = labelled(url, incidents, places)
    return annotations


def fill_incidents1m(server: Server) -> dict[str, str]:
    annotations = annotations_of(server, 40)
    annotations["flooded/000.jpg"]["incidents"]["train_accident"] = 1
    annotations |= {
        "none.jpg": labelled(server.url + "/1.jpg", (), ("beach",)),
        "again.jpg": labelled(server.url + "/2.jpg"),
        "file.jpg": labelled("file:///etc/passwd"),
        "odd.jpg": ["flooded"],
        "dead.jpg": labelled(server.url + "/dead.jpg"),
        "page.jpg": labelled(server.put("/page.jpg", b"<html>removed</html>")),
        "small.jpg": labelled(server.put("/small.jpg", jpeg(0, (50, 31)))),
    }
    for name in ("unknown", "zero", "north", "text"):
        annotations[f"{name}.jpg"] = labelled(f"http://{name}.example/a.jpg")
    return {"annotations": server.put("/multi_label_val.json", json.dumps(annotations).encode())}


# SkyScript: a table, and remote archives of pictures and of pickled records


def boxed(box: Any) -> bytes:
    name = "bbox" if isinstance(box, list) else "box"
    return pickle.dumps({name: box, "time": (2021, 7, 3, 10, 20), "center_tags": {"building": "church"}}, protocol=4)


class _Runs:
    """Code in a record, which would give a good box."""

    def __reduce__(self) -> Any:
        return tuple, ((8.0, 47.0, 8.1, 47.1),)


class SkySite:
    def __init__(self, server: Server, good: int = 0) -> None:
        self.server = server
        self.rows: list[tuple[str, str, str]] = []
        self.files: dict[str, dict[str, bytes]] = {"images2": {}, "meta2": {}, "images3": {}, "meta3": {}}
        for i in range(good):
            self.add(f"a{i:03d}_CH_19", f"a church and {i} trees", box=(8 + i / 100, 47.0, 8.02 + i / 100, 47.5))

    def add(self, stem: str, caption: str, box: Any = (8.0, 47.0, 8.1, 47.1), **parts: Any) -> None:
        part = 2 + len(self.rows) % 2
        self.rows.append((f"images{part}/{stem}.jpg", "a church", caption))
        picture, record = parts.get("picture", jpeg(len(self.rows))), parts.get("record", boxed(box))
        if picture is not None:
            self.files[f"images{part}"][f"images{part}/{stem}.jpg"] = picture
        if record is not None:
            self.files[f"meta{part}"][f"{'meta2' if part == 2 else 'metas3'}/{stem}.pickle"] = record

    def publish(self) -> dict[str, str]:
        listing = io.StringIO()
        csv.writer(listing).writerows([("filepath", "title", "title_multi_objects"), *self.rows])
        for name, members in self.files.items():
            self.server.put(f"/SkyScript/{name}.zip", zipped(members))
        url = self.server.put("/SkyScript/dataframe/test.csv", listing.getvalue().encode())
        return {"base": self.server.url + "/SkyScript/", "table": url}


def fill_skyscript(server: Server) -> dict[str, str]:
    site = SkySite(server, good=20)
    site.add("b1", "a church and 7 trees")  # as an earlier one
    site.add("b2", "  ")
    site.add("b3", "no picture", picture=None)
    site.add("b4", "no record", record=None)
    site.add("b5", "no box", record=pickle.dumps({"time": (2021, 7, 3, 10, 20)}))
    site.add("b6", "not on the globe", box=(8.0, 91.0, 8.1, 92.0))
    site.add("b7", "a web page", picture=b"<html>sorry</html>")
    site.add("b8", "code", record=pickle.dumps({"box": _Runs()}))
    site.add("b9", "no pickle", record=b"<html>sorry</html>")
    site.add("c1", "in an array", box=np.array([10.0, 50.0, 12.0, 52.0]))
    site.add("c2", "across", box=(179.9, -17.0, -179.7, -16.8))
    site.add("c3", "large", picture=jpeg(3, (1500, 1500)))
    site.add("c4", "under another name", box=[8.0, 47.0, 8.1, 47.1])
    site.add("c5", "too small", picture=jpeg(3, (31, 31)))
    site.rows.append(("elsewhere/d1.jpg", "", "not in an archive"))
    site.rows.append(("images2/a000_CH_19.jpg", "", "the same file under another caption"))
    return site.publish()


WORLDS = (
    World(
        "pixelprose", fill_pixelprose, 30, "lat lon taken url uid part",
        {
            "place and time in the tables": {
                "no metadata": 30, "no place": 10, "no time": 5, "bad address": 5, "no whole numbers": 5,
            },
            "duplicates": {"duplicate": 15},
            "picture": {"dead link": 5, "not a picture": 5, "out of range": 5, "no caption": 5},
            "queries": {},
        },
        2,  # the listing of the hub, and the picture
        {"seed": 5},
    ),
    World(
        "visual-genome", fill_visual_genome, GOOD + 4, "taken url",
        {
            "list": {"duplicate": 1, "bad address": 1},
            "time and picture": {"dead link": 1, "no metadata": 12, "no time": 13, "not a picture": 2},
            "queries": {"few positives": 10},
        },
        2,  # the beginning with EXIF, and the picture
        {},
    ),
    World(
        "incidents1m", fill_incidents1m, 41, "lat lon host url",
        {
            "labels": {"no label": 1, "bad address": 1, "wrong content": 1},
            "place of the host, and picture": {
                "no place": 3, "out of range": 1, "dead link": 1, "not a picture": 1, "too small": 1,
            },
            "queries": {"few positives": 1},
        },
        1,
        {},
    ),
    World(
        "skyscript", fill_skyscript, 24, "lat lon path",
        {
            "captions": {"duplicate": 1, "no caption": 1, "bad address": 1},
            "unique captions": {"duplicate": 1},
            "places and pictures": {
                "not in archive": 2, "no place": 2, "out of range": 1, "not a picture": 1, "wrong content": 1,
                "too small": 1,
            },
            "queries": {},
        },
        6,  # the sizes of two archives, and two members of each picture: the removed one, and a duplicate
        {},
    ),
)  # fmt: skip
