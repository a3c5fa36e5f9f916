"""Incidents1M: disasters and the scenes they happen in, each placed where the server of the picture is."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from mascot.bench.files import sha256
from mascot.bench.prepare import pictures
from mascot.bench.prepare.hosts import SERVICES, from_database, from_services, from_table, write_table
from mascot.bench.prepare.outcomes import Journal, Loss, Tally, value_of
from mascot.bench.prepare.preparation import Preparation, option
from mascot.errors import InputError, require

_ACCESS = (
    "incidents1m needs the annotations of its authors, which they send after a form and an e-mail "
    "(http://incidentsdataset.csail.mit.edu): give multi_label_val.json with --source annotations=FILE"
)


@dataclass(frozen=True, slots=True)
class Incidents1M:
    """The multi-label validation set: images of an incident whose server can be located.

    Hosts are located by the table `hosts`, else by the `database`, else by the public `services` in this order.
    Published noise moves an image by up to 0.001 degrees times the number of earlier images at its place; capped
    noise by up to 0.001 times the root of their number, 0.05 at most.
    """

    annotations: str = ""  # multi_label_val.json
    hosts: str = ""  # CSV of host, lat and lon, such as the hosts.csv of another preparation
    database: str = ""  # of cities, in MaxMind's format
    services: str = option("geolocation-db,ip-api", "ip-api,geolocation-db")
    noise: str = option("count", "capped", ("count", "capped", "none"))
    place_prefix: str = option("place:", "")  # of place queries, such as place:beach
    smallest: int = option(32, 32)  # side of a picture in pixels

    def run(self, prep: Preparation) -> None:
        """Make the dataset, or continue making it."""
        if not self.annotations:
            raise InputError(_ACCESS)
        names = {name.strip() for name in self.services.split(",")}
        require(names <= set(SERVICES), "services", f"must be of {', '.join(SERVICES)}", self.services)
        entries = read_annotations(prep.source("annotations", self.annotations), prep.tally("labels"))
        locate = (
            from_table(Path(self.hosts)) if self.hosts
            else from_database(Path(self.database)) if self.database
            else from_services(prep.web, self.services)
        )  # fmt: skip
        with Journal(prep.work / "hosts.jsonl") as journal:

            def task(entry: Entry) -> dict[str, Any]:
                location = value_of(journal.settle(entry.host, lambda: locate(entry.host)))
                picture = pictures.store(prep.web.get(entry.url), prep.out, entry.id, smallest=self.smallest)
                return {"lat": location["lat"], "lon": location["lon"], **picture}

            images = prep.gather(entries, lambda entry: entry.id, task, "place of the host, and picture")
            write_table(prep.out / "hosts.csv", {entry.host: journal.entries[entry.host]["ok"] for entry, _ in images})
        prep.sources["hosts"] = {"url": "hosts.csv", "sha256": sha256(prep.out / "hosts.csv")}
        places = np.array([(value["lat"], value["lon"]) for _, value in images], float).reshape(-1, 2)
        moved = scattered([entry.id for entry, _ in images], places, prep.seed, self.noise).tolist()
        images = [
            (entry, {**value, "lat": lat, "lon": lon}) for (entry, value), (lat, lon) in zip(images, moved, strict=True)
        ]
        queries = queries_of([entry for entry, _ in images], self.place_prefix)
        columns = ("id", "file", "lat", "lon", "host", "url")
        prep.finish("incidents1m", images, columns, queries, least=2, about={"measure": "map"})


@dataclass(frozen=True, slots=True)
class Entry:
    """An image of the annotations with at least one incident."""

    id: str
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
        with tally.item(name):
            entry = _entry(name, record)
            if entries.setdefault(entry.url, entry) is not entry:
                raise Loss("duplicate", entry.url)
    return list(entries.values())


def queries_of(entries: Sequence[Entry], place_prefix: str = "") -> dict[str, set[int]]:
    """Return the numbers of the images of every type: the incidents by name, then the places.

    Underscores become spaces. Types with equal texts are one query, for the images of either.
    """
    positives: dict[str, set[int]] = {}
    for kind, prefix in (("incidents", ""), ("places", place_prefix)):
        pairs = [(type_, i) for i, entry in enumerate(entries) for type_ in getattr(entry, kind)]
        for type_, i in sorted(pairs):
            positives.setdefault(prefix + " ".join(type_.replace("_", " ").split()), set()).add(i)
    return positives


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
        parts = urlsplit(url if isinstance(url, str) else "")
        host = parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        host = None
    if not isinstance(url, str) or not host:
        raise Loss("bad address", f"{url!r:.100}")
    return Entry(name, url, host, incidents, places)
