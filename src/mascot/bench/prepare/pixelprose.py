"""PixelProse: photographs of the web whose stored EXIF has a place and a time, each with its own dense caption.

Its tables are on a hub, in shards of three parts. They are downloaded one at a time, the few rows with a place and a
time are journaled, and the shard is deleted; then the pictures are downloaded from their own addresses.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import numpy as np

from mascot.bench.datasets.folder import Query
from mascot.bench.prepare import exif_text, pictures
from mascot.bench.prepare.hub import Hub
from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.losses import Loss, Tally
from mascot.bench.prepare.preparation import Preparation
from mascot.errors import InputError
from mascot.extras import missing as missing_package

_PARTS = {"cc12m": "cc12m", "commonpool": "common[-_ ]?pool", "redcaps": "redcaps"}
_COLUMNS = ("uid", "url", "vlm_caption")
# What the text of a row must contain to be worth parsing, and what is missing otherwise.
_NEEDED = (("no place", "GPSLatitude"), ("no place", "GPSLongitude"), ("no time", "DateTimeOriginal"))
_PUBLISHED_ROWS = 1799  # with a place and a time, before any picture is downloaded


@dataclass(frozen=True, slots=True)
class PixelProse:
    """Where the tables are, and how the study read them.

    Parameters
    ----------
    hub, revision
        The endpoint of the hub (default: huggingface.co or HF_ENDPOINT), and a branch or commit of the dataset.
    gps
        ``"whole"``: only coordinates in whole degrees, minutes and seconds are read, as published; ``"fractions"``.
    zero
        ``"either"``: rows whose latitude or longitude is 0 are dropped, as published; ``"both"``: rows at 0, 0.
    newest
        Latest year of a photograph.
    newlines
        ``"delete"`` them from captions, as published, or ``"keep"`` them.
    test_queries
        Test captions at most, a seeded sample; 0 asks all.
    """

    hub: str = ""
    revision: str = "main"
    gps: str = "whole"
    zero: str = "either"
    newest: int = 2024
    newlines: str = "delete"
    test_queries: int = 1000
    CORRECT: ClassVar = {"gps": "fractions", "zero": "both", "newest": 9999, "newlines": "keep", "test_queries": 0}
    CHOICES: ClassVar = {
        "gps": ("whole", "fractions"), "zero": ("either", "both"), "newlines": ("delete", "keep"),
    }  # fmt: skip

    def run(self, prep: Preparation) -> None:
        """Make the dataset, or continue making it."""
        hub = Hub("tomg-group-umd/pixelprose", self.hub or None)
        commit, files = hub.files(self.revision)
        shards = sorted((part, _natural(name), name) for name in files if (part := _part(name)) is not None)
        if not shards:
            raise InputError(f"the dataset must have Parquet files of {', '.join(_PARTS)}, got {len(files)} others")
        prep.sources["hub"] = {"url": hub.dataset, "revision": commit}
        read, unique = prep.tally("place and time in the tables"), prep.tally("duplicates")
        rows: dict[str, Photograph] = {}  # by address
        names: set[tuple[str, str]] = set()
        accepted: list[tuple[Photograph, dict[str, Any]]] = []
        with Journal(prep.work / "shards.jsonl") as journal:
            for number, (part, _, name) in enumerate(shards, 1):
                step, entry = f"table {number} of {len(shards)}", journal.entries.get(name)
                if entry is None or files[name] not in (None, entry["source"]["sha256"]):
                    prep.progress(f"{step}, download")(0, None)
                    path, digest = hub.download(name, commit, prep.work / "shards", files[name])
                    tally = Tally("")
                    try:
                        found = list(self._rows(path, name, list(_PARTS)[part], tally, prep.progress(f"{step}, rows")))
                    finally:
                        path.unlink()
                    source = {"url": f"{hub.dataset}/{name}", "sha256": digest, "rows": tally.to_dict()["looked_at"]}
                    entry = {"source": source, "tally": asdict(tally), "rows": found}
                    journal.put(name, entry)
                prep.sources[name] = entry["source"]
                read.add(entry["tally"])
                for row in (Photograph(**values) for values in entry["rows"]):
                    if row.url in rows or (row.uid and row.name in names):
                        unique.lose(Loss("duplicate"), row.url)
                        continue
                    rows[row.url] = row
                    names.add(row.name)
                    unique.accepted += 1
                if number == len(shards):
                    prep.note(f"{len(rows)} rows have a place and a time; the paper has {_PUBLISHED_ROWS}")
                # Without a limit all pictures are downloaded together: a few slow servers then delay nothing.
                if prep.limit is not None or number == len(shards):
                    accepted = prep.gather(
                        list(rows.values()), lambda row: row.url,
                        lambda row: pictures.store(prep.web.get(row.url), prep.out, row.id), "picture",
                    )  # fmt: skip
                if len(accepted) == prep.limit:
                    break
        chosen = [row for row, _ in accepted]
        columns = {
            "id": [row.id for row in chosen],
            "file": [pictures.file_of(row.id) for row in chosen],
            **{name: [getattr(row, name) for row in chosen] for name in ("lat", "lon", "taken", "url", "uid", "part")},
        }
        queries = [Query(row.caption, (i,)) for i, row in enumerate(chosen)]
        about = {"validation_queries": 50}
        prep.finish("pixelprose", columns, queries, by_row=True, most=self.test_queries, about=about)

    def _rows(self, path: Path, name: str, part: str, tally: Tally, report: Any) -> Iterator[dict[str, Any]]:
        """Yield rows with a place, a time and a caption; other columns are read only where the EXIF promises both."""
        try:
            import pyarrow as arrow
            import pyarrow.compute as compute
            import pyarrow.parquet as parquet
        except ModuleNotFoundError as error:
            raise missing_package(error, "preparing PixelProse", "prepare") from None
        try:
            with parquet.ParquetFile(path) as table:
                missing = [column for column in ("exif", *_COLUMNS) if column not in table.schema_arrow.names]
                if missing:
                    columns = ", ".join(table.schema_arrow.names)
                    raise InputError(f"{name} must have the columns {', '.join(missing)}, got {columns}")
                start = 0
                for group in range(table.num_row_groups):
                    texts = table.read_row_group(group, ["exif"]).column("exif").combine_chunks()
                    texts = texts.cast(arrow.large_string())
                    left = np.arange(len(texts))
                    filled = compute.fill_null(compute.greater(compute.utf8_length(texts), len("null")), False)
                    masks = [("no metadata", "exif", filled)]
                    masks += [(reason, tag, compute.match_substring(texts, tag)) for reason, tag in _NEEDED]
                    for reason, tag, mask in masks:
                        present = compute.fill_null(mask, False).to_numpy(zero_copy_only=False)[left]
                        absent, left = left[~present], left[present]
                        tally.lose(Loss(reason, f"no {tag}"), f"{name} row {start + absent[:1].sum()}", len(absent))
                    rest = table.read_row_group(group, list(_COLUMNS)).take(arrow.array(left)).to_pylist()
                    for row, record in zip(left.tolist(), rest, strict=True):
                        try:
                            yield self._row(part, record, texts[row].as_py())
                            tally.accepted += 1
                        except Loss as loss:
                            tally.lose(loss, f"{name} row {start + row}")
                    start += len(texts)
                    report(start, table.metadata.num_rows)
        except (OSError, arrow.ArrowException) as error:
            raise InputError(f"{name} must be a Parquet file: {error}; run the same command again") from None

    def _row(self, part: str, record: Mapping[str, Any], text: str) -> dict[str, Any]:
        tags = exif_text.parse(text, self.gps == "fractions")
        lat, lon = exif_text.place(tags, self.zero)
        clock = exif_text.taken(tags).clock
        url, caption = record["url"], record["vlm_caption"]
        if clock.year > self.newest:
            raise Loss("no time", f"the year {clock.year}")
        if not isinstance(url, str) or not url.strip():
            raise Loss("bad address", "none")
        if not isinstance(caption, str) or not caption.strip():
            raise Loss("no caption")
        caption = caption.replace("\n", "") if self.newlines == "delete" else caption
        row = Photograph(part, str(record["uid"] or ""), url, caption, lat, lon, clock.isoformat(timespec="seconds"))
        return asdict(row)


@dataclass(frozen=True, slots=True)
class Photograph:
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

    @property
    def name(self) -> tuple[str, str]:
        """The uid and the file name, which two rows of one photograph share."""
        try:
            return self.uid, PurePosixPath(unquote(urlsplit(self.url).path)).name
        except ValueError:
            return self.uid, self.url


def _part(name: str) -> int | None:
    """Return the number of the part that a file belongs to.

    >>> _part("data/vlm_captions_common-pool_0003.parquet")
    1
    """
    file = PurePosixPath(name).name
    matches = [i for i, pattern in enumerate(_PARTS.values()) if re.search(pattern, file, re.IGNORECASE)]
    return matches[0] if matches and file.endswith(".parquet") else None


def _natural(name: str) -> list[tuple[str, int]]:
    """Return a key that sorts 2 before 10."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d*)", name)]
