"""Where on Earth the servers of web addresses are: by a table, by an offline database, or by public services.

A host's name is looked up (DNS), and the address it has is located. Both change over the years, so what was found is
kept as a table, with which the same places come out again.
"""

from __future__ import annotations

import csv
import io
import ipaddress
import socket
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mascot.bench.files import replace_text
from mascot.bench.prepare.lost import NO_ANSWER, Lost
from mascot.bench.prepare.web import Web
from mascot.errors import InputError, MissingExtra, require
from mascot.photos.plausible import place

_BATCH = 100  # addresses in one request, the most ip-api.com takes
_COLUMNS = ("host", "ip", "lat", "lon", "source")
_LONGEST_WAIT = 120.0  # seconds
_WINDOW = 60.0  # seconds of rest where a service says "too many" and not for how long
_PASSING = (socket.EAI_AGAIN, getattr(socket, "EAI_SYSTEM", None))  # the second not on every system
_GIVEN_UP = 3  # single requests in a row without an answer


@dataclass(frozen=True, slots=True)
class Location:
    """Where a host is, in degrees; or without a place, and `lost` says why in the words of `Lost`."""

    lat: float | None = None
    lon: float | None = None
    ip: str = ""
    source: str = ""
    lost: str | None = None


class Resolver(Protocol):
    """Anything that finds places for hosts."""

    def locate(self, hosts: Sequence[str]) -> dict[str, Location]:
        """A location for each of the hosts; "no answer" for those that are worth another try."""


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file with the columns host, lat and lon, such as the hosts.csv of an earlier preparation.

    A host without numbers, or not in the file, has no place.
    """

    path: Path

    def locate(self, hosts: Sequence[str]) -> dict[str, Location]:
        known = read_hosts(self.path)
        return {host: known.get(host, Location(source="table", lost="no place")) for host in hosts}


@dataclass(frozen=True, slots=True)
class Database:
    """DNS, and a file of cities in MaxMind's format (.mmdb), such as GeoLite2-City or DB-IP City Lite."""

    path: Path
    workers: int = 16

    def locate(self, hosts: Sequence[str]) -> dict[str, Location]:
        try:
            import maxminddb
        except ImportError:
            raise MissingExtra("a database of addresses needs: pip install 'mascot[prepare]'") from None
        found = addresses(hosts, self.workers)
        try:
            with maxminddb.open_database(self.path) as reader:
                return {
                    host: location if location.lost else self._in(reader, location.ip)
                    for host, location in found.items()
                }
        except (OSError, maxminddb.InvalidDatabaseError) as error:
            raise InputError(f"{self.path} must be a database in MaxMind's format: {error}") from None

    def _in(self, reader: Any, ip: str) -> Location:
        try:
            record = reader.get(ip)
        except ValueError:  # IPv6 in a database of IPv4
            record = None
        told = record.get("location") if isinstance(record, dict) else None
        told = told if isinstance(told, dict) else {}
        return _located(told.get("latitude"), told.get("longitude"), ip, "database")


