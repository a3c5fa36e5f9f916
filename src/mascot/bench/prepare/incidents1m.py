"""Incidents1M: disasters and their scenes, each at the location of the server of the picture."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from mascot.bench.files import replace_text, sha256
from mascot.bench.prepare.outcomes import NO_ANSWER, Journal, Loss, StepTally, value_of
from mascot.bench.prepare.preparation import SMALLEST, Preparation, Row, read_csv
from mascot.bench.prepare.web import Web, resolve
from mascot.errors import InputError
from mascot.photos.metadata.validate import place

Location = dict[str, Any]  # ip, lat, lon, source
SERVICES = {
    "geolocation-db": "https://geolocation-db.com/json/{ip}",
    "ip-api": "http://ip-api.com/json/{ip}?fields=status,lat,lon",  # 45 a minute; no TLS without a key
}
_TEMPORARY = (socket.EAI_AGAIN, getattr(socket, "EAI_SYSTEM", None))


@dataclass(frozen=True, slots=True)
class Incidents1M:
    """The multi-label validation set: images of an incident whose server can be located.

    Noise moves an image by up to 0.001 degrees times the number of earlier located images at its place, downloaded or
    not. Repeated addresses are kept, and pictures are not turned upright, as published.
    """

    annotations: str = ""  # multi_label_val.json
    hosts: str = ""  # CSV of host, lat and lon, such as the hosts.csv of another preparation (default: services)

    def run(self, prep: Preparation) -> None:
        import pandas as pd  # the message of a missing extra names `prepare`, which has it

        if not self.annotations:
            raise InputError(
                "incidents1m needs the annotations of its authors, which they send after a form and an e-mail "
                "(http://incidentsdataset.csail.mit.edu): give multi_label_val.json with --source annotations=FILE"
            )
        path = prep.source("annotations", self.annotations)
        listing = read_annotations(path, prep.tally("labels"))
        locate = from_table(Path(self.hosts)) if self.hosts else from_services(prep.web)
        with Journal(prep.work / "hosts.jsonl") as journal:

            def task(row: Row) -> Row:
                location = value_of(journal.settle(row["host"], lambda: locate(row["host"])))
                picture = prep.picture(row, smallest=SMALLEST, turn=False)
                return {"lat": location["lat"], "lon": location["lon"], **picture}

            rows = prep.gather(listing, "id", task, "place of the host, and picture")
            hosts = [{"host": host, **journal.entries[host]["ok"]} for host in sorted({row["host"] for row in rows})]
        table = pd.DataFrame(hosts, columns=["host", "ip", "lat", "lon", "source"])
        replace_text(prep.out / "hosts.csv", table.to_csv(index=False, lineterminator="\n"))
        prep.sources["hosts"] = {"url": "hosts.csv", "sha256": sha256(prep.out / "hosts.csv")}
        counted = [row | spot["ok"] for row in listing if "ok" in (spot := journal.entries.get(row["host"], {}))]
        places = np.array([(row["lat"], row["lon"]) for row in counted], float).reshape(-1, 2)
        ids = [row["id"] for row in counted]
        moved = dict(zip(ids, scattered(ids, places, prep.seed).tolist(), strict=True))
        rows = [row | {"lat": moved[row["id"]][0], "lon": moved[row["id"]][1]} for row in rows]
        columns = ["id", "file", "lat", "lon", "host", "url"]
        prep.finish(rows, columns, queries_of(rows), least=2, measure="map")


def read_annotations(path: Path, tally: StepTally) -> list[Row]:
    """Return the images with at least one positive incident, in the order of the file."""
    try:
        records = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} must be a JSON file: {error}") from None
    if not isinstance(records, dict):
        raise InputError(f"{path} must be a JSON object of images by name, got a {type(records).__name__}")
    rows = list[Row]()
    for name, record in records.items():  # with url, incidents and places; a type that the image shows is 1
        with tally.item():
            if not isinstance(record, dict):
                raise Loss("wrong content", "not an object")
            incidents, places = (
                tuple(type_ for type_, value in labels.items() if value == 1) if isinstance(labels, dict) else ()
                for labels in (record.get("incidents"), record.get("places"))
            )
            if not incidents:
                raise Loss("no label", "no incident")
            url, host = record.get("url", ""), None
            with suppress(ValueError, AttributeError):
                host = urlsplit(url).hostname if urlsplit(url).scheme in ("http", "https") else None
            if not host:
                raise Loss("bad address", f"{url!r:.100}")
            rows.append({"id": name, "url": url, "host": host, "incidents": incidents, "places": places})
    return rows


def queries_of(rows: Sequence[Row]) -> dict[str, set[int]]:
    """Return the numbers of the rows of every type, incidents before places, such as on_fire and place:beach."""
    positives: dict[str, set[int]] = {}
    for kind, prefix in (("incidents", ""), ("places", "place:")):
        for type_, i in sorted((type_, i) for i, row in enumerate(rows) for type_ in row[kind]):
            positives.setdefault(prefix + type_, set()).add(i)
    return positives


def scattered(names: Sequence[str], places: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Move images with the same place apart by uniform noise; see `Incidents1M`. [n, 2] degrees in and out."""
    spots = [tuple(np.round(place, 4)) for place in places]
    earlier, moved = Counter[Any](), places.copy()
    for i, (name, spot) in enumerate(zip(names, spots, strict=True)):
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8]
        noise = np.random.default_rng([seed, int.from_bytes(digest, "big")]).uniform(-1, 1, 2)
        moved[i] += 0.001 * earlier[spot] * noise
        earlier[spot] += 1
    return np.asarray(np.clip(moved, (-90, -180), (90, 180)))


