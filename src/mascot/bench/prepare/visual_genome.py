"""Visual Genome: pictures whose own bytes say at which hour they were taken, and fifteen kinds of things on them.

Two tables name 108,077 pictures and the objects on each. The first 64 KB of every picture are read for its EXIF time;
the few that have one are fetched whole.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from mascot.bench.datasets.folder import Query
from mascot.bench.prepare import pictures
from mascot.bench.prepare.common import Common, work_folder
from mascot.bench.prepare.crowd import Outcome, each
from mascot.bench.prepare.exif_json import taken
from mascot.bench.prepare.finish import Gathered, finish
from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.lost import Lost
from mascot.bench.prepare.sources import fetch
from mascot.bench.prepare.tally import Tally
from mascot.errors import InputError, MissingExtra
from mascot.photos import exif
from mascot.photos.images import Unreadable, open_image

QUERIES = (
    "person", "building", "table", "vehicle", "animal", "tree", "sky", "road", "chair", "light", "car", "desk",
    "bird", "apple", "dog",
)  # fmt: skip
_HEAD = 1 << 16  # bytes in which EXIF lies
_LEAST = 2  # positives of a query in each split


@dataclass(frozen=True, slots=True)
class Listed:
    """A picture as the table has it."""

    id: str
    url: str


@dataclass(frozen=True, slots=True)
class VisualGenome:
    """Where the tables are; JSON, or a zip archive with the JSON in it.

    `pictures` is the address of a mirror with the folders VG_100K and VG_100K_2; else the table's own addresses count.
    """

    images: str = "https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset/image_data.json.zip"
    objects: str = "https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset/objects.json.zip"
    pictures: str = ""

    def run(self, out: Path, common: Common) -> None:
        """Make the dataset, or go on making it."""
        images = fetch("images", self.images, out, common)
        objects = fetch("objects", self.objects, out, common)
        listed = Tally("list")
        rows = self._listed(images.path, listed)
        scanned, fetched, found = self._fetched(rows, out, common)
        positives = _positives(objects.path, [row.id for row, _ in found], common)
        columns = {
            "id": [row.id for row, _ in found],
            "file": [pictures.file_of(row.id) for row, _ in found],
            "taken": [told["taken"] for _, told in found],
            "url": [row.url for row, _ in found],
        }
        queries = [Query(name, tuple(positives[name])) for name in QUERIES]
        sources = {"images": images.to_dict(), "objects": objects.to_dict()}
        gathered = Gathered(columns, queries, [listed, scanned, fetched], sources, least=_LEAST)
        finish(out, "visual-genome", gathered, common)

    def _listed(self, path: Path, tally: Tally) -> list[Listed]:
        """The table's pictures, each once."""
        rows: list[Listed] = []
        seen: set[str] = set()
        for record in _records(path):
            id_, url = str(record.get("image_id", "")), record.get("url")
            if not id_ or not isinstance(url, str):
                tally.lose(Lost("bad address"), id_ or "an entry without image_id")
                continue
            if self.pictures:
                url = "/".join([self.pictures.rstrip("/"), *url.split("/")[-2:]])
            if url in seen or id_ in seen:
                tally.lose(Lost("duplicate"), url)
                continue
            seen |= {url, id_}
            rows.append(Listed(id_, url))
            tally.kept += 1
        return rows

    def _fetched(
        self, rows: list[Listed], out: Path, common: Common
    ) -> tuple[Tally, Tally, list[tuple[Listed, dict[str, Any]]]]:
        """Those with a time, fetched whole; with a limit, no more are looked at than it takes."""
        work = work_folder(out)

        def look(row: Listed) -> dict[str, Any]:
            return {"taken": _time(common.web.first(row.url, _HEAD))}

        def get(pair: tuple[Listed, dict[str, Any]]) -> dict[str, Any]:
            row, told = pair
            return {**told, **pictures.keep(common.web.get(row.url), out, row.id, longest=None)}

        with Journal(work / "times.jsonl") as times, Journal(work / "pictures.jsonl") as journal:
            wanted = common.limit
            while True:
                seen = each(
                    rows, lambda row: row.url, look, times, common.workers, common.progress("times"), enough=wanted
                )
                scanned, fetched = Tally("time in the first 64 KB"), Tally("picture")
                timed = scanned.take(seen, lambda row: row.url)
                whole: list[Outcome[tuple[Listed, dict[str, Any]]]] = each(
                    timed, lambda pair: pair[0].url, get, journal, common.workers, common.progress("pictures"),
                    enough=common.limit, valid=partial(pictures.still_there, out),
                )  # fmt: skip
                found = fetched.take(whole, lambda pair: pair[0].url)
                if wanted is None or common.limit is None or len(found) >= common.limit or len(seen) == len(rows):
                    return scanned, fetched, [(row, told) for (row, _), told in found]
                wanted += common.limit - len(found)


def _time(head: bytes) -> str:
    """The EXIF time of a picture, of which only the beginning is there."""
    try:
        with open_image(head) as image:
            tags = exif.read(image)
    except Unreadable as error:
        raise Lost("not a picture", str(error)) from None
    if not tags.picture and not tags.exposure:
        raise Lost("no metadata")
    return taken(tags).clock.isoformat(timespec="seconds")


def _positives(path: Path, ids: list[str], common: Common) -> dict[str, list[int]]:
    """For each query the numbers of the pictures with an object of that name."""
    number = {id_: i for i, id_ in enumerate(ids)}
    found: dict[str, set[int]] = {name: set() for name in QUERIES}
    report = common.progress("objects")
    for count, record in enumerate(_records(path), 1):
        if count % 1000 == 0:
            report(count, None)
        i = number.get(str(record.get("image_id")))
        if i is None:
            continue
        for thing in record.get("objects") or ():
            for name in thing.get("names") or ():
                positives = found.get(str(name).strip().lower())
                if positives is not None:
                    positives.add(i)
    return {name: sorted(positives) for name, positives in found.items()}


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of a JSON list, one after the other: as a whole, the objects would fill some gigabytes."""
    try:
        import ijson
    except ModuleNotFoundError:
        raise MissingExtra("preparing Visual Genome needs: pip install 'mascot[prepare]'") from None
    try:
        with _opened(path) as stream:
            for record in ijson.items(stream, "item", use_float=True):
                if isinstance(record, dict):
                    yield record
    except (ijson.JSONError, zipfile.BadZipFile, UnicodeDecodeError, EOFError) as error:
        raise InputError(
            f"{path} must be a JSON list of objects, or a zip archive of one: {error}; delete it to fetch it anew"
        ) from None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as stream:
            yield stream
        return
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".json") and not name.startswith("__MACOSX")]
        if len(names) != 1:
            raise InputError(f"{path} must hold one JSON file, got {', '.join(names) or 'none'}")
        with archive.open(names[0]) as stream:
            yield stream
