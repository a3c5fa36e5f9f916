"""Incidents1M: disasters and where they happen, each placed where the server stands that had the picture."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from mascot.bench.datasets.folder import Query
from mascot.bench.prepare import pictures
from mascot.bench.prepare.common import Common, work_folder
from mascot.bench.prepare.crowd import each
from mascot.bench.prepare.download import sha256
from mascot.bench.prepare.finish import Gathered, finish
from mascot.bench.prepare.host_places import Places
from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.lost import Lost
from mascot.bench.prepare.resolvers import Database, Online, Resolver, Table, write_hosts
from mascot.bench.prepare.sources import fetch
from mascot.bench.prepare.tally import Tally
from mascot.errors import InputError, OptionError, require

HOSTS = "hosts.csv"
_LEAST = 2  # positives of a query in each split
_DECIMALS = 2  # of degrees, within which locations count as the same
_WHERE = (
    "incidents1m needs its annotations, which the authors share from http://incidentsdataset.csail.mit.edu: "
    "get multi_label_val.json there and give it with --source annotations=FILE"
)


@dataclass(frozen=True, slots=True)
class Incidents1M:
    """The multi-label validation set: images of an incident whose server can be located.

    Parameters
    ----------
    annotations
        ``multi_label_val.json``, a file or an address.
    hosts
        A table of hosts, lat and lon (`Table`), such as the hosts.csv of another preparation. Goes before `database`.
    database
        A file of cities in MaxMind's format (`Database`).
    batch, single
        The public services (`Online`) that are asked where neither is given.
    noise, widest
        Degrees, see `scattered`.
    """

    annotations: str = ""
    hosts: str = ""
    database: str = ""
    batch: str = "http://ip-api.com/batch"
    single: str = "https://geolocation-db.com/json/"
    noise: float = 0.001
    widest: float = 0.05

    def __post_init__(self) -> None:
        for name in ("noise", "widest"):  # a command line has text
            value = getattr(self, name)
            try:
                object.__setattr__(self, name, float(value))
            except ValueError:
                raise OptionError(f"Incidents1M.{name} must be a number, got {value!r}") from None
            require(0 <= getattr(self, name) <= 1, f"Incidents1M.{name}", "must be in 0..1 degrees", value)

    def run(self, out: Path, common: Common) -> None:
        """Make the dataset, or go on making it."""
        if not self.annotations:
            raise InputError(_WHERE)
        annotations = fetch("annotations", self.annotations, out, common)
        labelled = Tally("labels")
        entries = read_annotations(annotations.path, labelled)
        with Journal(work_folder(out) / "hosts.jsonl") as journal:
            places = Places(self._resolver(common), journal, common.progress("hosts"))
            located, fetched, found = _fetched(entries, places, out, common)
        write_hosts(out / HOSTS, places.of(entry.host for entry in found.looked))
        kept = [entry for entry, _ in found.kept]
        lat, lon = scattered(
            [entry.name for entry in kept],
            np.array([places.known[entry.host].lat for entry in kept], float),
            np.array([places.known[entry.host].lon for entry in kept], float),
            common.seed,
            self.noise,
            self.widest,
        )
        columns = {
            "id": [entry.name for entry in kept],
            "file": [told["file"] for _, told in found.kept],
            "lat": lat.tolist(),
            "lon": lon.tolist(),
            "host": [entry.host for entry in kept],
            "url": [entry.url for entry in kept],
        }
        sources = {"annotations": annotations.to_dict(), "hosts": {"url": HOSTS, "sha256": sha256(out / HOSTS)}}
        tallies = [labelled, located, fetched]
        gathered = Gathered(columns, queries_of(kept), tallies, sources, least=_LEAST, measure="map")
        finish(out, "incidents1m", gathered, common)

    def _resolver(self, common: Common) -> Resolver:
        if self.hosts:
            return Table(Path(self.hosts))
        if self.database:
            return Database(Path(self.database), common.workers)
        return Online(common.web, self.batch, self.single, common.workers)


@dataclass(frozen=True, slots=True)
class Entry:
    """An image of the annotations with at least one incident."""

    name: str
    url: str
    host: str
    incidents: tuple[str, ...]
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    looked: list[Entry]  # up to the last that was needed
    kept: list[tuple[Entry, dict[str, Any]]]


def read_annotations(path: Path, tally: Tally) -> list[Entry]:
    """The entries with at least one positive incident, each address once, in the order of the file.

    The file is a JSON object of records by the image's name. A record has ``url``, ``incidents`` and ``places``, and
    of the latter two each type is 1 where it is to be seen.
    """
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} must be a JSON file: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path} must be a JSON object of images by name, got a {type(found).__name__}")
    entries: list[Entry] = []
    seen: set[str] = set()
    for name, record in found.items():
        try:
            entry = _entry(name, record)
            if entry.url in seen:
                raise Lost("duplicate", entry.url)
        except Lost as lost:
            tally.lose(lost, name)
            continue
        seen.add(entry.url)
        entries.append(entry)
        tally.kept += 1
    return entries


def queries_of(entries: Sequence[Entry]) -> list[Query]:
    """A query for every type: the incidents by name, then the places; underscores become spaces.

    A type that is both is one query, for the images of either.
    """
    texts: dict[str, set[int]] = {}
    for kind in ("incidents", "places"):
        types = sorted({type_ for entry in entries for type_ in getattr(entry, kind)})
        texts.update({_text(type_): texts.get(_text(type_), set()) for type_ in types})
        for number, entry in enumerate(entries):
            for type_ in getattr(entry, kind):
                texts[_text(type_)].add(number)
    return [Query(text, tuple(sorted(numbers))) for text, numbers in texts.items()]


def scattered(
    names: Sequence[str],
    lat: NDArray[np.float64],
    lon: NDArray[np.float64],
    seed: int,
    noise: float = 0.001,
    widest: float = 0.05,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Move images that share a location apart, so that they are not one point.

    With c > 1 images at the same latitude and longitude, rounded to two decimals, each of them is moved by
    ``h * (u, v)`` degrees, where ``h = min(noise * sqrt(c), widest)`` and u, v are uniform in [-1, 1), drawn from a
    generator of the seed and the image's name alone; then cut to the range of latitudes and longitudes. An image that
    is alone stays. The paper gives no constant.
    """
    spots = [(round(float(y), _DECIMALS), round(float(x), _DECIMALS)) for y, x in zip(lat, lon, strict=True)]
    counts = Counter(spots)
    moves = np.zeros((len(names), 2))
    for i, (name, spot) in enumerate(zip(names, spots, strict=True)):
        if counts[spot] > 1:
            own = int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big")
            half = min(noise * math.sqrt(counts[spot]), widest)
            moves[i] = half * np.random.default_rng([seed, own]).uniform(-1, 1, 2)
    return np.clip(lat + moves[:, 0], -90, 90), np.clip(lon + moves[:, 1], -180, 180)


