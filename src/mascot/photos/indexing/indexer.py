"""Bring an index up to date with folders of photographs: read and encode what is new or changed."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path, PurePosixPath

from mascot.errors import InputError
from mascot.photos.encoders.encoder import Encoder, Report
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.decoder_pool import DecoderPool
from mascot.photos.files.walk import Skipped, walk
from mascot.photos.indexing.library_sink import LibrarySink
from mascot.photos.indexing.stages import Hashed, IndexRow, Order, Unread, make_rows, read_batches, read_picture
from mascot.photos.locations import name_of

_TOP = PurePosixPath(".")
_UNMOUNTED = "does not exist (drive not mounted?); its photographs stay in the library"


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a run of the indexer."""

    photos: int  # in the library afterwards
    new: int
    changed: int
    moved: int
    copied: int  # of a photograph already encoded
    unchanged: int
    pruned: int
    gone: int  # without a file, but kept: the run did not prune
    skipped: tuple[Skipped, ...]
    seconds: float
    unread: tuple[tuple[str, int], ...] = ()  # suffixes of pictures in unsupported formats, with their counts
    texts: int | None = None  # photographs whose text was read; None if it was not asked for
    paired: int = 0  # films and RAW files that belong to another photograph


@dataclass(slots=True)
class Indexer:
    """One run over folders. Paths of photographs are relative to the first folder."""

    folders: Sequence[Path]
    sink: LibrarySink
    encoder: Encoder
    limits: Limits
    confirmed: Collection[Path] | None = None  # the folders that may be walked (default: all)
    prune: bool = False  # remove rows without a file
    hidden: bool = False
    follow_links: bool = False
    report: Report | None = None
    _skipped: list[Skipped] = field(default_factory=list, init=False)
    _unread: Counter[str] = field(default_factory=Counter, init=False)
    _companions: set[str] = field(default_factory=set, init=False)  # films and RAW files of another photograph

    def run(self) -> Summary:
        """Read, encode and store what is new or changed."""
        start, sink = time.monotonic(), self.sink
        self._survey()
        # The paths of rows whose files are gone. A drive that is not mounted must not empty the index.
        root = self.folders[0]
        paths = _in_sight(root, sink.paths_without_files(), self._skipped)
        self._skipped += _emptied(root, paths, sink.is_in_folder)
        sink.missing = set(_in_sight(root, paths, self._skipped))
        sink.prepare()
        self._index()
        # A file that has become the companion of another photograph loses its own row.
        removed = [path for path in sink.missing if self.prune or path in self._companions]
        if removed:
            sink.remove(removed)
            sink.missing.difference_update(removed)
        return Summary(
            pruned=len(removed),
            gone=len(sink.missing),
            **sink.finish(self._skipped),
            skipped=tuple(self._skipped),
            seconds=time.monotonic() - start,
            unread=tuple(sorted(self._unread.items())),
            paired=len(self._companions),
        )

    def _tell(self, step: str, count: int, total: int) -> None:
        if self.report is not None:
            self.report(step, count, total)

    def _survey(self) -> None:
        """Add the files of all folders to the sink."""
        count = 0
        for folder in self._walkable():
            for item in walk(folder, hidden=self.hidden, follow_links=self.follow_links, unread=self._unread):
                if isinstance(item, Skipped):
                    self._skipped.append(item)
                    continue
                self._companions.update(name_of(self.folders[0], path) for path in item.media)
                path = name_of(self.folders[0], item.path)
                refusal = self.sink.add(Order(item, path, item.path.relative_to(folder).as_posix()))
                if refusal is not None:
                    self._skipped.append(Skipped(item.path, refusal))
                count += refusal is None
                self._tell("looking", count, 0)

    def _walkable(self) -> Iterator[Path]:
        """Yield the folders that can be walked, and record why others are skipped; raise an error if none exists."""
        missing = [folder for folder in self.folders if not folder.is_dir()]
        if len(missing) == len(self.folders):
            raise InputError(f"{missing[0]} {_UNMOUNTED}")
        for folder in self.folders:
            if folder in missing:
                self._skipped.append(Skipped(folder, _UNMOUNTED))
            elif self.confirmed is not None and folder not in self.confirmed:
                reason = f"was added to this library elsewhere; `mascot index {self.folders[0]} {folder}` includes it"
                self._skipped.append(Skipped(folder, reason))
            else:
                yield folder

    def _index(self) -> None:
        """Read, encode and store files until the sink has all that it needs."""
        total = 0
        with DecoderPool(self.limits) as decoders:
            read = partial(read_picture, decoders=decoders, wants=self.sink.wants, broken={})
            while count := self.sink.plan():
                total = max(total, count)
                done = total - count
                self._tell("indexing", done, total)
                # Closed on Ctrl-C at once, to end the decoders.
                with closing(read_batches(read, self.sink.orders(), count, decoders)) as batches:
                    for batch in batches:
                        done += self._store(make_rows(batch, self.encoder))
                        self._tell("indexing", done, total)
        self._tell("indexing", total, total)

    def _store(self, results: Sequence[IndexRow | Hashed | Unread]) -> int:
        """Store the rows of a batch, and return the number of files that are finished."""
        same = [item for item in results if isinstance(item, Hashed)]
        self.sink.put([item for item in results if isinstance(item, IndexRow)], same)
        for item in results:
            if isinstance(item, Unread):
                self.sink.drop(item)
                self._skipped.append(Skipped(item.order.source.path, item.reason))
        return len(results) - len(same)


def _emptied(root: Path, missing: Iterable[str], is_mounted: bool) -> Iterator[Skipped]:
    """Yield the folders that contained some of these missing files and are empty now."""

    @cache
    def existing(folder: PurePosixPath) -> PurePosixPath:
        """Return the folder, or the nearest existing one above it."""
        while folder != _TOP and not (root / folder).is_dir():
            folder = folder.parent
        return folder

    for folder, count in sorted(Counter(existing(PurePosixPath(path).parent) for path in missing).items()):
        if not (folder == _TOP and is_mounted) and _is_empty(root / folder):
            photographs, them = ("photograph stays", "it") if count == 1 else ("photographs stay", "them")
            reason = f"is empty (drive not mounted?); its {count} {photographs} in the library"
            yield Skipped(root / folder, f"{reason}. To remove {them}, delete the folder and run --prune")


def _is_empty(folder: Path) -> bool:
    """Return whether a folder has no files except hidden ones."""
    with suppress(OSError):
        return all(name.startswith(".") for name in os.listdir(folder))
    return False


def _in_sight(root: Path, paths: Iterable[str], skipped: Iterable[Skipped]) -> list[str]:
    """Return the names that are neither skipped nor in a skipped folder."""
    hidden = {PurePosixPath(name_of(root, item.path)) for item in skipped}
    return [path for path in paths if hidden.isdisjoint((PurePosixPath(path), *PurePosixPath(path).parents))]
