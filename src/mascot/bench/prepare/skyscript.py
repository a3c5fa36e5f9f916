"""SkyScript: aerial images with a caption each, and the box on the ground that they show."""

from __future__ import annotations

import io
import pickle
import random
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import numpy as np

from mascot.bench.prepare.archives import Member, directory
from mascot.bench.prepare.outcomes import Loss, StepTally
from mascot.bench.prepare.preparation import Preparation, Row, option, read_csv
from mascot.photos.metadata.validate import Implausible, place

_COLUMNS = ("filepath", "title_multi_objects")
_FILE = re.compile(r"images(\d+)/([^/]+)\.jpg")  # images2/a198234555_CH_19.jpg
_LARGEST_RECORD = 1 << 20  # bytes
_BUCKET = "https://opendatasharing.s3.us-west-2.amazonaws.com/SkyScript/"


@dataclass(frozen=True, slots=True)
class SkyScript:
    """The CLIP-filtered test set of 30,000: images with a place, a caption of their own, and pixels that decode.

    Published are the first `rows` of the list, shuffled by ``random.Random(42)`` and cut before captions are made
    unique; 0 takes all rows in the order of the list. Captions are made unique before the download, or after it: then a
    caption whose first image fails has the next image.
    """

    base: str = _BUCKET  # of the archives, images2.zip and meta2.zip up to 7
    table: str = f"{_BUCKET}dataframe/SkyScript_test_30K_filtered_by_CLIP_openai.csv"
    rows: int = option(20_000, 0)
    unique: str = option("after", "before", ("after", "before"))
    smallest: int = option(32, 32)  # side of a picture in pixels

    def run(self, prep: Preparation) -> None:
        listing = self._listing(prep.source("table", self.table), prep.tally("captions"))
        if self.unique == "before":
            listing = _first_of_captions(listing, prep.tally("unique captions"))
        directories, lock = dict[str, dict[str, Member]](), threading.Lock()

        def read(row: Row, kind: str, suffix: str, most: int) -> bytes:
            name = f"{kind}{row['part']}.zip"
            url = urljoin(self.base, name)
            with lock:
                if name not in directories:
                    path, report = prep.work / f"{name}.jsonl", partial(prep.report, f"directory of {name}")
                    stems = {other["id"] for other in listing if other["part"] == row["part"]}
                    directories[name] = directory(prep.web, url, stems, suffix, path, report)
            if row["id"] not in directories[name]:
                raise Loss("not in archive", name)
            return directories[name][row["id"]].read(prep.web, url, most)

        def task(row: Row) -> Row:
            lat, lon = centre(read_record(read(row, "meta", ".pickle", _LARGEST_RECORD)))
            data = read(row, "images", ".jpg", 32 << 20)
            return {"lat": lat, "lon": lon, **prep.store(data, row["id"], smallest=self.smallest)}

        rows = prep.gather(listing, "id", task, "places and pictures")
        if self.unique == "after":
            rows = _first_of_captions(rows, prep.tally("unique captions"))
        for part in sorted({row["part"] for row in rows}):  # too large to be hashed; the pictures are
            for name in (f"images{part}.zip", f"meta{part}.zip"):
                prep.sources[name] = {"url": urljoin(self.base, name)}
        prep.finish(rows, ["id", "file", "lat", "lon", "path"], validation_queries=None)

    def _listing(self, table: Path, tally: StepTally) -> list[Row]:
        """Return the rows of the list with a caption, each file once."""
        lines = [tuple((row[column] or "").strip() for column in _COLUMNS) for row in read_csv(table, _COLUMNS)]
        if self.rows:
            random.Random(42).shuffle(lines)
            lines = lines[: self.rows]
        rows, ids = list[Row](), set[str]()
        for path, caption in lines:
            with tally.item():
                match = _FILE.fullmatch(path)
                if match is None:
                    raise Loss("bad address", "not in an archive of images")
                if not caption:
                    raise Loss("no caption")
                part, id_ = match.groups()
                if id_ in ids:
                    raise Loss("duplicate", "file name")
                rows.append({"id": id_, "part": part, "path": path, "caption": caption})
                ids.add(id_)
        return rows


def _first_of_captions(rows: Sequence[Row], tally: StepTally) -> list[Row]:
    first: dict[str, Row] = {}
    for row in rows:
        with tally.item():
            if row["caption"] in first:
                raise Loss("duplicate", "caption")
            first[row["caption"]] = row
    return list(first.values())


class _Inert:
    """What a name in a pickle stands for, unless it is part of an array of numpy: it does nothing."""

    def __new__(cls, *_: Any, **__: Any) -> _Inert:
        return super().__new__(cls)

    def __setstate__(self, *_: Any) -> None: ...

    append = extend = add = __setitem__ = __setstate__


class _RecordUnpickler(pickle.Unpickler):
    """Reads plain data and arrays. No name is imported, so a record cannot run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_codecs", "encode"):  # protocols 0 to 2 write bytes as text
            return lambda text, _: text.encode("latin-1")
        return _ARRAY_PARTS.get(name, _Inert) if module.startswith("numpy") else _Inert


_ONE = np.ones(1)
_PARTS: tuple[Any, ...] = (
    np.ndarray, np.dtype, _ONE[0].__reduce__()[0], _ONE.__reduce__()[0], _ONE.__reduce_ex__(5)[0],
)  # fmt: skip
_ARRAY_PARTS = {part.__name__: part for part in _PARTS}


def read_record(data: bytes) -> Any:
    """Return the data in a pickle.

    >>> read_record(pickle.dumps({"box": (8.5, 47.3, 8.6, 47.4)}))
    {'box': (8.5, 47.3, 8.6, 47.4)}
    """
    try:
        return _RecordUnpickler(io.BytesIO(data)).load()
    except Exception as error:  # damaged data may raise any exception
        raise Loss("wrong content", f"not a pickle of plain data: {error}") from None


def centre(record: Any) -> tuple[float, float]:
    """Return latitude and longitude of the centre of a record's `bbox` or `box`: west, south, east, north."""
    fields = record if isinstance(record, dict) else {}
    box = fields.get("box") if fields.get("bbox") is None else fields["bbox"]
    try:
        west, south, east, north = np.array(box, float).tolist()
    except (TypeError, ValueError, OverflowError):
        raise Loss("no place", "a box must be 4 numbers") from None
    if not (max(abs(south), abs(north)) <= 90 and max(abs(west), abs(east)) <= 180):
        raise Loss("out of range", f"box {box!r:.80}")
    lon = (west + east) / 2
    if abs(west - east) > 180:  # the box is across the antimeridian
        lon -= 180 if lon > 0 else -180
    try:
        return place((south + north) / 2, lon)
    except Implausible as wrong:
        raise Loss("no place", str(wrong)) from None
