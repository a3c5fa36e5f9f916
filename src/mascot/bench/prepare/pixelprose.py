"""PixelProse: photographs of the web whose stored EXIF has a place and a time, each with its own dense caption."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from mascot.bench.files import sha256
from mascot.bench.prepare import exif_text
from mascot.bench.prepare.outcomes import Journal, Loss, Progress, StepTally
from mascot.bench.prepare.preparation import QUALITY, Preparation, Row
from mascot.errors import InputError
from mascot.extras import package
from mascot.photos.encoders import hub

_DATASET = "tomg-group-umd/pixelprose"
_PARTS = {"cc12m": "cc12m", "commonpool": "common[-_ ]?pool", "redcaps": "redcaps"}
_COLUMNS = ("exif", "uid", "url", "vlm_caption")
_NEWEST = 2024  # latest year of a photograph
_QUERIES = 50, 1000  # of validation and test, at most; seeded samples
_PUBLISHED_ROWS = 1799  # with a place and a time, before any picture is downloaded


@dataclass(frozen=True, slots=True)
class PixelProse:
    """Where the tables are."""

    hub: str = ""  # endpoint (default: huggingface.co or HF_ENDPOINT)
    revision: str = "main"  # a branch or commit of the dataset

    def run(self, prep: Preparation) -> None:
        with _hub() as client:
            api = client.HfApi(endpoint=self.hub or None)
            info = api.dataset_info(_DATASET, revision=self.revision, files_metadata=True, timeout=30.0)
        digests = {file.rfilename: file.lfs.sha256 if file.lfs else None for file in info.siblings or ()}
        shards = sorted((part, _natural(name), name) for name in digests if (part := _part(name)) is not None)
        if not shards:
            raise InputError(f"the dataset must have Parquet files of {', '.join(_PARTS)}, got {len(digests)} others")
        prep.sources["hub"] = {"url": _DATASET, "revision": info.sha}
        tables, unique = prep.tally("place and time in the tables"), prep.tally("duplicates")
        listing, names, rows = dict[str, Row](), set[tuple[str, str]](), list[Row]()  # listing: by address
        with Journal(prep.work / "shards.jsonl") as journal:
            for number, (part, _, shard) in enumerate(shards, 1):
                entry = journal.entries.get(shard)
                if entry is None or digests[shard] not in (None, entry["source"]["sha256"]):
                    step = f"table {number} of {len(shards)}"
                    entry = self._shard(prep, shard, list(_PARTS)[part], info.sha, digests[shard], step)
                    journal.put(shard, entry)
                prep.sources[shard] = entry["source"]
                tables.accepted += entry["tally"]["kept"]
                tables.losses.update(entry["tally"]["lost"])
                for row in entry["rows"]:
                    url, name = row["url"], (row["uid"], PurePosixPath(row["url"].partition("?")[0]).name)
                    with unique.item():
                        if url in listing or (row["uid"] and name in names):
                            raise Loss("duplicate")
                        digest = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
                        listing[url] = {"id": f"{row['part']}-{digest[:16]}", **row}
                        names.add(name)
                if number == len(shards):
                    prep.notes.append(f"{len(listing)} rows have a place and a time; the paper has {_PUBLISHED_ROWS}")
                    prep.report(f"note: {prep.notes[-1]}", 0, None)
                # Without a limit all pictures are downloaded together: a few slow servers then delay nothing.
                if prep.limit is not None or number == len(shards):
                    rows = prep.gather(list(listing.values()), "url", partial(self._picture, prep), "picture")
                if len(rows) == prep.limit:
                    break
        columns = ["id", "file", "lat", "lon", "taken", "url", "uid", "part"]
        prep.finish(rows, columns, most=_QUERIES, validation_queries=_QUERIES[0])

    def _picture(self, prep: Preparation, row: Row) -> Row:
        """Store the picture of a row; rows that are out of range or have no caption are in the published count."""
        exif_text.check_range("GPSLatitude", row["lat"])
        exif_text.check_range("GPSLongitude", row["lon"])
        if not row["caption"].strip():
            raise Loss("no caption")
        return prep.picture(row, quality=QUALITY)

    def _shard(self, prep: Preparation, name: str, part: str, commit: str, digest: str | None, step: str) -> Row:
        """Download a table, return its few rows with a place and a time, and delete it."""
        prep.report(f"{step}, download", 0, None)
        options = {"repo_type": "dataset", "revision": commit, "local_dir": prep.work / "shards"}
        with _hub() as client:
            path = Path(client.hf_hub_download(_DATASET, name, endpoint=self.hub or None, **options))
        try:
            actual, tally = sha256(path), StepTally("")
            if digest not in (None, actual):
                raise InputError(f"{name} must have the SHA-256 {digest} that the hub lists, got {actual}; try again")
            rows = self._rows(path, name, part, tally, partial(prep.report, f"{step}, rows"))
        finally:
            path.unlink()
        source = {"url": f"{_DATASET}/{name}", "sha256": actual, "rows": tally.to_dict()["looked_at"]}
        return {"source": source, "tally": tally.to_dict(), "rows": rows}

    def _rows(self, path: Path, name: str, part: str, tally: StepTally, report: Progress) -> list[Row]:
        parquet = package("pyarrow.parquet", "prepare", "preparing PixelProse")
        rows, start = list[Row](), 0
        try:
            with parquet.ParquetFile(path) as table:
                missing = [column for column in _COLUMNS if column not in table.schema_arrow.names]
                if missing:
                    columns = ", ".join(table.schema_arrow.names)
                    raise InputError(f"{name} must have the columns {', '.join(missing)}, got {columns}")
                for batch in table.iter_batches(columns=list(_COLUMNS)):
                    for record in batch.to_pylist():
                        with tally.item():
                            rows.append(self._row(part, **record))
                    start += batch.num_rows
                    report(start, table.metadata.num_rows)
        except (OSError, package("pyarrow", "prepare").ArrowException) as error:
            raise InputError(f"{name} must be a Parquet file: {error}; run the same command again") from None
        return rows

    def _row(self, part: str, exif: Any, uid: Any, url: Any, vlm_caption: Any) -> Row:
        tags = exif_text.read_tags(exif or "null")
        (lat, lon), clock = exif_text.study_place(tags), exif_text.study_time(tags.get("EXIF DateTimeOriginal"))
        if clock.year > _NEWEST:
            raise Loss("no time", f"the year {clock.year}")
        if not isinstance(url, str) or not url.strip():
            raise Loss("bad address", "none")
        caption = vlm_caption.replace("\n", "") if isinstance(vlm_caption, str) else ""
        row = {"part": part, "uid": str(uid or ""), "url": url, "caption": caption, "lat": lat, "lon": lon}
        return row | {"taken": clock.isoformat(timespec="seconds")}


def _part(name: str) -> int | None:
    file = PurePosixPath(name).name
    matches = [i for i, pattern in enumerate(_PARTS.values()) if re.search(pattern, file, re.IGNORECASE)]
    return matches[0] if matches and file.endswith(".parquet") else None


def _natural(name: str) -> list[tuple[str, int]]:
    """Return a key that sorts 2 before 10."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d*)", name)]


@contextmanager
def _hub() -> Iterator[Any]:
    """Provide the hub's client; its errors say what to do."""
    try:
        with hub.requests_to_hub() as client:
            yield client
    except hub.HubError as error:
        remedy = "run the same command again to continue"
        raise InputError(f"the hub does not give the dataset {_DATASET} ({error}); {remedy}") from None
