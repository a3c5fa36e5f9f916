"""PixelProse: photographs of the web whose stored EXIF says where and when, each with its own dense caption.

Its tables lie on a hub in shards of three parts. They are fetched one at a time, the few rows with a place and a time
are noted, and the shard is deleted; then the pictures are fetched from their own addresses.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import numpy as np

from mascot.bench.datasets.folder import Query
from mascot.bench.prepare import exif_json, pictures
from mascot.bench.prepare.common import Common, work_folder
from mascot.bench.prepare.crowd import each
from mascot.bench.prepare.finish import Gathered, finish
from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.lost import Lost
from mascot.bench.prepare.tally import Tally
from mascot.errors import InputError, MissingExtra

_HUB = "https://huggingface.co"
_DATASET = "tomg-group-umd/pixelprose"
_PARTS = {"cc12m": "cc12m", "commonpool": "common[-_ ]?pool", "redcaps": "redcaps"}
_EXIF = "exif"
_COLUMNS = ("uid", "url", "vlm_caption")
# What must stand in the text of a row worth parsing, and what is missing otherwise.
_SIGNS = (("no place", "GPSLatitude"), ("no place", "GPSLongitude"), ("no time", "DateTimeOriginal"))
_EMPTY = 4  # letters: {}, null, or nothing
_TASK = "place and time in the tables"


@dataclass(frozen=True, slots=True)
class Shard:
    """One table of the hub."""

    part: str
    name: str
    sha256: str | None  # as the hub says


@dataclass(frozen=True, slots=True)
class Row:
    """A photograph with a place, a time and a caption."""

    part: str
    uid: str
    url: str
    caption: str
    lat: float
    lon: float
    taken: str

    @property
    def id(self) -> str:
        return f"{self.part}-{hashlib.sha256(self.url.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class PixelProse:
    """Where the list of the tables is, and where the tables are."""

    listing: str = f"{_HUB}/api/datasets/{_DATASET}?blobs=true"
    files: str = f"{_HUB}/datasets/{_DATASET}/resolve/main"

    def run(self, out: Path, common: Common) -> None:
        """Make the dataset, or go on making it."""
        revision, shards = self._shards(common)
        read, alone, fetched = Tally(_TASK), Tally("duplicates"), Tally("picture")
        sources: dict[str, Mapping[str, Any]] = {"listing": {"url": self.listing, "revision": revision}}
        rows: list[Row] = []
        found: list[tuple[Row, dict[str, Any]]] = []
        unseen = _Unseen(alone)
        work = work_folder(out)
        with Journal(work / "shards.jsonl") as journal, Journal(work / "pictures.jsonl") as journal_of_pictures:
            for number, shard in enumerate(shards, 1):
                told = self._read(shard, number, len(shards), journal, out, common)
                sources[shard.name] = told["source"]
                read.add(told["tally"])
                rows += unseen.of(Row(**row) for row in told["rows"])
                # Without a limit all are fetched together: a few slow servers then hold up nothing.
                if common.limit is None and number < len(shards):
                    continue
                fetched = Tally("picture")
                found = fetched.take(_fetched(rows, journal_of_pictures, out, common), lambda row: row.url)
                if len(found) == common.limit:
                    break
        kept = [row for row, _ in found]
        columns = {
            "id": [row.id for row in kept],
            "file": [pictures.file_of(row.id) for row in kept],
            **{name: [getattr(row, name) for row in kept] for name in ("lat", "lon", "taken", "url", "uid", "part")},
        }
        queries = [Query(row.caption, (i,)) for i, row in enumerate(kept)]
        finish(out, "pixelprose", Gathered(columns, queries, [read, alone, fetched], sources, by_row=True), common)

    def _shards(self, common: Common) -> tuple[str | None, list[Shard]]:
        """The hub's revision, and its tables, part by part."""
        listed = common.web.json(self.listing)
        files = listed.get("siblings") if isinstance(listed, dict) else None
        if not isinstance(files, list):
            raise InputError(f"{self.listing} must list the dataset's files under siblings, got {str(listed)[:80]!r}")
        shards = []
        for file in files:
            name = str(file.get("rfilename", "")) if isinstance(file, dict) else ""
            part = _part(name)
            if part is not None:
                shards.append(Shard(part, name, (file.get("lfs") or {}).get("sha256")))
        if not shards:
            raise InputError(f"{self.listing} must list Parquet files of {', '.join(_PARTS)}, got none")
        order = list(_PARTS)
        shards.sort(key=lambda shard: (order.index(shard.part), _natural(shard.name)))
        return listed.get("sha"), shards

    def _read(
        self, shard: Shard, number: int, count: int, journal: Journal, out: Path, common: Common
    ) -> dict[str, Any]:
        """What is worth keeping of one table: fetched, read and deleted, or remembered."""
        known: dict[str, Any] | None = journal.known.get(shard.name)
        if known is not None and shard.sha256 in (None, known["source"]["sha256"]):
            return known
        url = f"{self.files.rstrip('/')}/{quote(shard.name)}"
        path = work_folder(out) / "shards" / shard.name.replace("/", "_")
        sha256 = common.web.download(url, path, common.progress(f"table {number} of {count}, bytes"))
        if shard.sha256 not in (None, sha256):
            path.unlink()
            raise InputError(
                f"{url} must have the SHA-256 {shard.sha256} that the hub tells, got {sha256}; "
                "run the same command again to fetch it anew"
            )
        tally = Tally(_TASK)
        rows = list(_worth_keeping(path, shard, tally, common, f"table {number} of {count}, rows"))
        told = {
            "source": {"url": url, "sha256": sha256, "rows": tally.looked},
            "tally": tally.to_dict(),
            "rows": rows,
        }
        journal.put(shard.name, told)
        path.unlink()
        return told


