"""Read metadata from sidecar files: XMP of programs, JSON of Google Takeout. Sidecars are never written."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from mascot.photos.metadata import validate, xmp
from mascot.photos.metadata.gazetteer import zone_named
from mascot.photos.metadata.validate import Implausible
from mascot.photos.metadata.xmp import Xmp

_LONGEST_JSON = 1 << 20  # bytes
_SIGNS = frozenset({"photoTakenTime", "geoData", "geoDataExif"})  # every file of Takeout has one of these
_TIMESTAMP, FAVOURITE = "takeout:timestamp", "takeout:favorited"  # properties without a name in XMP
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Sidecars:
    packets: tuple[Xmp, ...] = ()  # the most specific first, Takeout last
    problems: tuple[str, ...] = ()


def read_sidecars(paths: Sequence[str | os.PathLike[str]]) -> Sidecars:
    """Read sidecar files; `problems` lists the errors of those that cannot be read."""
    packets: list[Xmp] = []
    takeout = Xmp()
    problems: list[str] = []
    for path in paths:
        kind = "JSON" if os.fspath(path).lower().endswith(".json") else "XMP"
        try:
            if kind == "XMP":
                packets.append(xmp.parse(_content(path, xmp.LONGEST_PACKET)))
            elif not takeout.properties:
                takeout = parse_takeout(_content(path, _LONGEST_JSON))
        except Implausible as reason:
            problems.append(f"{kind} sidecar: {reason}")
        except OSError as error:
            problems.append(f"{kind} sidecar: cannot be read: {error.strerror or error}")
    return Sidecars((*packets, takeout), tuple(problems))


def parse_takeout(content: bytes) -> Xmp:
    """Return a JSON file of Google Takeout under the names of XMP; empty if it is another file.

    Raises `Implausible` if it is not JSON. Google writes 0 for an unknown place or altitude.
    """
    try:
        values = json.loads(content.decode("utf-8-sig"))
    except RecursionError:
        raise Implausible("is nested too deeply") from None
    except ValueError:  # also for text that is not UTF-8
        raise Implausible("is not JSON in UTF-8") from None
    if not isinstance(values, dict) or _SIGNS.isdisjoint(values):
        return Xmp()
    lat, lon, metres = (_number(values.get("geoData"), name) for name in ("latitude", "longitude", "altitude"))
    people = values.get("people")
    names = [person.get("name") for person in people if isinstance(person, dict)] if isinstance(people, list) else []
    texts: dict[str, Sequence[Any]] = {
        "dc:description": [values.get("description")],
        "dc:subject": names[: validate.MOST_KEYWORDS],
        _TIMESTAMP: [_number(values.get("photoTakenTime"), "timestamp")],
        FAVOURITE: ["yes"] if values.get("favorited") is True else [],
    }
    if lat and lon and (lat, lon) != ("0.0", "0.0"):
        texts |= {"exif:GPSLatitude": [lat], "exif:GPSLongitude": [lon]}
        texts |= {"exif:GPSAltitude": [metres]} if metres != "0.0" else {}
    strings = {name: tuple(item for item in items if isinstance(item, str)) for name, items in texts.items()}
    return Xmp({name: items for name, items in strings.items() if items})


def _number(values: object, name: str) -> str | None:
    """Return a number as text, `nan` for other values; None if there is no value."""
    value = values.get(name) if isinstance(values, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return repr(float(value[:40] if isinstance(value, str) else value))
    except (ValueError, OverflowError):
        return "nan"


def taken_utc(packet: Xmp) -> datetime | None:
    """Return the time of Takeout at which the photograph was taken, in UTC."""
    if _TIMESTAMP not in packet.properties:
        return None
    seconds = float(packet.properties[_TIMESTAMP][0])
    try:
        clock = _EPOCH + timedelta(seconds=round(seconds))
    except (OverflowError, ValueError):
        raise Implausible(f"{seconds:g} seconds is not a date") from None
    moment = validate.moment(clock.isoformat(sep=" "))
    return moment.clock if moment else None


def local_time(utc: datetime, zone_name: str | None, lon: float | None) -> tuple[datetime, int | None]:
    """Return the local time of a time in UTC, and its offset in minutes if it is known.

    The time zone is that of the place; without a place, that of this machine.
    """
    moment = utc.replace(tzinfo=UTC)
    zone = zone_named(zone_name)
    if zone is not None:
        local = moment.astimezone(zone)
        return local.replace(tzinfo=None), round((local.utcoffset() or timedelta()) / timedelta(minutes=1))
    if lon is not None:
        return utc + timedelta(hours=round(lon / 15)), None
    try:
        return moment.astimezone().replace(tzinfo=None), None
    except (OverflowError, OSError):  # outside the range of this system
        return utc, None


def _content(path: str | os.PathLike[str], longest: int) -> bytes:
    with open(path, "rb") as file:
        content = file.read(longest + 1)
    if len(content) > longest:
        raise Implausible(f"more than {longest} bytes")
    return content
