"""Incidents1M: disasters and the scenes they happen in, each placed where the server of the picture is."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from mascot.bench.datasets.folder import Query
from mascot.bench.files import sha256
from mascot.bench.prepare import pictures
from mascot.bench.prepare.hosts import SERVICES, Hosts, from_database, from_services, from_table
from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.losses import Loss, Tally
from mascot.bench.prepare.preparation import Preparation
from mascot.errors import InputError, OptionError

_ACCESS = (
    "incidents1m needs the annotations of its authors, which they send after a form and an e-mail "
    "(http://incidentsdataset.csail.mit.edu): give multi_label_val.json with --source annotations=FILE"
)


@dataclass(frozen=True, slots=True)
class Incidents1M:
    """The multi-label validation set: images of an incident whose server can be located.

    `annotations` is ``multi_label_val.json``, which the authors send on request. Hosts are located by `hosts`, a CSV
    table of host, lat and lon such as the hosts.csv of another preparation; else by `database`, a city database in
    MaxMind's format; else by the public `services`, in this order.

    Parameters
    ----------
    noise
        ``"count"``: an image is moved by up to 0.001 degrees times the number of earlier images at its place, as
        published; ``"capped"``: by up to 0.001 times the root of their number, 0.05 at most; ``"none"``.
    place_prefix
        What place queries begin with; published: ``place:beach``.
    smallest
        Smallest side of a picture in pixels.
    """

    annotations: str = ""
    hosts: str = ""
    database: str = ""
    services: str = "geolocation-db,ip-api"
    noise: str = "count"
    place_prefix: str = "place:"
    smallest: int = 32
    CORRECT: ClassVar = {"services": "ip-api,geolocation-db", "noise": "capped", "place_prefix": "", "smallest": 32}
    CHOICES: ClassVar = {"noise": ("count", "capped", "none")}

    def run(self, prep: Preparation) -> None:
        """Make the dataset, or continue making it."""
        if not self.annotations:
            raise InputError(_ACCESS)
        unknown = [name for name in self.services.split(",") if name.strip() not in SERVICES]
        if unknown:
            raise OptionError(f"Incidents1M.services must be of {', '.join(SERVICES)}, got {unknown[0]!r}")
        entries = read_annotations(prep.source("annotations", self.annotations), prep.tally("labels"))
        locate = (
            from_table(Path(self.hosts)) if self.hosts
            else from_database(Path(self.database)) if self.database
            else from_services(prep.web, self.services)
        )  # fmt: skip
        with Journal(prep.work / "hosts.jsonl") as journal:
            hosts = Hosts(locate, journal)

            def task(entry: Entry) -> dict[str, Any]:
                location = hosts[entry.host]
                picture = pictures.store(prep.web.get(entry.url), prep.out, entry.name, smallest=self.smallest)
                return {"lat": location["lat"], "lon": location["lon"], **picture}

            accepted = prep.gather(entries, lambda entry: entry.name, task, "place of the host, and picture")
            hosts.write(prep.out / "hosts.csv", (entry.host for entry, _ in accepted))
        prep.sources["hosts"] = {"url": "hosts.csv", "sha256": sha256(prep.out / "hosts.csv")}
        chosen, values = [entry for entry, _ in accepted], [value for _, value in accepted]
        places = np.array([(value["lat"], value["lon"]) for value in values], float).reshape(-1, 2)
        moved = scattered([entry.name for entry in chosen], places, prep.seed, self.noise)
        columns = {
            "id": [entry.name for entry in chosen],
            "file": [value["file"] for value in values],
            "lat": moved[:, 0].tolist(),
            "lon": moved[:, 1].tolist(),
            "host": [entry.host for entry in chosen],
            "url": [entry.url for entry in chosen],
        }
        queries = queries_of(chosen, self.place_prefix)
        prep.finish("incidents1m", columns, queries, least=2, about={"measure": "map"})


@dataclass(frozen=True, slots=True)
class Entry:
    """An image of the annotations with at least one incident."""

    name: str
    url: str
    host: str
    incidents: tuple[str, ...]
    places: tuple[str, ...]


def read_annotations(path: Path, tally: Tally) -> list[Entry]:
    """Return the entries with at least one positive incident, each address once, in the order of the file.

    The file is a JSON object of records by image name. A record has ``url``, ``incidents`` and ``places``; in the
    latter two a type is 1 where it is in the image.
    """
    try:
        records = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} must be a JSON file: {error}") from None
    if not isinstance(records, dict):
        raise InputError(f"{path} must be a JSON object of images by name, got a {type(records).__name__}")
    entries: dict[str, Entry] = {}
    for name, record in records.items():
        try:
            entry = _entry(name, record)
            if entries.setdefault(entry.url, entry) is not entry:
                raise Loss("duplicate", entry.url)
            tally.accepted += 1
        except Loss as loss:
            tally.lose(loss, name)
    return list(entries.values())


def queries_of(entries: Sequence[Entry], place_prefix: str = "") -> list[Query]:
    """Return a query for every type: the incidents by name, then the places; underscores become spaces.

    Types with equal texts are one query, for the images of either.
    """
    positives: dict[str, set[int]] = {}
    for kind, prefix in (("incidents", ""), ("places", place_prefix)):
        for type_ in sorted({type_ for entry in entries for type_ in getattr(entry, kind)}):
            rows = positives.setdefault(prefix + " ".join(type_.replace("_", " ").split()), set())
            rows |= {i for i, entry in enumerate(entries) if type_ in getattr(entry, kind)}
    return [Query(text, tuple(sorted(rows))) for text, rows in positives.items()]


def scattered(names: Sequence[str], places: NDArray[np.float64], seed: int, noise: str) -> NDArray[np.float64]:
    """Move images with the same place apart by uniform noise; see `Incidents1M`. [n, 2] degrees in and out."""
    decimals = 4 if noise == "count" else 2  # of degrees, within which places count as the same
    spots = [tuple(np.round(place, decimals)) for place in places]
    total, earlier = Counter(spots), Counter[Any]()
    moved = places.copy()
    for i, (name, spot) in enumerate(zip(names, spots, strict=True)):
        width = 0.001 * earlier[spot] if noise == "count" else min(0.001 * math.sqrt(total[spot]), 0.05)
        if noise != "none" and total[spot] > 1:
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8]
            moved[i] += width * np.random.default_rng([seed, int.from_bytes(digest, "big")]).uniform(-1, 1, 2)
        earlier[spot] += 1
    return np.asarray(np.clip(moved, (-90, -180), (90, 180)))


def _entry(name: str, record: Any) -> Entry:
    if not isinstance(record, dict):
        raise Loss("wrong content", "not an object")
    incidents, places = (
        tuple(type_ for type_, value in labels.items() if value == 1) if isinstance(labels, dict) else ()
        for labels in (record.get("incidents"), record.get("places"))
    )
    if not incidents:
        raise Loss("no label", "no incident")
    url = record.get("url")
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        host = parts.hostname if parts and parts.scheme in ("http", "https") else None
    except ValueError:
        host = None
    if not isinstance(url, str) or not host:
        raise Loss("bad address", f"{url!r:.100}")
    return Entry(name, url, host, incidents, places)