def _part(name: str) -> str | None:
    """Which part a file belongs to.

    >>> _part("data/vlm_captions_common-pool_0003.parquet")
    'commonpool'
    """
    file = PurePosixPath(name).name
    if not file.endswith(".parquet"):
        return None
    return next((part for part, pattern in _PARTS.items() if re.search(pattern, file, re.IGNORECASE)), None)


def _natural(name: str) -> list[tuple[str, int]]:
    """A key that sorts 2 before 10."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d*)", name)]


def _worth_keeping(path: Path, shard: Shard, tally: Tally, common: Common, step: str) -> Iterator[dict[str, Any]]:
    """Rows with a place, a time and a caption. The other columns are read only where the EXIF promises both."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ModuleNotFoundError:
        raise MissingExtra("preparing PixelProse needs: pip install 'mascot[prepare]'") from None
    try:
        with parquet.ParquetFile(path) as table:
            missing = [name for name in (_EXIF, *_COLUMNS) if name not in table.schema_arrow.names]
            if missing:
                have = ", ".join(table.schema_arrow.names)
                raise InputError(f"{shard.name} must have the columns {', '.join(missing)}, got {have}")
            start = 0
            for group in range(table.num_row_groups):
                yield from _of_group(table, group, start, shard, tally)
                start += table.metadata.row_group(group).num_rows
                common.progress(step)(start, table.metadata.num_rows)
    except (OSError, arrow.ArrowException) as error:
        path.unlink()
        raise InputError(
            f"{shard.name} must be a Parquet file: {error}; run the same command again to fetch it anew"
        ) from None


def _of_group(table: Any, group: int, start: int, shard: Shard, tally: Tally) -> Iterator[dict[str, Any]]:
    """The same of one group of rows, of which `start` are before it."""
    import pyarrow as arrow
    import pyarrow.compute as compute

    def at(row: Any) -> str:
        return f"{shard.name} row {start + int(row)}"

    texts = table.read_row_group(group, [_EXIF]).column(_EXIF).combine_chunks().cast(arrow.large_string())
    filled = compute.fill_null(compute.greater(compute.utf8_length(texts), _EMPTY), False)
    left = np.flatnonzero(filled.to_numpy(zero_copy_only=False))
    without = np.setdiff1d(np.arange(len(texts)), left, assume_unique=True)
    tally.lose_all(Lost("no metadata"), len(without), map(at, without))
    for reason, sign in _SIGNS:
        there = compute.match_substring(texts.take(arrow.array(left)), sign).to_numpy(zero_copy_only=False)
        without, left = left[~there], left[there]
        tally.lose_all(Lost(reason, f"no {sign}"), len(without), map(at, without))
    if not len(left):
        return
    rest = table.read_row_group(group, list(_COLUMNS)).take(arrow.array(left)).to_pylist()
    for row, record in zip(left, rest, strict=True):
        try:
            kept = _row(shard.part, record, texts[int(row)].as_py())
        except Lost as lost:
            tally.lose(lost, at(row))
        else:
            tally.kept += 1
            yield kept


def _row(part: str, record: Mapping[str, Any], text: str) -> dict[str, Any]:
    """One row, or `Lost`."""
    tags = exif_json.parse(text)
    lat, lon = exif_json.place(tags)
    moment = exif_json.taken(tags)
    url, caption = record["url"], record["vlm_caption"]
    if not isinstance(url, str) or not url.strip():
        raise Lost("bad address", "none")
    if not isinstance(caption, str) or not caption.strip():
        raise Lost("no caption")
    return {
        "part": part,
        "uid": str(record["uid"] or ""),
        "url": url,
        "caption": caption,
        "lat": lat,
        "lon": lon,
        "taken": moment.clock.isoformat(timespec="seconds"),
    }


class _Unseen:
    """Each photograph once: by its uid and the name of its file, and by its address."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._addresses: set[str] = set()
        self._names: set[tuple[str, str]] = set()

    def of(self, rows: Iterator[Row]) -> list[Row]:
        kept = []
        for row in rows:
            name = (row.uid, _file_name(row.url))
            if row.url in self._addresses or (row.uid and name in self._names):
                self._tally.lose(Lost("duplicate"), row.url)
                continue
            self._addresses.add(row.url)
            self._names.add(name)
            self._tally.kept += 1
            kept.append(row)
        return kept


def _file_name(url: str) -> str:
    try:
        return PurePosixPath(unquote(urlsplit(url).path)).name
    except ValueError:
        return url


def _fetched(rows: list[Row], journal: Journal, out: Path, common: Common) -> Any:
    """The pictures, up to the limit."""

    def get(row: Row) -> dict[str, Any]:
        return pictures.keep(common.web.get(row.url), out, row.id)

    return each(
        rows, lambda row: row.url, get, journal, common.workers, common.progress("pictures"),
        enough=common.limit, valid=partial(pictures.still_there, out),
    )  # fmt: skip
