"""Where on Earth the servers of web addresses are: from a table, an offline database, or public services."""

from __future__ import annotations

import csv
import io
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mascot.bench.files import replace_text
from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.losses import NO_ANSWER, Loss
from mascot.bench.prepare.web import Web
from mascot.errors import InputError
from mascot.extras import package
from mascot.photos.plausible import place

Location = dict[str, Any]  # lat, lon, ip, source
Services = dict[str, tuple[str, str, str]]
SERVICES: Services = {  # by name: the address, and the names of latitude and longitude in the answer
    "geolocation-db": ("https://geolocation-db.com/json/{ip}", "latitude", "longitude"),
    "ip-api": ("http://ip-api.com/json/{ip}?fields=status,lat,lon", "lat", "lon"),  # 45 a minute; no TLS without a key
}
_TEMPORARY = (socket.EAI_AGAIN, getattr(socket, "EAI_SYSTEM", None))


class Hosts:
    """Locations of hosts, each looked up once and journaled; any thread may ask."""

    def __init__(self, locate: Callable[[str], Location], journal: Journal) -> None:
        self._locate, self._journal = locate, journal
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def __getitem__(self, host: str) -> Location:
        """Return the location of a host, or raise `Loss`."""
        with self._lock:
            lock = self._locks.setdefault(host, threading.Lock())
        with lock:
            entry = self._journal.settle(host, lambda: self._locate(host))
        if "lost" in entry:
            raise Loss(entry["lost"], entry["detail"], entry["url"])
        location: Location = entry["ok"]
        return location

    def write(self, path: Path, hosts: Iterable[str]) -> None:
        """Write a CSV table of the hosts, which `from_table` reads."""
        stream = io.StringIO()
        writer = csv.DictWriter(stream, ("host", "ip", "lat", "lon", "source"), restval="", lineterminator="\n")
        writer.writeheader()
        for host in sorted(set(hosts)):
            writer.writerow({"host": host, **self._journal.entries.get(host, {}).get("ok", {})})
        replace_text(path, stream.getvalue())


def from_table(path: Path) -> Callable[[str], Location]:
    """Return a lookup in a CSV file with the columns host, lat and lon; a host without numbers has no place."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines)
            if not {"host", "lat", "lon"} <= set(reader.fieldnames or ()):
                raise InputError(f"{path} must have the columns host, lat and lon, got {reader.fieldnames}")
            rows = {row["host"]: row for row in reader}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} must be a table of hosts: {error}") from None

    def locate(host: str) -> Location:
        row = rows.get(host, {})
        return _location(row.get("lat"), row.get("lon"), row.get("ip") or "", row.get("source") or "table")

    return locate


def from_database(path: Path) -> Callable[[str], Location]:
    """Return a lookup by DNS in a city database of MaxMind's format (.mmdb), such as GeoLite2-City."""
    maxminddb = package("maxminddb", "prepare", "a database of addresses")
    try:
        reader = maxminddb.open_database(path)
    except (OSError, maxminddb.InvalidDatabaseError) as error:
        raise InputError(f"{path} must be a database in MaxMind's format: {error}") from None

    def locate(host: str) -> Location:
        ip = address(host)
        try:
            city: Any = reader.get(ip)["location"]
            return _location(city["latitude"], city["longitude"], ip, "database")
        except (ValueError, TypeError, KeyError):  # IPv6 in a database of IPv4, or a record without a city
            raise Loss("no place", f"the database does not have {ip}") from None

    return locate


def from_services(
    web: Web, names: str, services: dict[str, tuple[str, str, str]] = SERVICES
) -> Callable[[str], Location]:
    """Return a lookup by DNS and public services, asked in the order of `names` until one knows the place."""

    def locate(host: str) -> Location:
        ip, loss = address(host), Loss("no place", "no service")
        for name in names.split(","):
            url, lat, lon = services[name.strip()]
            try:
                answer = web.json(url.format(ip=ip))
                answer = answer if isinstance(answer, dict) else {}
                return _location(answer.get(lat), answer.get(lon), ip, name.strip())
            except Loss as failure:
                # A service without an answer may know the place: the host is tried again by the next run.
                loss = failure if loss.reason != NO_ANSWER else loss
        raise loss

    return locate


def address(host: str) -> str:
    """Return the IP address of a host: the lowest of IPv4, else of IPv6, since servers list them in any order."""
    try:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (UnicodeError, OSError) as error:
        raise Loss(NO_ANSWER if getattr(error, "errno", 0) in _TEMPORARY else "dead link", "DNS", f"//{host}") from None
    ips = {ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in entries}
    return str(min(ips, key=lambda ip: (ip.version, int(ip))))


def _location(lat: Any, lon: Any, ip: str, source: str) -> Location:
    """Return a location if the numbers are a place: 0, 0 is how services say that they do not know."""
    try:
        lat, lon = float(lat), float(lon)
        if not (abs(lat) <= 90 and abs(lon) <= 180):
            raise Loss("out of range", f"{lat:g}, {lon:g}")
        place(lat, lon)
    except (TypeError, ValueError):
        raise Loss("no place", f"{source} does not know {ip}") from None
    return {"ip": ip, "lat": lat, "lon": lon, "source": source}