@dataclass(frozen=True, slots=True)
class Online:
    """DNS, and two public services: ip-api.com in batches, then geolocation-db.com for what it does not know.

    The first serves the public without a key over plain HTTP only, 15 batches a minute; what it says of the
    requests that are left (X-Rl) and of the time until there are more (X-Ttl) is honoured.

    Parameters
    ----------
    batch
        Address that takes a POST of up to 100 addresses.
    single
        Address that, with an IP address behind it, tells its place. Empty for none.
    pause
        Seconds before the first further try; doubled each time.
    """

    web: Web
    batch: str = "http://ip-api.com/batch"
    single: str = "https://geolocation-db.com/json/"
    workers: int = 16
    tries: int = 5
    pause: float = 1.0
    _rest: list[float] = field(init=False, repr=False, compare=False, default_factory=lambda: [0.0])

    def __post_init__(self) -> None:
        require(self.tries >= 1, "Online.tries", "must be >= 1", self.tries)
        require(self.pause >= 0, "Online.pause", "must be >= 0", self.pause)

    def locate(self, hosts: Sequence[str]) -> dict[str, Location]:
        found = addresses(hosts, self.workers)
        ips = sorted({location.ip for location in found.values() if not location.lost})
        places: dict[str, Location] = {}
        for start in range(0, len(ips), _BATCH):
            places |= self._batch(ips[start : start + _BATCH])
        if self.single:
            places |= self._singly([ip for ip, location in places.items() if location.lost == "no place"])
        return {host: location if location.lost else places[location.ip] for host, location in found.items()}

    def _batch(self, ips: Sequence[str]) -> dict[str, Location]:
        answers = self._post(ips)
        if answers is None:
            return {ip: Location(ip=ip, source="ip-api.com", lost=NO_ANSWER) for ip in ips}
        told = {answer.get("query"): answer for answer in answers if isinstance(answer, dict)}
        return {ip: _located(told.get(ip, {}).get("lat"), told.get(ip, {}).get("lon"), ip, "ip-api.com") for ip in ips}

    def _post(self, ips: Sequence[str]) -> list[Any] | None:
        import requests

        for attempt in range(self.tries):
            time.sleep(self.pause * 2 ** (attempt - 1) if attempt else 0.0)
            time.sleep(max(0.0, self._rest[0] - time.monotonic()))
            try:
                answer = requests.post(
                    self.batch,
                    params={"fields": "status,message,lat,lon,query"},
                    json=list(ips),
                    headers={"User-Agent": self.web.agent},
                    timeout=self.web.timeout,
                )
            except requests.RequestException:
                continue
            self._heed(answer.status_code, answer.headers)
            if answer.status_code == 429 or answer.status_code >= 500:
                continue
            if answer.status_code != 200:
                raise InputError(
                    f"{self.batch} must locate addresses, got status {answer.status_code}; "
                    "give a file instead, with --source database=FILE.mmdb or --source hosts=FILE.csv"
                )
            try:
                found = answer.json()
            except requests.exceptions.JSONDecodeError:
                continue
            if isinstance(found, list):
                return found
        return None

    def _heed(self, status: int, headers: Mapping[str, str]) -> None:
        """Note until when nothing more may be asked."""
        left, wait = headers.get("X-Rl", ""), headers.get("X-Ttl", "") or headers.get("Retry-After", "")
        if status == 429 or left == "0":
            seconds = float(wait) if wait.isdigit() else _WINDOW
            self._rest[0] = time.monotonic() + min(seconds, _LONGEST_WAIT)

    def _singly(self, ips: Sequence[str]) -> dict[str, Location]:
        found: dict[str, Location] = {}
        silent = 0
        for ip in ips:
            told: Any = None
            if silent < _GIVEN_UP:
                try:
                    told = self.web.json(self.single + ip)
                    silent = 0
                except Lost as lost:
                    silent = silent + 1 if lost.reason == NO_ANSWER else 0
            if silent:
                found[ip] = Location(ip=ip, source="geolocation-db.com", lost=NO_ANSWER)
            else:
                told = told if isinstance(told, dict) else {}
                found[ip] = _located(told.get("latitude"), told.get("longitude"), ip, "geolocation-db.com")
        return found


def addresses(hosts: Sequence[str], workers: int = 16) -> dict[str, Location]:
    """The IP address of each host, without a place yet: the lowest of IPv4, else of IPv6.

    A server with several tells them in changing order, therefore the lowest.
    """
    with ThreadPoolExecutor(max(1, min(workers, len(hosts)))) as pool:
        return dict(zip(hosts, pool.map(_address, hosts), strict=True))


def read_hosts(path: Path) -> dict[str, Location]:
    """A table of hosts, checked."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines)
            missing = {"host", "lat", "lon"} - set(reader.fieldnames or ())
            if missing:
                raise InputError(f"{path}: needs the columns host, lat and lon, got {reader.fieldnames}")
            return {row["host"]: _row(row, f"{path}, line {reader.line_num}") for row in reader}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} must be a table of hosts: {error}") from None


def write_hosts(path: Path, found: Mapping[str, Location]) -> None:
    """The table of what was found, by name; `Table` reads it."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for host in sorted(found):
        location = found[host]
        known = ("", "") if location.lat is None or location.lon is None else (repr(location.lat), repr(location.lon))
        writer.writerow((host, location.ip, *known, location.source))
    replace_text(path, stream.getvalue())


def _address(host: str) -> Location:
    try:
        told = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        return Location(source="dns", lost=NO_ANSWER if error.errno in _PASSING else "dead link")
    except (UnicodeError, OSError):  # no name that can be looked up
        return Location(source="dns", lost="dead link")
    ips = {ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in told}
    if not ips:
        return Location(source="dns", lost="dead link")
    return Location(ip=str(min(ips, key=lambda ip: (ip.version, int(ip)))), source="dns")


def _located(lat: Any, lon: Any, ip: str, source: str) -> Location:
    """With a place, if the numbers are one: 0,0 is how services say that they do not know."""
    try:
        lat, lon = float(lat), float(lon)
        if not (abs(lat) <= 90 and abs(lon) <= 180):
            return Location(ip=ip, source=source, lost="out of range")
        place(lat, lon)
    except (TypeError, ValueError):
        return Location(ip=ip, source=source, lost="no place")
    return Location(lat, lon, ip, source)


def _row(row: Mapping[str, Any], where: str) -> Location:
    lat, lon = (row["lat"] or "").strip(), (row["lon"] or "").strip()
    ip, source = row.get("ip") or "", row.get("source") or "table"
    if not row["host"]:
        raise InputError(f"{where}: must have a host")
    if not lat and not lon:
        return Location(ip=ip, source=source, lost="no place")
    try:
        float(lat), float(lon)
    except ValueError:
        raise InputError(f"{where}: lat and lon must be numbers, got {lat!r}, {lon!r}") from None
    return _located(lat, lon, ip, source)