def _fetched(entries: Sequence[Entry], places: Places, out: Path, common: Common) -> tuple[Tally, Tally, _Found]:
    """The pictures of located hosts; with a limit, no more hosts and pictures are asked for than it takes."""

    def get(entry: Entry) -> dict[str, Any]:
        return pictures.keep(common.web.get(entry.url), out, entry.name)

    wanted = common.limit
    with Journal(work_folder(out) / "pictures.jsonl") as journal:
        while True:
            located, fetched = Tally("place of the host"), Tally("picture")
            looked = list(entries[: places.reach([entry.host for entry in entries], wanted)])
            placed = []
            for entry in looked:
                lost = places.known[entry.host].lost
                if lost is None:
                    located.kept += 1
                    placed.append(entry)
                else:
                    located.lose(Lost(lost), entry.host)
            outcomes = each(
                placed,
                lambda entry: entry.name,
                get,
                journal,
                common.workers,
                common.progress("pictures"),
                enough=common.limit,
                valid=partial(pictures.still_there, out),
            )
            kept = fetched.take(outcomes, lambda entry: entry.url)
            if wanted is None or common.limit is None or len(kept) >= common.limit or len(looked) == len(entries):
                return located, fetched, _Found(looked, kept)
            wanted += common.limit - len(kept)


def _entry(name: str, record: Any) -> Entry:
    if not isinstance(record, dict):
        raise Lost("wrong content", "not an object")
    incidents, places = _positive(record.get("incidents")), _positive(record.get("places"))
    if not incidents:
        raise Lost("no label", "no incident")
    url = record.get("url")
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        host = parts.hostname if parts and parts.scheme in ("http", "https") else None
    except ValueError:
        host = None
    if not isinstance(url, str) or not host:
        raise Lost("bad address", f"{url!r:.100}")
    return Entry(name, url, host, incidents, places)


def _positive(labels: Any) -> tuple[str, ...]:
    return tuple(type_ for type_, value in labels.items() if value == 1) if isinstance(labels, dict) else ()


def _text(type_: str) -> str:
    return " ".join(type_.replace("_", " ").split())
