"""Visual Genome: pictures whose EXIF has the time of day, and fifteen object names as queries.

Two tables name 108,077 pictures and the objects on each. The first 64 KB of every picture are read for its EXIF time;
the few that have one are downloaded whole.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar

from mascot.bench.datasets.folder import Query
from mascot.bench.prepare import exif_text, pictures
from mascot.bench.prepare.losses import Loss
from mascot.bench.prepare.preparation import Preparation
from mascot.errors import InputError
from mascot.extras import package
from mascot.photos import exif
from mascot.photos.images import Unreadable, open_image

QUERIES = (
    "person", "building", "table", "vehicle", "animal", "tree", "sky", "road", "chair", "light", "car", "desk",
    "bird", "apple", "dog",
)  # fmt: skip
_HEAD = 1 << 16  # bytes that hold the EXIF block
_TABLES = "https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset"


@dataclass(frozen=True, slots=True)
class VisualGenome:
    """Where the tables are: JSON, or a zip archive of it.

    `pictures` is a mirror with the folders VG_100K and VG_100K_2 (default: the addresses of the table). `fallback`
    takes the EXIF time of the last change (DateTime) where DateTimeOriginal is missing, as published.
    """

    images: str = f"{_TABLES}/image_data.json.zip"
    objects: str = f"{_TABLES}/objects.json.zip"
    pictures: str = ""
    fallback: bool = True
    CORRECT: ClassVar = {"fallback": False}
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {}

    def run(self, prep: Preparation) -> None:
        """Make the dataset, or continue making it."""
        images, objects = prep.source("images", self.images), prep.source("objects", self.objects)
        listed, ids, seen = prep.tally("list"), dict[str, str](), set[str]()  # ids by address
        for record in _records(images):
            id_, url = str(record.get("image_id", "")), record.get("url")
            if isinstance(url, str) and self.pictures:
                url = "/".join([self.pictures.rstrip("/"), *url.split("/")[-2:]])
            if not id_ or not isinstance(url, str):
                listed.lose(Loss("bad address"), id_ or "an entry without image_id")
            elif url in ids or id_ in seen:
                listed.lose(Loss("duplicate"), url)
            else:
                ids[url] = id_
                seen.add(id_)
                listed.accepted += 1

        def task(url: str) -> dict[str, Any]:
            taken = self._time(prep.web.first(url, _HEAD))
            return {"taken": taken, **pictures.store(prep.web.get(url), prep.out, ids[url], longest=None)}

        accepted = prep.gather(list(ids), str, task, "time and picture")
        columns = {
            "id": [ids[url] for url, _ in accepted],
            "file": [entry["file"] for _, entry in accepted],
            "taken": [entry["taken"] for _, entry in accepted],
            "url": [url for url, _ in accepted],
        }
        numbers = {id_: i for i, id_ in enumerate(columns["id"])}
        positives: dict[str, set[int]] = {name: set() for name in QUERIES}
        for record in _records(objects):
            i = numbers.get(str(record.get("image_id")))
            for thing in (record.get("objects") or ()) if i is not None else ():
                for name in thing.get("names") or ():
                    positives.get(str(name).strip().lower(), set()).add(i or 0)
        queries = [Query(name, tuple(sorted(rows))) for name, rows in positives.items()]
        prep.finish("visual-genome", columns, queries, least=2)

    def _time(self, head: bytes) -> str:
        """Return the EXIF time of a picture from its first bytes."""
        try:
            with open_image(head) as image:
                tags = exif.read(image)
        except Unreadable as error:
            raise Loss("not a picture", str(error)) from None
        if not tags.picture and not tags.exposure:
            raise Loss("no metadata")
        return exif_text.taken(tags, self.fallback).clock.isoformat(timespec="seconds")


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
