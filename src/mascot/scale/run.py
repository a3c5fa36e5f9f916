"""One run over one folder: what each row should be, which of them are there, and making the others.

A row depends on its file, the encoder, the moment it belongs to, and the first file of the same content. The stamp
says by which of these it was made. So a run first looks at all headers, knows then what each row should be, makes
those that are not there, and may be killed at any time: rows that are there are right, and the next run makes the rest.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mascot.photos.drives import emptied, in_sight
from mascot.photos.encoders.encoder import Encoder
from mascot.photos.indexer import Report, Summary
from mascot.photos.limits import Limits
from mascot.photos.moments import Shot, moments
from mascot.photos.photo import Photo
from mascot.photos.walk import Skipped, walk
from mascot.scale.pipeline import Runner
from mascot.scale.stages import Bad, Order, Row, Seen, digest, look

if TYPE_CHECKING:
    from mascot.connect.source import Sink

_ROWS, _SECONDS = 1024, 20.0  # written together: so many, or after so long
_UNREADABLE = "unreadable"  # the fact that names files whose pixels are damaged, and their state
_LETTERS = 30_000  # in a fact: engines have limits

Known = Mapping[str, tuple[int, int, str, str]]


@dataclass(frozen=True, slots=True)
class Space:
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
class Options:
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
    space: Space
    options: Options
    report: Report
    seen: dict[str, Seen] = field(default_factory=dict)  # by path, as the walk met them
    skipped: list[Skipped] = field(default_factory=list)
    bad: dict[str, str] = field(default_factory=dict)  # why a file gives no row
    damaged: set[str] = field(default_factory=set)  # those of them whose headers are whole
    made: set[str] = field(default_factory=set)
    encoding_s: float = 0.0

    def run(self) -> Summary:
        started = time.monotonic()
        before = self.sink.known()
        self._walk()
        photos = self._look()
        hashes = self._hashes(photos, before)
        known = dict(before)
        while True:
            orders = self._orders(photos, hashes)
            todo = [order for order in orders if not _is_there(order, known)]
            unreadable = self._make(todo, known)
            if not unreadable:
                break
            # A photograph that cannot be shown belongs to no moment, nor is it anybody's twin.
            for path in unreadable:
                del photos[path]
        self._note_unreadable()
        lost, pruned = self._gone(known), 0
        if lost and self.options.prune:
            self.sink.remove(lost)
            pruned, lost = len(lost), []
        return Summary(
            photos=len(photos) + len(lost),
            new=len(self.made - before.keys()),
            changed=len(self.made & before.keys()),
            moved=0,
            copied=0,
            unchanged=len(photos.keys() - self.made),
            pruned=pruned,
            gone=len(lost),
            skipped=tuple(self.skipped) + tuple(Skipped(self.root / path, why) for path, why in self.bad.items()),
            seconds=time.monotonic() - started,
            encoding_s=self.encoding_s,
        )

    def _walk(self) -> None:
        suspects = _unreadable(self.sink.facts())
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
            self.seen[path] = Seen(
                item.path, path, item.size, item.mtime_ns, suspect, item.sidecars, item.sidecar_state
            )
            self.report("looking", len(self.seen), 0)

    def _look(self) -> dict[str, Photo]:
        """The rows as far as headers tell, in the order of the walk."""
        found: dict[str, Photo] = {}
        stage = partial(look, limits=self.options.limits)
        self.report("reading headers", 0, len(self.seen))
        for done, item in enumerate(self.runner.each(stage, list(self.seen.values())), 1):
            if isinstance(item, Bad):
                self.bad[item.path] = item.reason
                self.damaged |= {item.path} if self.seen[item.path].suspect else set()
            else:
                found[item.path] = item
            self.report("reading headers", done, len(self.seen))
        return {path: found[path] for path in self.seen if path in found}

    def _hashes(self, photos: Mapping[str, Photo], known: Known) -> dict[str, str]:
        """Hashes of those that may be copies: of equal size, with equal headers."""
        alike: dict[Photo, list[str]] = defaultdict(list)
        for path, photo in photos.items():
            alike[replace(photo, path="", folder="", mtime_ns=0)].append(path)
        hashes: dict[str, str] = {}
        unknown: list[Seen] = []
        for path in (path for paths in alike.values() if len(paths) > 1 for path in paths):
            seen, there = self.seen[path], known.get(path)
            if there is not None and there[:2] == (seen.size, seen.mtime_ns):
                hashes[path] = there[2]
            else:
                unknown.append(seen)
        stage = partial(digest, limits=self.options.limits)
        # What cannot be read now says so again when its turn comes.
        hashes.update(item for item in self.runner.each(stage, unknown) if not isinstance(item, Bad))
        return hashes

    def _orders(self, photos: Mapping[str, Photo], hashes: Mapping[str, str]) -> list[Order]:
        """What every row should be."""
        first: dict[str, str] = {}
        for path in photos:
            if path in hashes:
                first.setdefault(hashes[path], path)
        twins = {path: first[hashes[path]] if path in hashes else path for path in photos}
        # As a library numbers them: copies come after all others.
        ordered = sorted(photos, key=lambda path: twins[path] != path)
        shots = [
            Shot(rank, photo.taken, photo.lat, photo.lon, photo.city, photo.camera)
            for rank, photo in enumerate(photos[path] for path in ordered)
            if photo.taken is not None
        ]
        named = moments(shots)
        orders = []
        for rank, path in enumerate(ordered):
            moment = named.get(rank)
            photo = replace(photos[path], moment=moment)
            stamp = self.space.stamp(moment, twins[path], self.seen[path].sidecar_state)
            orders.append(Order(self.seen[path].file, photo, twins[path], stamp))
        return orders

    def _make(self, orders: Sequence[Order], known: dict[str, tuple[int, int, str, str]]) -> list[str]:
        """Read, encode and write; the paths of those that cannot be read."""
        self.report("indexing", 0, len(orders))
        waiting: list[Row] = []
        unreadable: list[str] = []
        written = begun = time.monotonic()
        space = self.space
        made = self.runner.encode(orders, self.options.limits, space.encoder, space.device, space.fingerprint)
        for done, item in enumerate(made, 1):
            if isinstance(item, Bad):
                unreadable.append(item.path)
                self.bad[item.path] = item.reason
                self.damaged.add(item.path)
            else:
                waiting.append(item)
            if len(waiting) >= _ROWS or time.monotonic() - written > _SECONDS:
                self._write(waiting, known)
                waiting, written = [], time.monotonic()
            self.report("indexing", done, len(orders))
        self._write(waiting, known)
        self.encoding_s += time.monotonic() - begun
        return unreadable

    def _write(self, rows: Sequence[Row], known: dict[str, tuple[int, int, str, str]]) -> None:
        if not rows:
            return
        self.sink.put([_row_of(row) for row in rows], np.stack([row.vectors for row in rows]))
        for row in rows:
            photo = row.photo
            known[photo.path] = (photo.size, photo.mtime_ns, photo.hash, row.stamp)
            self.made.add(photo.path)

    def _note_unreadable(self) -> None:
        """Remember whose pixels are damaged, so that the next run does not take them for members of a moment."""
        told: dict[str, list[int]] = {}
        letters = 0
        for path in sorted(self.damaged):
            told[path] = [self.seen[path].size, self.seen[path].mtime_ns]
            letters += len(json.dumps({path: told[path]}))
            if letters > _LETTERS:
                break
        if told != _unreadable(self.sink.facts()):
            self.sink.set_facts({_UNREADABLE: json.dumps(told)})

    def _gone(self, known: Iterable[str]) -> list[str]:
        """Rows without a file. A drive that is not mounted must not empty the table."""
        lost = in_sight(self.root, (path for path in known if path not in self.seen), self.skipped)
        self.skipped += emptied(self.root, lost)
        return in_sight(self.root, lost, self.skipped)


def _is_there(order: Order, known: Known) -> bool:
    size, mtime_ns, _, stamp = known.get(order.photo.path, (-1, -1, "", ""))
    return (size, mtime_ns, stamp) == (order.photo.size, order.photo.mtime_ns, order.stamp)


def _unreadable(facts: Mapping[str, str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = json.loads(facts.get(_UNREADABLE, "{}"))
    return found


def _row_of(row: Row) -> dict[str, Any]:
    """A row as sinks take it: the columns of a library, and the stamp."""
    values = row.photo.to_row()
    del values["id"]  # a library's own affair
    return values | {"stamp": row.stamp}
