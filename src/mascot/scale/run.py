"""One run over one folder: what each row should be, which of them are there, and making the others.

A row depends on its file, the encoder, the moment it belongs to, and the first file of the same content. The stamp
says by which of these it was made. So a run first looks at all headers, knows then what each row should be, makes
those that are not there, and may be killed at any time: rows that are there are right, and the next run makes the rest.
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

_ROWS, _SECONDS = 1024, 20.0  # written together: so many, or after so long
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
        made_of = [moment, twin, sidecars] if sidecars else [moment, twin]
        rest = hashlib.blake2b(json.dumps(made_of).encode(), digest_size=6).hexdigest()
        return f"{self.fingerprint}-{self.epoch}-{rest}"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What is asked of a run."""

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
    damaged: set[str] = field(default_factory=set)  # those of them whose headers are whole
    encoding_s: float = 0.0

    def run(self) -> Summary:
        started = time.monotonic()
        with Plan(self.root, self.space.stamp) as plan:
            plan.add_rows(self.sink.states())
            count = plan.add_files(self._walk())
            self._read_headers(plan, count)
            for item in self.runner.each(partial(digest, limits=self.options.limits), plan.unhashed()):
                if not isinstance(item, Bad):  # what cannot be read now says so again when its turn comes
                    plan.add_hash(*item)
            while unreadable := self._encode(plan, plan.order()):
                for path in unreadable:
                    plan.drop_photo(path)
            self._note_unreadable(plan)
            gone, pruned = self._gone(plan), 0
            if gone and self.options.prune:
                self.sink.remove(gone)
                pruned, gone = len(gone), []
            updated = plan.count("files JOIN rows USING (path)", "written AND old")
            return Summary(
                photos=plan.count("files", "photo IS NOT NULL") + len(gone),
                new=plan.count("files", "written") - updated,
                changed=updated,
                moved=0,
                copied=0,
                unchanged=plan.count("files", "photo IS NOT NULL AND NOT written"),
                pruned=pruned,
                gone=len(gone),
                skipped=tuple(self.skipped) + tuple(Skipped(self.root / path, why) for path, why in self.bad.items()),
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
        """Note the rows as far as headers tell."""
        self.report("reading headers", 0, count)
        for done, item in enumerate(self.runner.each(partial(look, limits=self.options.limits), plan.files()), 1):
            if isinstance(item, Bad):
                self.bad[item.path] = item.reason
                self.damaged |= {item.path} if plan.seen(item.path).suspect else set()
            else:
                plan.add_photo(item)
            self.report("reading headers", done, count)

    def _encode(self, plan: Plan, count: int) -> list[str]:
        """Read, encode and write the rows that are ordered; return the paths of those that cannot be read."""
        self.report("indexing", 0, count)
        if not count:
            return []
        waiting: list[Row] = []
        unreadable: list[str] = []
        written = started = time.monotonic()
        space = self.space
        rows = self.runner.encode(plan.orders(), self.options.limits, space.encoder, space.device, space.fingerprint)
        for done, item in enumerate(rows, 1):
            if isinstance(item, Bad):
                unreadable.append(item.path)
                self.bad[item.path] = item.reason
                self.damaged.add(item.path)
            else:
                waiting.append(item)
            if len(waiting) >= _ROWS or time.monotonic() - written > _SECONDS:
                self._write(waiting, plan)
                waiting, written = [], time.monotonic()
            self.report("indexing", done, count)
        self._write(waiting, plan)
        self.encoding_s += time.monotonic() - started
        return unreadable

    def _write(self, rows: Sequence[Row], plan: Plan) -> None:
        if not rows:
            return
        self.sink.put([_row_of(row) for row in rows], np.stack([row.vectors for row in rows]))
        for row in rows:
            plan.add_written(row)

    def _note_unreadable(self, plan: Plan) -> None:
        """Remember whose pixels are damaged, so that the next run does not take them for members of a moment."""
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

    def _gone(self, plan: Plan) -> list[str]:
        """Return rows without a file. A drive that is not mounted must not empty the table."""
        gone = in_sight(self.root, plan.gone(), self.skipped)
        self.skipped += emptied(self.root, gone)
        return in_sight(self.root, gone, self.skipped)


def _unreadable(facts: Mapping[str, str]) -> dict[str, list[int]]:
    states: dict[str, list[int]] = json.loads(facts.get(_UNREADABLE, "{}"))
    return states


def _row_of(row: Row) -> dict[str, Any]:
    """A row as sinks take it: the columns of a library, and the stamp."""
    values = row.photo.to_row()
    del values["id"]  # a library's own affair
    return values | {"stamp": row.stamp}
