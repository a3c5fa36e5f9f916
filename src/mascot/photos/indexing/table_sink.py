"""A table of an engine as a sink, which compares the rows that it has with those that it should have.

An engine stores complete rows and changes none. Headers are therefore read first, which determine the moment that each
row belongs to. The stamp of a row records what it was made of. Files and rows are compared in a temporary database of
about 1 KB a file, so that memory does not grow with the number of files.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mascot.connect.engines import Sink
from mascot.photos.encoders.encoder import Report
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.walk import Skipped
from mascot.photos.indexing.stages import HEADERS, Hashed, IndexRow, Order, Runner, Unread
from mascot.photos.metadata.moments import Shot, label_moments
from mascot.photos.photo import LISTS, TYPES, Photo

# The columns of a table of photographs, as `open_sink` takes them: the key, all columns of a library, and the stamp.
FIELDS: dict[str, type] = {
    "path": str, **{name: list if name in LISTS else types[0] for name, types in TYPES.items()}, "stamp": str,
}  # fmt: skip
_ROWS, _SECONDS = 1024, 20.0  # rows are written in batches of this size, or after this time
_UNREADABLE = "unreadable"  # the fact that lists files with damaged pixels, with their state
_MAX_CHARACTERS = 30_000  # of a fact: engines have limits
_PAGE = 512  # rows read at once
_STALE = (  # files whose rows the engine does not have
    "is_readable AND (rows.path IS NULL OR "
    "(rows.size, rows.mtime_ns, rows.stamp) IS NOT (files.size, files.mtime_ns, files.stamp))"
)


class TableSink(AbstractContextManager["TableSink"]):
    """The rows of one table, which stays open, during one run, which begins and ends with the block.

    `stamp` is the first part of the stamps of this run: the space of the vectors.
    """

    is_in_folder = False

    def __init__(self, table: Sink, stamp: str, limits: Limits) -> None:
        self._table, self._stamp, self._limits = table, stamp, limits
        self.missing: set[str] = set()
        self._suspects: dict[str, list[int]] = json.loads(table.facts().get(_UNREADABLE, "{}"))
        self._damaged: dict[str, list[int]] = {}  # size and mtime_ns of files with a good header and damaged pixels
        self._pending: list[IndexRow] = []
        self._last_write = time.monotonic()
        self._folder = TemporaryDirectory(prefix="mascot-plan-")
        self._database = sqlite3.connect(Path(self._folder.name) / "plan.db", isolation_level=None)
        self._database.executescript(files("mascot.photos.indexing").joinpath("plan.sql").read_text("utf-8"))
        self._database.create_function("stamp_of", 3, self._stamp_of, deterministic=True)
        states = table.select(("path", "size", "mtime_ns", "stamp"))
        self._database.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, 1)", states)

    def __exit__(self, *_: object) -> None:
        self._database.close()
        self._folder.cleanup()

    def add(self, order: Order) -> str | None:
        source = order.source
        refusal = self._limits.refusal(source.size)
        if refusal is None:
            order = replace(order, checks_pixels=self._suspects.get(order.path) == [source.size, source.mtime_ns])
            self._run(
                "INSERT INTO files (path, size, mtime_ns, sidecars, item) VALUES (?, ?, ?, ?, ?)",
                order.path, source.size, source.mtime_ns, source.sidecar_state, pickle.dumps(order),
            )  # fmt: skip
        return refusal

    def paths_without_files(self) -> Iterator[str]:
        rows = self._run("SELECT path FROM rows WHERE path NOT IN (SELECT path FROM files) ORDER BY path")
        return (path for (path,) in rows)

    def prepare(self, runner: Runner, report: Report) -> Iterator[Unread]:
        count, done = self._count("files"), 0
        report("reading headers", 0, count)
        with closing(runner.run(HEADERS, self._pages(), count)) as batches:
            for results in batches:
                for result in results:
                    if isinstance(result, IndexRow):
                        self._add_header(result.photo)
                        continue
                    if result.order.checks_pixels:
                        self._note_damaged(result.order)
                    yield result
                done += len(results)
                report("reading headers", done, count)

    def _add_header(self, photo: Photo) -> None:
        self._run(
            "UPDATE files SET is_readable = 1, taken = ?, lat = ?, lon = ?, city = ?, camera = ? WHERE path = ?",
            photo.taken and photo.taken.isoformat(), photo.lat, photo.lon, photo.city, photo.camera, photo.path,
        )  # fmt: skip

    def _stamp_of(self, moment: str | None, path: str, sidecars: str) -> str:
        inputs = [moment, path, sidecars] if sidecars else [moment, path]
        return f"{self._stamp}-{hashlib.blake2b(json.dumps(inputs).encode(), digest_size=6).hexdigest()}"

    def plan(self) -> int:
        """Compute the stamp of every row, and return how many rows the engine does not have."""
        self._write()
        self._run("DELETE FROM labels")
        self._database.executemany("INSERT INTO labels VALUES (?, ?)", label_moments(self._shots()))
        self._run("UPDATE files SET moment = (SELECT moment FROM labels WHERE labels.number = files.number)")
        self._run("UPDATE files SET stamp = stamp_of(moment, path, sidecars) WHERE is_readable")
        return self._count("files LEFT JOIN rows USING (path)", _STALE)

    def _shots(self) -> Iterator[Shot]:
        query = "SELECT number, taken, lat, lon, city, camera FROM files WHERE is_readable AND taken IS NOT NULL"
        for number, taken, *place in self._run(f"{query} ORDER BY taken, number"):
            yield Shot(number, datetime.fromisoformat(taken), *place)

    def orders(self) -> Iterator[Order]:
        return self._pages(_STALE)

    @staticmethod  # so that workers do not get the sink
    def wants(order: Order, digest: str) -> bool:
        return True

    def put(self, rows: Sequence[IndexRow], same: Sequence[Hashed]) -> None:
        self._pending += rows
        if len(self._pending) >= _ROWS or time.monotonic() - self._last_write > _SECONDS:
            self._write()

    def _write(self) -> None:
        rows, self._pending, self._last_write = self._pending, [], time.monotonic()
        if not rows:
            return
        values = [row.photo.to_row() | {"stamp": row.order.stamp} for row in rows]
        for value in values:
            del value["id"]  # meaningful in a library only
        self._table.put(values, np.stack([row.vectors for row in rows]))
        upsert = (
            "INSERT INTO rows VALUES (:path, :size, :mtime_ns, :stamp, 0) ON CONFLICT (path) DO UPDATE "
            "SET size = excluded.size, mtime_ns = excluded.mtime_ns, stamp = excluded.stamp"
        )
        self._database.executemany(upsert, values)
        self._database.executemany("UPDATE files SET written = 1 WHERE path = :path", values)

    def drop(self, file: Unread) -> None:
        """Record that a file gives no row and belongs to no moment."""
        self._run("UPDATE files SET is_readable = 0 WHERE path = ?", file.path)
        self._note_damaged(file.order)

    def _note_damaged(self, order: Order) -> None:
        self._damaged[order.path] = [order.source.size, order.source.mtime_ns]

    def remove(self, paths: Sequence[str]) -> None:
        self._table.remove(paths)

    def finish(self, skipped: Sequence[Skipped]) -> Mapping[str, int]:
        states: dict[str, list[int]] = {}  # of files with damaged pixels, which the next run does not count in a moment
        for path, state in sorted(self._damaged.items()):
            if len(json.dumps(states)) < _MAX_CHARACTERS:
                states[path] = state
        if states != self._suspects:
            self._table.set_facts({_UNREADABLE: json.dumps(states)})
        photos, written = self._count("files", "is_readable"), self._count("files", "written")
        changed = self._count("files JOIN rows USING (path)", "written AND old")
        unchanged = self._count("files", "is_readable AND NOT written")
        counts = {"photos": photos + len(self.missing), "new": written - changed, "changed": changed}
        return counts | {"moved": 0, "copied": 0, "unchanged": unchanged}

    def _pages(self, where: str = "TRUE") -> Iterator[Order]:
        """Yield the orders of files, page by page so that the caller may write meanwhile."""
        last = 0
        query = (
            "SELECT number, item, files.moment, files.stamp FROM files LEFT JOIN rows USING (path) "
            f"WHERE number > ? AND {where} ORDER BY number LIMIT {_PAGE}"
        )
        while page := self._run(query, last).fetchall():
            for _, item, moment, stamp in page:
                yield replace(pickle.loads(item), moment=moment, stamp=stamp or "")
            last = page[-1][0]

    def _count(self, table: str, where: str = "TRUE") -> int:
        number: int = self._run(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0]
        return number

    def _run(self, query: str, *values: Any) -> sqlite3.Cursor:
        return self._database.execute(query, values)