def from_table(path: Path) -> Callable[[str], Location]:
    """Return a lookup in a CSV file with the columns host, lat and lon; a host without numbers has no place."""
    table = read_csv(path, ("host", "lat", "lon"))
    rows = {row["host"]: (row, row.get("ip") or "", row.get("source") or "table") for row in table}
    return lambda host: _location(*rows.get(host, ({}, host, "table")))


def from_services(web: Web) -> Callable[[str], Location]:
    """Return a lookup by DNS and public services, asked in this order until one knows the place."""

    def locate(host: str) -> Location:
        ip, loss = address(host), Loss("no place", "no service")
        for name, service in SERVICES.items():
            try:
                return _location(json.loads(web.get(service.format(ip=ip))), ip, name)
            except (Loss, ValueError) as error:
                failure = error if isinstance(error, Loss) else Loss("wrong content", f"not JSON: {error}")
                # A service without an answer may know the place: the host is tried again by the next run.
                loss = loss if loss.reason == NO_ANSWER else failure
        raise loss

    return locate


def address(host: str) -> str:
    """Return the lowest IPv4 address of a host, or its lowest IPv6 address; servers list them in any order."""
    try:
        ips = [ipaddress.ip_address(ip.partition("%")[0]) for ip in resolve(host, allow_private=True)]
    except (UnicodeError, OSError) as error:
        raise Loss(NO_ANSWER if getattr(error, "errno", 0) in _TEMPORARY else "dead link", "DNS", f"//{host}") from None
    return str(min(ips, key=lambda ip: (ip.version, int(ip))))


def _location(record: Any, ip: str, source: str) -> Location:
    """Return a location if a record has one: 0, 0 is how services say that they do not know."""
    try:
        lat = float(record.get("lat", record.get("latitude")))
        lon = float(record.get("lon", record.get("longitude")))
        if not (abs(lat) <= 90 and abs(lon) <= 180):
            raise Loss("out of range", f"{lat:g}, {lon:g}")
        place(lat, lon)
    except (AttributeError, TypeError, ValueError):
        raise Loss("no place", f"{source} does not know {ip}") from None
    return {"ip": ip, "lat": lat, "lon": lon, "source": source}
