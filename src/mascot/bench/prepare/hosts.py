"""Where on Earth the servers of web addresses are: from a table, an offline database, or public services."""

from __future__ import annotations

import csv
import io
import ipaddress
import json
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mascot.bench.files import replace_text
from mascot.bench.prepare.addresses import resolve
from mascot.bench.prepare.outcomes import NO_ANSWER, Loss
from mascot.bench.prepare.preparation import read_csv
from mascot.bench.prepare.web import Web
from mascot.errors import InputError
from mascot.extras import package
from mascot.photos.plausible import place

Location = dict[str, Any]  # ip, lat, lon, source
SERVICES = {
    "geolocation-db": "https://geolocation-db.com/json/{ip}",
    "ip-api": "http://ip-api.com/json/{ip}?fields=status,lat,lon",  # 45 a minute; no TLS without a key
}
_TEMPORARY = (socket.EAI_AGAIN, getattr(socket, "EAI_SYSTEM", None))


def write_table(path: Path, locations: Mapping[str, Location]) -> None:
    """Write a CSV table of locations by host, which `from_table` reads."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, ("host", "ip", "lat", "lon", "source"), lineterminator="\n")
    writer.writeheader()
    writer.writerows({"host": host, **locations[host]} for host in sorted(locations))
    replace_text(path, stream.getvalue())


def from_table(path: Path) -> Callable[[str], Location]:
    """Return a lookup in a CSV file with the columns host, lat and lon; a host without numbers has no place."""
    table = read_csv(path, ("host", "lat", "lon"))
    rows = {row["host"]: (row, row.get("ip") or "", row.get("source") or "table") for row in table}
    return lambda host: _location(*rows.get(host, ({}, host, "table")))


def from_database(path: Path) -> Callable[[str], Location]:
    """Return a lookup by DNS in a city database of MaxMind's format (.mmdb), such as GeoLite2-City."""
    maxminddb = package("maxminddb", "prepare", "a database of addresses")
    try:
        reader = maxminddb.open_database(path)
    except (OSError, maxminddb.InvalidDatabaseError) as error:
        raise InputError(f"{path} must be a database in MaxMind's format: {error}") from None

    def locate(host: str) -> Location:
        ip, city = address(host), None
        with suppress(ValueError, TypeError, KeyError):  # IPv6 in a database of IPv4, or a record without a city
            city = reader.get(ip)["location"]
        return _location(city, ip, "database")

    return locate


def from_services(web: Web, names: str) -> Callable[[str], Location]:
    """Return a lookup by DNS and public services, asked in the order of `names` until one knows the place."""

    def locate(host: str) -> Location:
        ip, loss = address(host), Loss("no place", "no service")
        for name in names.split(","):
            try:
                return _location(json.loads(web.get(SERVICES[name.strip()].format(ip=ip))), ip, name.strip())
            except (Loss, ValueError) as error:
                failure = error if isinstance(error, Loss) else Loss("wrong content", f"not JSON: {error}")
                # A service without an answer may know the place: the host is tried again by the next run.
                loss = loss if loss.reason == NO_ANSWER else failure
        raise loss

    return locate


def address(host: str) -> str:
    """Return the IP address of a host: the lowest of IPv4, else of IPv6, since servers list them in any order."""
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
