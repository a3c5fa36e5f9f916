"""Metadata in sidecar files: XMP of programs, JSON of Google Takeout. Sidecars are only read."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from mascot.photos import plausible, xmp
from mascot.photos.plausible import Wrong

_LONGEST_JSON = 1 << 20  # bytes
_SIGNS = frozenset({"photoTakenTime", "geoData", "geoDataExif"})  # every file of Takeout has one of these
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Takeout:
    """The raw values of a JSON file of Google Takeout. Methods raise `Wrong`."""

    values: dict[str, Any] = field(default_factory=dict)

    def caption(self) -> str | None:
        text = self.values.get("description")
        return plausible.clean(text) if isinstance(text, str) else None

    def people(self) -> list[str]:
        """Return the names of the people in the photograph."""
        people = self.values.get("people")
        entries = people[: plausible.MOST_KEYWORDS] if isinstance(people, list) else []
        names = [person.get("name") for person in entries if isinstance(person, dict)]
        return [name for name in names if isinstance(name, str)]

    def is_favourite(self) -> bool:
        return self.values.get("favorited") is True

    def place(self) -> tuple[float, float] | None:
        """Return latitude and longitude in degrees; Google writes 0,0 for "unknown"."""
        lat, lon = self._number("geoData", "latitude"), self._number("geoData", "longitude")
        if lat is None or lon is None or lat == lon == 0:
            return None
        return plausible.place(lat, lon)

    def altitude(self) -> float | None:
        """Return metres above sea level; 0 means "unknown"."""
        metres = self._number("geoData", "altitude")
        return plausible.height(metres) if metres and self.place() else None

    def taken_utc(self) -> datetime | None:
        """Return the time at which the photograph was taken, in UTC."""
        seconds = self._number("photoTakenTime", "timestamp")
        if seconds is None:
            return None
        try:
            moment = _EPOCH + timedelta(seconds=round(seconds))
        except (OverflowError, ValueError):
            raise Wrong(f"{seconds:g} seconds is not a date") from None
        parsed = plausible.moment(moment.isoformat(sep=" "))
        return None if parsed is None else parsed.clock

    def _number(self, group: str, name: str) -> float | None:
        values = self.values.get(group)
        value = values.get(name) if isinstance(values, dict) else None
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            return None
        try:
            number = float(value[:40] if isinstance(value, str) else value)
        except (ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise Wrong(f"{plausible.quote(value)} is not a number")
        return number


@dataclass(frozen=True, slots=True)
class Sidecars:
    """The content of the sidecars of one photograph."""

    packets: tuple[xmp.Xmp, ...] = ()  # the most specific first
    takeout: Takeout = field(default_factory=Takeout)
    problems: tuple[str, ...] = ()


def read_sidecars(paths: Sequence[str | os.PathLike[str]]) -> Sidecars:
    """Read sidecar files; `problems` lists the errors of those that cannot be read."""
    packets: list[xmp.Xmp] = []
    takeout = Takeout()
    problems: list[str] = []
    for path in paths:
        kind = "JSON" if os.fspath(path).lower().endswith(".json") else "XMP"
        try:
            if kind == "XMP":
                packets.append(xmp.parse(_content(path, xmp.LONGEST_PACKET)))
            elif not takeout.values:
                takeout = parse_takeout(_content(path, _LONGEST_JSON))
        except Wrong as reason:
            problems.append(f"{kind} sidecar: {reason}")
        except OSError as error:
            problems.append(f"{kind} sidecar: cannot be read: {error.strerror or error}")
    return Sidecars(tuple(packets), takeout, tuple(problems))


def parse_takeout(content: bytes) -> Takeout:
    """Return the values of a JSON file, none if it is not from Takeout. Raises `Wrong` if it is not JSON."""
    try:
        values = json.loads(content.decode("utf-8-sig"))
    except RecursionError:
        raise Wrong("is nested too deeply") from None
    except ValueError:  # also for text that is not UTF-8
        raise Wrong("is not JSON in UTF-8") from None
    is_takeout = isinstance(values, dict) and not _SIGNS.isdisjoint(values)
    return Takeout(values) if is_takeout else Takeout()


def local_time(utc: datetime, zone: str | None, lon: float | None) -> tuple[datetime, int | None]:
    """Return the local time of a time in UTC, and its offset in minutes if it is known.

    The time zone is that of the place; without a place, that of this machine.
    """
    moment = utc.replace(tzinfo=timezone.utc)
    if zone is not None:
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

        try:
            local = moment.astimezone(ZoneInfo(zone))
        except (ZoneInfoNotFoundError, ValueError):  # Windows has no time zone database
            pass
        else:
            offset = local.utcoffset() or timedelta()
            return local.replace(tzinfo=None), round(offset.total_seconds() / 60)
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
        raise Wrong(f"more than {longest} bytes")
    return content
