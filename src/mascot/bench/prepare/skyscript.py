"""SkyScript: aerial images with a caption each, and the box on the ground that they show."""

from __future__ import annotations

import csv
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import numpy as np

from mascot.bench.datasets.folder import Query
from mascot.bench.prepare import pictures
from mascot.bench.prepare.common import Common, work_folder
from mascot.bench.prepare.crowd import each
from mascot.bench.prepare.finish import Gathered, finish
from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.lost import Lost
from mascot.bench.prepare.pickles import read_pickle
from mascot.bench.prepare.sources import fetch
from mascot.bench.prepare.tally import Tally
from mascot.bench.prepare.zips import Member, remembered
from mascot.errors import InputError
from mascot.photos.plausible import Wrong, place

_COLUMNS = ("filepath", "title_multi_objects")
_FILE = re.compile(r"images(\d+)/([^/]+)\.jpg")
_MOST_RECORD = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class SkyScript:
    """The CLIP-filtered test set of 30,000: images with a place, an own caption, and pixels that decode.

    A place is the centre of the image's box. Of equal captions the first is kept. The images and their records lie
    in archives of hundreds of thousands of files, of which single ones are read by range: for every archive its
    directory once, then two requests for each image.

    Parameters
    ----------
    base
        Where the archives are, ``images2.zip`` and ``meta2.zip`` up to 7; it ends with a slash.
    table
        The list of the test set; an address, or a file.
    """

    base: str = "https://opendatasharing.s3.us-west-2.amazonaws.com/SkyScript/"
    table: str = (
        "https://opendatasharing.s3.us-west-2.amazonaws.com/SkyScript/dataframe/"
        "SkyScript_test_30K_filtered_by_CLIP_openai.csv"
    )

    def run(self, out: Path, common: Common) -> None:
        """Make the dataset, or go on making it."""
        work = work_folder(out)
        table = fetch("table", self.table, out, common)
        captions, images = Tally("captions"), Tally("places and pictures")
        rows = _rows(table.path, captions)
        archives = _Archives(self.base, rows, work, common)

        def get(row: _Row) -> dict[str, Any]:
            lat, lon = centre(archives.record(row))
            return {"lat": lat, "lon": lon, **pictures.keep(archives.picture(row), out, row.id)}

        with Journal(work / "images.jsonl") as journal:
            outcomes = each(
                rows,
                lambda row: row.id,
                get,
                journal,
                common.workers,
                common.progress("images"),
                enough=common.limit,
                valid=partial(pictures.still_there, out),
            )
        found = images.take(outcomes, lambda row: row.path)
        columns = {
            "id": [row.id for row, _ in found],
            "file": [told["file"] for _, told in found],
            "lat": [told["lat"] for _, told in found],
            "lon": [told["lon"] for _, told in found],
            "path": [row.path for row, _ in found],
        }
        queries = [Query(row.caption, (i,)) for i, (row, _) in enumerate(found)]
        used = sorted({name for row, _ in found for name in (row.images, row.metas)})
        # The archives are too large to be hashed; the pictures have hashes of their own.
        sources = {"table": table.to_dict(), **{name: {"url": urljoin(self.base, name)} for name in used}}
        finish(out, "skyscript", Gathered(columns, queries, [captions, images], sources, by_row=True), common)


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the table."""

    path: str  # images2/a198234555_CH_19.jpg
    caption: str
    part: str  # 2
    id: str  # a198234555_CH_19

    @property
    def images(self) -> str:
        return f"images{self.part}.zip"

    @property
    def metas(self) -> str:
        return f"meta{self.part}.zip"


class _Archives:
    """The archives, whose directories are read when first needed, one at a time; any thread may ask."""

    def __init__(self, base: str, rows: Sequence[_Row], work: Path, common: Common) -> None:
        self._base, self._rows, self._work, self._common = base, rows, work, common
        self._members: dict[str, dict[str, Member]] = {}
        self._lock = threading.Lock()

    def record(self, row: _Row) -> Any:
        """What the pickle of an image holds."""
        data = self._read(row.metas, row, ".pickle", _MOST_RECORD)
        try:
            return read_pickle(data, _MOST_RECORD)
        except InputError as error:
            raise Lost("wrong content", str(error)) from None

    def picture(self, row: _Row) -> bytes:
        """The bytes of an image."""
        return self._read(row.images, row, ".jpg")

    def _read(self, name: str, row: _Row, suffix: str, most: int = 32 << 20) -> bytes:
        member = self._directory(name, row.part, suffix).get(row.id)
        if member is None:
            raise Lost("not in archive", name)
        return member.read(self._common.web, urljoin(self._base, name), most)

    def _directory(self, name: str, part: str, suffix: str) -> dict[str, Member]:
        with self._lock:
            if name not in self._members:
                self._members[name] = remembered(
                    self._common.web,
                    urljoin(self._base, name),
                    {row.id for row in self._rows if row.part == part},
                    suffix,
                    self._work / f"{name}.json",
                    self._common.progress(f"directory of {name}"),
                )
            return self._members[name]


def centre(record: Any) -> tuple[float, float]:
    """Latitude and longitude in the middle of a record's box: west, south, east, north."""
    box = record.get("box") if isinstance(record, dict) else None
    if isinstance(box, np.ndarray):
        box = box.tolist()
    if not isinstance(box, (list, tuple)) or len(box) != 4 or not all(type(side) in (int, float) for side in box):
        raise Lost("no place", f"box {box!r:.60}")
    west, south, east, north = map(float, box)
    if not (max(abs(south), abs(north)) <= 90 and max(abs(west), abs(east)) <= 180):
        raise Lost("out of range", f"box {box!r:.80}")
    lon = (west + east) / 2
    if abs(west - east) > 180:  # the box lies across the antimeridian
        lon -= 180 if lon > 0 else -180
    try:
        return place((south + north) / 2, lon)
    except Wrong as wrong:
        raise Lost("no place", str(wrong)) from None


def _rows(path: Path, captions: Tally) -> list[_Row]:
    """The lines of the table with a caption that no earlier line has."""
    rows: list[_Row] = []
    seen: set[str] = set()
    names: set[str] = set()
    try:
        with open(path, encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines)
            missing = [column for column in _COLUMNS if column not in (reader.fieldnames or ())]
            if missing:
                raise InputError(f"{path}: needs the columns {', '.join(_COLUMNS)}, got {reader.fieldnames}")
            for line in reader:
                file, caption = (line["filepath"] or "").strip(), (line["title_multi_objects"] or "").strip()
                try:
                    row = _row(file, caption)
                    if caption in seen or row.id in names:
                        raise Lost("duplicate", "caption" if caption in seen else "file name")
                except Lost as lost:
                    captions.lose(lost, file)
                    continue
                seen.add(caption)
                names.add(row.id)
                captions.kept += 1
                rows.append(row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} must be a table: {error}") from None
    return rows


def _row(file: str, caption: str) -> _Row:
    found = _FILE.fullmatch(file)
    if found is None:
        raise Lost("bad address", f"not in an archive of images: {file!r:.60}")
    if not caption:
        raise Lost("no caption")
    return _Row(file, caption, found[1], found[2])
