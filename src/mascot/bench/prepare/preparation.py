"""The steps that all recipes share: download sources and pictures, and write the dataset."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from multiprocessing.pool import AsyncResult, ThreadPool
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image

from mascot import __version__
from mascot.bench.datasets.folder import Query, write_folder
from mascot.bench.files import replace_text, replacing, sha256
from mascot.bench.prepare.outcomes import NO_ANSWER, Journal, Loss, Outcome, StepTally, step_line, value_of
from mascot.bench.prepare.pins import Pins
from mascot.bench.prepare.web import Web
from mascot.errors import InputError
from mascot.photos.files.images import Unreadable, open_image, orientation, upright

Row = dict[str, Any]  # of an image, by column
Queries = Mapping[str, Iterable[int]] | None
Report = Callable[[str, int, "int | None"], None]  # step, items that are finished, items in all

_PICTURES = "images"  # their folder
SMALLEST = 32  # pixels of a side, where the study had a limit
QUALITY = 75  # of pictures that the study saved again
_LONGEST = 1024  # pixels of the longest side of a picture, as published
_FORMATS = ("JPEG", "MPO")  # MPO is a JPEG with further pictures after it, as telephones write
_LEAST_IMAGES = 5  # with fewer there is no validation split
_AHEAD = 16  # tasks handed out per worker
_STREAK, _HOSTS, _LONG_STREAK = 20, 10, 100  # failures in a row that mean that the network is down


@dataclass(slots=True)
class Preparation:
    """A dataset in the making, in the folder `out`. For the parameters see `mascot.bench.prepare.recipes.prepare`."""

    name: str
    out: Path
    web: Web
    limit: int | None = None
    workers: int = 8
    seed: int = 42
    report: Report = lambda step, count, total: None
    settings: Mapping[str, Any] = field(default_factory=dict)
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    tallies: list[StepTally] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pins: Pins | None = None

    @property
    def work(self) -> Path:
        """Where journals and downloaded tables are."""
        return self.out / "work"

    def tally(self, step: str) -> StepTally:
        """Return the counts of a step, which begins or begins again."""
        self.tallies = [*(tally for tally in self.tallies if tally.step != step), StepTally(step)]
        return self.tallies[-1]

    def source(self, name: str, address: str) -> Path:
        """Return the file of a source: a path, or a web address that is downloaded to the work folder."""
        path = Path(address)
        if "://" in address:
            suffix = "".join(PurePosixPath(unquote(urlsplit(address).path)).suffixes[-2:])
            path = self.work / f"{name}{suffix}"
            self.web.download(address, path, partial(self.report, f"download {name}"))
        elif not path.is_file():
            raise InputError(f"source {name} must be a web address or a file, got {address!r}")
        self.sources[name] = {"url": address, "sha256": sha256(path)}
        return path

    def picture(self, row: Row, **options: Any) -> Row:
        return self.store(self.web.get(row["url"]), row["id"], **options)

    def store(self, data: bytes, id_: str, smallest: int = 0, quality: int = 0, turn: bool = True) -> Row:
        """Store the picture of an id as a JPEG, and return its file and size for a journal.

        The longest side has at most 1024 pixels; a side below `smallest` pixels is a loss. As published, every picture
        is encoded again with `quality`, and the shorter side is rounded down. If `quality` is 0, an upright JPEG that
        is small enough is stored as it is. Colour profiles are not applied: so the published encoders saw the
        pictures. Without `turn` the orientation is ignored.
        """
        try:
            with open_image(data) as image:
                if min(image.size) < smallest:
                    raise Loss("too small", f"{image.width} x {image.height} pixels, below {smallest}")
                turned = orientation(image) != 1
                plain = image.format in _FORMATS and image.mode in ("RGB", "L")
                plain = plain and not turned and max(image.size) <= _LONGEST and not quality
                if turned and not turn:
                    Image.Image.getexif(image)[ExifTags.Base.Orientation] = 1
                decoded = upright(image, max(image.size) if quality else _LONGEST, srgb=False)
        except Unreadable as error:
            raise Loss("not a picture", f"{error}; it begins with {data[:16]!r}") from None
        if quality and max(decoded.size) > _LONGEST:
            width, height = (max(1, pixels * _LONGEST // max(decoded.size)) for pixels in decoded.size)
            decoded = decoded.resize((width, height))
        if not plain:
            stream = io.BytesIO()
            decoded.save(stream, "JPEG", quality=quality or 95)
            data = stream.getvalue()
        path = self.out / file_of(id_)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(data)
        return {"file": file_of(id_), "bytes": len(data)}

    def gather(self, rows: Sequence[Row], key: str, task: Callable[[Row], Row], step: str) -> list[Row]:
        """Run `task`, which stores a picture, for the rows up to the limit; return the successful, with its values.

        A row whose outcome is in the journal is not run again, unless its picture is gone. A task runs in a thread and
        returns values of JSON types or raises `Loss`; any other exception ends the run.
        """
        tally, accepted, count = self.tally(step), list[Row](), 0
        active: deque[AsyncResult[Outcome]] = deque()
        answered, silent = False, list[str | None]()  # hosts of the last requests, which had no answer
        # The end of the pool waits for no task, and so for no server.
        with Journal(self.work / "pictures.jsonl") as journal, ThreadPool(self.workers) as pool:

            def settle(row: Row) -> Outcome:
                picture = journal.entries.get(row[key], {}).get("ok")
                path = self.out / picture["file"] if picture else self.out
                if picture and not (path.is_file() and path.stat().st_size == picture["bytes"]):
                    del journal.entries[row[key]]
                return journal.settle(row[key], lambda: task(row))

            while len(accepted) != self.limit and count < len(rows):
                room = min(_AHEAD * self.workers, (self.limit or len(rows)) - len(accepted))
                active += [pool.apply_async(settle, (row,)) for row in rows[count + len(active) : count + room]]
                row, result, count = rows[count], active.popleft(), count + 1
                while not result.ready():
                    result.wait(timeout=1.0)  # bounded: a signal just before an unbounded wait would be seen at its end
                outcome = result.get()
                with tally.item():
                    accepted.append(row | value_of(outcome))
                if outcome.get("lost") != NO_ANSWER:
                    answered, silent = True, []
                elif row[key] not in journal.retried:  # what failed in an earlier run may be gone for good
                    silent.append(urlsplit(outcome["url"] or "").hostname)
                streak, hosts = len(silent), len(set(silent))
                if streak >= _LONG_STREAK or (streak >= _STREAK and (hosts >= _HOSTS or not answered)):
                    raise InputError(
                        f"the last {streak} requests had no answer, such as {outcome['url']}: {outcome['detail']}; "
                        "is the network up? Run the same command again to continue"
                    )
                self.report("pictures", count, len(rows))
        return accepted

    def finish(
        self,
        rows: list[Row],
        columns: list[str],
        queries: Queries = None,
        least: int = 0,
        most: tuple[int, int] = (0, 0),
        **about: Any,
    ) -> None:
        """Split the dataset and write it. The same input gives the same bytes.

        Queries are numbers of rows by text (default: the caption of each row, in the order of the split). A query must
        have `least` positives in each split. At most `most` queries of validation and test are asked, a seeded sample;
        0 asks all.
        """
        count = len(rows)
        if count < _LEAST_IMAGES:
            steps = "\n".join(step_line(tally.to_dict()) for tally in self.tallies)
            raise InputError(
                f"{self.name}: at least {_LEAST_IMAGES} images are needed for two splits, got {count}\n{steps}"
            )
        validation, order = count // 5, permutation(count, self.seed)
        if self.pins is not None:
            validation, order = self._pinned_order(self.pins, rows)
        rows = [rows[i] for i in order]
        values = {column: [row[column] for row in rows] for column in columns}
        if queries is None:
            candidates = [Query(row["caption"], (i,)) for i, row in enumerate(rows)]
        else:
            row_of = np.argsort(order).tolist()
            candidates = [Query(text, tuple(sorted(row_of[i] for i in numbers))) for text, numbers in queries.items()]
        accepted = self._accepted(candidates, validation, least, most)
        if not accepted:
            raise InputError(f"{self.name}: no query has {least} positives in each split of {count} images")
        files = set(values["file"])
        for path in (self.out / _PICTURES).rglob("*"):  # pictures after the limit, or of a killed run
            if path.relative_to(self.out).as_posix() not in files:
                path.unlink()
        hashes = "".join(f"{sha256(self.out / file)}  {file}\n" for file in sorted(files))
        replace_text(self.out / "images.sha256", hashes)
        facts = {
            **about,
            "recipe": self.name,
            "settings": dict(self.settings),
            "seed": self.seed,
            "limit": self.limit,
            "sources": self.sources,
            "steps": [tally.to_dict() for tally in self.tallies],
            "notes": self.notes,
            "pictures": {"file": "images.sha256", "sha256": sha256(self.out / "images.sha256")},
            "versions": {"mascot": __version__} | {name: version(name) for name in ("numpy", "pillow", "pyarrow")},
        }
        write_folder(self.out, self.name, values, validation, accepted, facts)

    def _pinned_order(self, pins: Pins, rows: Sequence[Row]) -> tuple[int, NDArray[np.int64]]:
        """Return the size of the validation split and the order of the rows; the pinned pictures are the test split."""
        tally = self.tally("pinned pictures")
        test, missing = pins.match(rows, tally)
        others = np.setdiff1d(np.arange(len(rows)), test)
        if not test or not len(others):
            raise InputError(
                f"{pins.path} must name some of the {len(rows)} pictures and not all of them, it names {len(test)}; "
                "its rows need uid, uid_name, id, image_id or caption"
            )
        replace_text(self.out / "missing.txt", "".join(f"{name}\n" for name in missing))
        self.notes.append(f"{len(missing)} of the {len(test) + len(missing)} pictures of {pins.path.name} are missing")
        self.notes[-1] += "; missing.txt lists them" if missing else ""
        return len(others), np.concatenate([others[permutation(len(others), self.seed)], test])

    def _accepted(self, queries: Sequence[Query], split: int, least: int, most: tuple[int, int]) -> list[Query]:
        """Return the queries without those that have too few positives in the rows before or after `split`."""
        tally, accepted, dropped = self.tally("queries"), [], set[int]()
        for number, count in enumerate(most):
            part = [i for i, query in enumerate(queries) if (max(query.positives, default=-1) >= split) == number]
            dropped |= {part[i] for i in permutation(len(part), self.seed)[count or len(part) :]}
        for i, query in enumerate(queries):
            early = sum(row < split for row in query.positives)
            late = len(query.positives) - early
            with tally.item():
                if not query.positives or min(early, late) < least:
                    raise Loss("few positives", f"{early} for validation, {late} for test")
                if i in dropped:
                    raise Loss("not sampled")
                accepted.append(query)
        return accepted


def file_of(id_: str) -> str:
    """Return the file of a picture relative to the dataset; different ids have different files.

    >>> file_of("2317")
    'images/2317.jpg'
    """
    safe = re.sub(r"[^A-Za-z0-9_-]+", "-", id_).strip("-")[:80]
    if safe != id_:
        safe = f"{safe}-{hashlib.sha256(id_.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}".lstrip("-")
    return f"{_PICTURES}/{safe}.jpg"


def read_csv(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a CSV file, which must have these columns."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines)
            if not set(columns) <= set(reader.fieldnames or ()):
                raise InputError(f"{path} must have the columns {', '.join(columns)}, got {reader.fieldnames}")
            return list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} must be a table: {error}") from None


def permutation(count: int, seed: int) -> NDArray[np.int64]:
    """Return the item of each row: as `torch.randperm` of that seed gives it."""
    order = np.arange(count)
    draws = np.random.RandomState(seed).randint(0, 2**32, max(count - 1, 0), dtype=np.uint32).astype(np.int64)
    for i, draw in enumerate(draws):  # torch swaps forwards, by the remainder of 32 bits of the Mersenne twister
        j = i + draw % (count - i)
        order[i], order[j] = order[j], order[i]
    return order
