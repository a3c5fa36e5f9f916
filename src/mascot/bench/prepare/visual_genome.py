"""Visual Genome: pictures whose EXIF has the time of day, and fifteen object names as queries."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from mascot.bench.prepare import exif_text
from mascot.bench.prepare.outcomes import Loss
from mascot.bench.prepare.preparation import QUALITY, Preparation, Row
from mascot.errors import InputError
from mascot.extras import package
from mascot.photos.files.images import Unreadable, open_image
from mascot.photos.metadata import exif

QUERIES = (
    "person", "building", "table", "vehicle", "animal", "tree", "sky", "road", "chair", "light", "car", "desk",
    "bird", "apple", "dog",
)  # fmt: skip
_HEAD = 1 << 16  # bytes that hold the EXIF block; the few pictures whose block has a time are downloaded whole
_TABLES = "https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset"


@dataclass(frozen=True, slots=True)
class VisualGenome:
    """Where the tables are: JSON, or a zip archive of it."""

    images: str = f"{_TABLES}/image_data.json.zip"
    objects: str = f"{_TABLES}/objects.json.zip"
    pictures: str = ""  # a mirror with the folders VG_100K and VG_100K_2 (default: the addresses of the table)

    def run(self, prep: Preparation) -> None:
        table, objects = prep.source("images", self.images), prep.source("objects", self.objects)
        tally, listing, ids = prep.tally("list"), dict[str, Row](), set[str]()  # rows by address
        for record in _records(table):
            id_, url = str(record.get("image_id", "")), record.get("url")
            if isinstance(url, str) and self.pictures:
                url = "/".join([self.pictures.rstrip("/"), *url.split("/")[-2:]])
            with tally.item():
                if not id_ or not isinstance(url, str):
                    raise Loss("bad address")
                if url in listing or id_ in ids:
                    raise Loss("duplicate", url)
                listing[url] = {"id": id_, "url": url}
                ids.add(id_)

        def task(row: Row) -> Row:
            try:
                with open_image(prep.web.part(row["url"], 0, _HEAD)) as image:
                    tags = exif.read(image)
            except Unreadable as error:
                raise Loss("not a picture", str(error)) from None
            if not tags.picture and not tags.exposure:
                raise Loss("no metadata")
            taken = exif_text.study_clock(tags).isoformat(timespec="seconds")
            return {"taken": taken, **prep.picture(row, quality=QUALITY)}

        rows = prep.gather(list(listing.values()), "url", task, "time and picture")
        numbers = {row["id"]: i for i, row in enumerate(rows)}
        positives: dict[str, set[int]] = {name: set() for name in QUERIES}
        for record in _records(objects):
            i = numbers.get(str(record.get("image_id")), -1)
            for item in record.get("objects") or () if i >= 0 else ():
                for name in item.get("names") or [item.get("name")]:  # the field depends on the release
                    positives.get(str(name).strip().lower(), set()).add(i)
        prep.finish(rows, ["id", "file", "taken", "url"], positives, least=1)


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a JSON list one by one: as a whole, the objects would fill some gigabytes."""
    ijson = package("ijson", "prepare", "preparing Visual Genome")
    try:
        with ExitStack() as stack:
            stream: IO[bytes] = stack.enter_context(open(path, "rb"))
            if zipfile.is_zipfile(path):
                archive = stack.enter_context(zipfile.ZipFile(stream))
                names = [name for name in archive.namelist() if name.endswith(".json") and "__MACOSX" not in name]
                if len(names) != 1:
                    raise InputError(f"{path} must hold one JSON file, got {', '.join(names) or 'none'}")
                stream = stack.enter_context(archive.open(names[0]))
            yield from (record for record in ijson.items(stream, "item", use_float=True) if isinstance(record, dict))
    except (ijson.JSONError, zipfile.BadZipFile, UnicodeDecodeError, EOFError) as error:
        words = "must be a JSON list of objects, or a zip archive of one"
        raise InputError(f"{path} {words}: {error}; delete it to download it again") from None
