"""PixelProse: photographs of the web whose stored EXIF has a place and a time, each with its own dense caption.

Its tables are on a hub, in shards of three parts. They are downloaded one at a time, the few rows with a place and a
time are journaled, and the shard is deleted; then the pictures are downloaded from their own addresses.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from mascot.bench.files import sha256
from mascot.bench.prepare import exif_text, pictures
from mascot.bench.prepare.hub import hub_client
from mascot.bench.prepare.outcomes import Journal, Loss, Progress, Tally
from mascot.bench.prepare.preparation import Preparation, option
from mascot.errors import InputError
from mascot.extras import package

_DATASET = "tomg-group-umd/pixelprose"
_PARTS = {"cc12m": "cc12m", "commonpool": "common[-_ ]?pool", "redcaps": "redcaps"}
_COLUMNS = ("exif", "uid", "url", "vlm_caption")
_PUBLISHED_ROWS = 1799  # with a place and a time, before any picture is downloaded


@dataclass(frozen=True, slots=True)
class PixelProse:
    """Where the tables are, and how the study read them."""

    hub: str = ""  # endpoint (default: huggingface.co or HF_ENDPOINT)
    revision: str = "main"  # a branch or commit of the dataset
    gps: str = option("whole", "fractions", ("whole", "fractions"))  # degrees, minutes and seconds that are read
    zero: str = option("either", "both", ("either", "both"))  # a row is dropped where latitude or longitude are 0
    newest: int = option(2024, 9999)  # latest year of a photograph
    newlines: str = option("delete", "keep", ("delete", "keep"))  # in captions
    test_queries: int = option(1000, 0)  # at most, a seeded sample; 0 asks all

    def run(self, prep: Preparation) -> None:
        with hub_client(_DATASET) as hub:
            api = hub.HfApi(endpoint=self.hub or None)
            info = api.dataset_info(_DATASET, revision=self.revision, files_metadata=True, timeout=30.0)
        digests = {file.rfilename: file.lfs.sha256 if file.lfs else None for file in info.siblings or ()}
        shards = sorted((part, _natural(name), name) for name in digests if (part := _part(name)) is not None)
        if not shards:
            raise InputError(f"the dataset must have Parquet files of {', '.join(_PARTS)}, got {len(digests)} others")
        prep.sources["hub"] = {"url": _DATASET, "revision": info.sha}
        tables, unique = prep.tally("place and time in the tables"), prep.tally("duplicates")
        rows: dict[str, Photograph] = {}  # by address
        names: set[tuple[str, str]] = set()
        images: list[tuple[Photograph, dict[str, Any]]] = []
        with Journal(prep.work / "shards.jsonl") as journal:
            for number, (part, _, name) in enumerate(shards, 1):
                entry = journal.entries.get(name)
                if entry is None or digests[name] not in (None, entry["source"]["sha256"]):
                    step = f"table {number} of {len(shards)}"
                    entry = self._shard(prep, name, list(_PARTS)[part], info.sha, digests[name], step)
                    journal.put(name, entry)
                prep.sources[name] = entry["source"]
                tables.add(entry["tally"])
                for row in (Photograph(**values) for values in entry["rows"]):
                    with unique.item(row.url):
                        if row.url in rows or (row.uid and row.name in names):
                            raise Loss("duplicate")
                        rows[row.url] = row
                        names.add(row.name)
                if number == len(shards):
                    prep.note(f"{len(rows)} rows have a place and a time; the paper has {_PUBLISHED_ROWS}")
                # Without a limit all pictures are downloaded together: a few slow servers then delay nothing.
                if prep.limit is not None or number == len(shards):
                    images = prep.gather(
                        list(rows.values()), lambda row: row.url,
                        lambda row: pictures.store(prep.web.get(row.url), prep.out, row.id), "picture",
                    )  # fmt: skip
                if len(images) == prep.limit:
                    break
        columns = ("id", "file", "lat", "lon", "taken", "url", "uid", "part")
        prep.finish("pixelprose", images, columns, most=self.test_queries, about={"validation_queries": 50})

    def _shard(
        self, prep: Preparation, name: str, part: str, commit: str, digest: str | None, step: str
    ) -> dict[str, Any]:
        """Download a table, and return its rows with a place and a time; an interrupted download continues."""
        prep.report(f"{step}, download", 0, None)
        options = {"repo_type": "dataset", "revision": commit, "local_dir": prep.work / "shards"}
        with hub_client(_DATASET) as hub:
            path = Path(hub.hf_hub_download(_DATASET, name, endpoint=self.hub or None, **options))
        try:
            actual, tally = sha256(path), Tally("")
            if digest not in (None, actual):
                raise InputError(f"{name} must have the SHA-256 {digest} that the hub lists, got {actual}; try again")
            rows = self._rows(path, name, part, tally, partial(prep.report, f"{step}, rows"))
        finally:
            path.unlink()
        source = {"url": f"{_DATASET}/{name}", "sha256": actual, "rows": tally.to_dict()["looked_at"]}
        return {"source": source, "tally": asdict(tally), "rows": [asdict(row) for row in rows]}

    def _rows(self, path: Path, name: str, part: str, tally: Tally, report: Progress) -> list[Photograph]:
        """Return the rows with a place, a time and a caption."""
        parquet = package("pyarrow.parquet", "prepare", "preparing PixelProse")
        rows, start = list[Photograph](), 0
        try:
            with parquet.ParquetFile(path) as table:
                missing = [column for column in _COLUMNS if column not in table.schema_arrow.names]
                if missing:
                    columns = ", ".join(table.schema_arrow.names)
                    raise InputError(f"{name} must have the columns {', '.join(missing)}, got {columns}")
                for batch in table.iter_batches(columns=list(_COLUMNS)):
                    for row, record in enumerate(batch.to_pylist(), start):
                        with tally.item(f"{name} row {row}"):
                            rows.append(self._photograph(part, **record))
                    start += batch.num_rows
                    report(start, table.metadata.num_rows)
        except (OSError, package("pyarrow", "prepare").ArrowException) as error:
            raise InputError(f"{name} must be a Parquet file: {error}; run the same command again") from None
        return rows

    def _photograph(self, part: str, exif: Any, uid: Any, url: Any, vlm_caption: Any) -> Photograph:
        tags = exif_text.parse(exif or "null", self.gps == "fractions")
        lat, lon = exif_text.place(tags, self.zero)
        clock = exif_text.taken(tags)
        if clock.year > self.newest:
            raise Loss("no time", f"the year {clock.year}")
        if not isinstance(url, str) or not url.strip():
            raise Loss("bad address", "none")
        if not isinstance(vlm_caption, str) or not vlm_caption.strip():
            raise Loss("no caption")
        caption = vlm_caption.replace("\n", "") if self.newlines == "delete" else vlm_caption
        return Photograph(part, str(uid or ""), url, caption, lat, lon, clock.isoformat(timespec="seconds"))


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
    """Return the number of the part that a file belongs to."""
    file = PurePosixPath(name).name
    matches = [i for i, pattern in enumerate(_PARTS.values()) if re.search(pattern, file, re.IGNORECASE)]
    return matches[0] if matches and file.endswith(".parquet") else None


def _natural(name: str) -> list[tuple[str, int]]:
    """Return a key that sorts 2 before 10."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d*)", name)]
