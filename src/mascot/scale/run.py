"""One run over one folder: decide what each row should be, and make the rows that the engine does not have.

A row depends on its file, the encoder, the moment it belongs to, and the first file of the same content. Its stamp
records these inputs. A run reads all headers, which determine what each row should be, and makes the missing rows. It
may be killed at any time: existing rows are correct, and the next run makes the others.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mascot.photos.drives import emptied, in_sight
from mascot.photos.encoders.encoder import Encoder
from mascot.photos.indexer import Report, Summary
from mascot.photos.limits import Limits
from mascot.photos.walk import Skipped, walk
from mascot.scale.pipeline import Runner
from mascot.scale.plan import Plan
from mascot.scale.stages import Bad, Row, Seen, digest, look

if TYPE_CHECKING:
    from mascot.connect.source import Sink

_ROWS, _SECONDS = 1024, 20.0  # rows are written in batches of this size, or after this time
_UNREADABLE = "unreadable"  # the fact that names files whose pixels are damaged, and their state
_LETTERS = 30_000  # in a fact: engines have limits


@dataclass(frozen=True, slots=True)
class EngineSpace:
    """How vectors are made."""

    encoder: str | Encoder
    fingerprint: str
    epoch: str
    device: str

    def stamp(self, moment: str | None, twin: str, sidecars: str = "") -> str:
        inputs = [moment, twin, sidecars] if sidecars else [moment, twin]
        suffix = hashlib.blake2b(json.dumps(inputs).encode(), digest_size=6).hexdigest()
        return f"{self.fingerprint}-{self.epoch}-{suffix}"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run."""

    prune: bool
    hidden: bool
    follow_links: bool
    limits: Limits


@dataclass(slots=True)
class Run:
    """One run over one folder."""

    root: Path
    sink: Sink
    runner: Runner
    space: EngineSpace
    options: RunOptions
    report: Report
    skipped: list[Skipped] = field(default_factory=list)
    bad: dict[str, str] = field(default_factory=dict)  # why a file gives no row
    damaged: set[str] = field(default_factory=set)  # of those, the files whose headers can be read
    encoding_s: float = 0.0

    def run(self) -> Summary:
        started = time.monotonic()
        with Plan(self.root, self.space.stamp) as plan:
            plan.add_rows(self.sink.states())
            count = plan.add_files(self._walk())
            self._read_headers(plan, count)
            for item in self.runner.each(partial(digest, limits=self.options.limits), plan.unhashed()):
                if not isinstance(item, Bad):  # a file that cannot be read is reported when it is encoded
                    plan.add_hash(*item)
            while unreadable := self._encode(plan, plan.order()):
                for path in unreadable:
                    plan.drop_photo(path)
            self._note_unreadable(plan)
            vanished, pruned = self._vanished_paths(plan), 0
            if vanished and self.options.prune:
                self.sink.remove(vanished)
                pruned, vanished = len(vanished), []
            updated = plan.count("files JOIN rows USING (path)", "written AND old")
            return Summary(
                photos=plan.count("files", "photo IS NOT NULL") + len(vanished),
                new=plan.count("files", "written") - updated,
                changed=updated,
                moved=0,
                copied=0,
                unchanged=plan.count("files", "photo IS NOT NULL AND NOT written"),
                pruned=pruned,
                gone=len(vanished),
                skipped=tuple(self.skipped)
                + tuple(Skipped(self.root / path, reason) for path, reason in self.bad.items()),
                seconds=time.monotonic() - started,
                encoding_s=self.encoding_s,
            )

    def _walk(self) -> Iterator[Seen]:
        """Yield the files that are not too large."""
        suspects = _unreadable(self.sink.facts())
        count = 0
        for item in walk(self.root, hidden=self.options.hidden, follow_links=self.options.follow_links):
            if isinstance(item, Skipped):
                self.skipped.append(item)
                continue
            refusal = self.options.limits.refusal(item.size)
            if refusal is not None:
                self.skipped.append(Skipped(item.path, refusal))
                continue
            path = item.path.relative_to(self.root).as_posix()
            suspect = suspects.get(path) == [item.size, item.mtime_ns]
            yield Seen(item.path, path, item.size, item.mtime_ns, suspect, item.sidecars, item.sidecar_state)
            count += 1
            self.report("looking", count, 0)

    def _read_headers(self, plan: Plan, count: int) -> None:
        """Record what the headers say of each row."""
        self.report("reading headers", 0, count)
        for number, item in enumerate(self.runner.each(partial(look, limits=self.options.limits), plan.files()), 1):
            if isinstance(item, Bad):
                self.bad[item.path] = item.reason
                self.damaged |= {item.path} if plan.seen(item.path).suspect else set()
            else:
                plan.add_photo(item)
            self.report("reading headers", number, count)

    def _encode(self, plan: Plan, count: int) -> list[str]:
        """Read, encode and write the rows that are ordered; return the paths of those that cannot be read."""
        self.report("indexing", 0, count)
        if not count:
            return []
        pending: list[Row] = []
        unreadable: list[str] = []
        last_write = started = time.monotonic()
        space = self.space
        rows = self.runner.encode(plan.orders(), self.options.limits, space.encoder, space.device, space.fingerprint)
        for number, item in enumerate(rows, 1):
            if isinstance(item, Bad):
                unreadable.append(item.path)
                self.bad[item.path] = item.reason
                self.damaged.add(item.path)
            else:
                pending.append(item)
            if len(pending) >= _ROWS or time.monotonic() - last_write > _SECONDS:
                self._write(pending, plan)
                pending, last_write = [], time.monotonic()
            self.report("indexing", number, count)
        self._write(pending, plan)
        self.encoding_s += time.monotonic() - started
        return unreadable

    def _write(self, rows: Sequence[Row], plan: Plan) -> None:
        if not rows:
            return
        self.sink.put([_row_of(row) for row in rows], np.stack([row.vectors for row in rows]))
        for row in rows:
            plan.add_written(row)

    def _note_unreadable(self, plan: Plan) -> None:
        """Store which files have damaged pixels, so that the next run does not count them in a moment."""
        states: dict[str, list[int]] = {}
        length = 0
        for path in sorted(self.damaged):
            seen = plan.seen(path)
            states[path] = [seen.size, seen.mtime_ns]
            length += len(json.dumps({path: states[path]}))
            if length > _LETTERS:
                break
        if states != _unreadable(self.sink.facts()):
            self.sink.set_facts({_UNREADABLE: json.dumps(states)})

    def _vanished_paths(self, plan: Plan) -> list[str]:
        """Return rows without a file. A drive that is not mounted must not empty the table."""
        vanished = in_sight(self.root, plan.vanished_paths(), self.skipped)
        self.skipped += emptied(self.root, vanished)
        return in_sight(self.root, vanished, self.skipped)


def _unreadable(facts: Mapping[str, str]) -> dict[str, list[int]]:
    states: dict[str, list[int]] = json.loads(facts.get(_UNREADABLE, "{}"))
    return states


def _row_of(row: Row) -> dict[str, Any]:
    """Return a row as sinks take it: the columns of a library, and the stamp."""
    values = row.photo.to_row()
    del values["id"]  # meaningful in a library only
    return values | {"stamp": row.stamp}
