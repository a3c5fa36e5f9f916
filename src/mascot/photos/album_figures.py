"""The figures of an album as inline SVG: a map, a clock of 24 hours, and a time line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from math import cos, log, pi, radians, sin, tan

from mascot.photos.photo import Photo

_WORLD = 10_000  # units around the globe
_FURTHEST = 85.0  # degrees of latitude that Mercator shows
_LEAST_WIDTH = 250  # units, 9 degrees: the outline is not finer
_MAP = (720, 320)  # pixels
_CLOCK = 220
_LINE = (960, 56)
_MARGIN = 0.12  # of the extent, around the outermost points


@cache
def land() -> str:
    """Return the outline of the land, hidden: every map of the page draws it by reference."""
    data = json.loads(files("mascot").joinpath("server/static/land.json").read_text("utf-8"))
    scale = data["scale"]
    rings = []
    for ring in data["rings"]:
        lon = lat = 0.0
        corners: list[str] = []
        for east, north in zip(ring[::2], ring[1::2], strict=True):
            lon, lat = lon + east / scale, lat + north / scale
            corner = f"{_x(lon):.0f} {_y(lat):.0f}"
            if not corners or corner != corners[-1]:
                corners.append(corner)
        if len(corners) > 2:
            rings.append(f"M{'L'.join(corners)}z")
    return f'<svg width="0" height="0" aria-hidden="true"><defs><path id="land" d="{"".join(rings)}"/></defs></svg>'


def figures(photos: Sequence[Photo], before: Sequence[Photo] = ()) -> str:
    """Return the figures for photographs, and for those before them; what no photograph has a value for is left out."""
    parts = [_map(photos, before), _clock(photos, before), _line(photos, before)]
    drawn = "".join(part for part in parts if part)
    return f'<div class="figures">{drawn}</div>' if drawn else ""


def _figure(kind: str, size: tuple[int, int], label: str, caption: str, content: str) -> str:
    return (
        f'<figure class="{kind}"><svg viewBox="0 0 {size[0]} {size[1]}" role="img" aria-label="{label}">{content}</svg>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _legend(count: int, total: int, what: str, before: bool) -> str:
    missing = f"; {total - count} without {what}" if count < total else ""
    return ("rings: before, dots: after" if before else f"{count} of {total}") + missing


def _x(lon: float) -> float:
    return (lon / 360 + 0.5) * _WORLD


def _y(lat: float) -> float:
    angle = radians(min(max(lat, -_FURTHEST), _FURTHEST))
    return (0.5 - log(tan(pi / 4 + angle / 2)) / (2 * pi)) * _WORLD


def _map(photos: Sequence[Photo], before: Sequence[Photo]) -> str:
    is_, was = _points(photos), _points(before)
    if not is_ and not was:
        return ""
    west, wide = _stretch([x for x, _ in is_ + was])
    ys = [y for _, y in is_ + was]
    width, height = _MAP
    extent = max(wide * (1 + 2 * _MARGIN), (max(ys) - min(ys)) * (1 + 2 * _MARGIN) * width / height, _LEAST_WIDTH)
    extent = min(extent, _WORLD)
    scale = width / extent
    left = west + wide / 2 - extent / 2
    top = (min(ys) + max(ys)) / 2 - extent * height / width / 2
    top = min(max(top, 0.0), _WORLD - extent * height / width)
    copies = "".join(
        f'<use href="#land" transform="scale({scale:.5f}) translate({turn * _WORLD - left:.1f} {-top:.1f})"/>'
        for turn in (-1, 0, 1, 2)
        if turn * _WORLD < left + extent and (turn + 1) * _WORLD > left
    )
    dots = "".join(
        f'<circle class="{kind}" cx="{((x - left) % _WORLD) * scale:.1f}" cy="{(y - top) * scale:.1f}" r="{radius}"/>'
        for kind, radius, points in (("was", 7, was), ("is", 4, is_))
        for x, y in dict.fromkeys(points)
    )
    content = f'<rect class="sea" width="{width}" height="{height}"/><g class="land">{copies}</g>{dots}'
    return _figure("map", _MAP, "Map", _legend(len(is_), len(photos), "a place", bool(before)), content)


def _points(photos: Sequence[Photo]) -> list[tuple[float, float]]:
    places = ((photo.lat, photo.lon) for photo in photos)
    return [(_x(lon), _y(lat)) for lat, lon in places if lat is not None and lon is not None]


def _stretch(xs: Sequence[float]) -> tuple[float, float]:
    """Where the shortest stretch of the globe with all of these begins, going east, and its width."""
    around = sorted(x % _WORLD for x in xs)
    gaps = [(after - at, after) for at, after in zip(around, [*around[1:], around[0] + _WORLD], strict=True)]
    gap, west = max(gaps)
    return west % _WORLD, _WORLD - gap


def _times(photos: Sequence[Photo]) -> list[datetime]:
    return [photo.taken for photo in photos if photo.taken is not None]


def _clock(photos: Sequence[Photo], before: Sequence[Photo]) -> str:
    is_, was = _times(photos), _times(before)
    if not is_ and not was:
        return ""
    middle, face = _CLOCK / 2, _CLOCK * 0.36
    marks = "".join(
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{hour}</text>'
        for hour in range(0, 24, 3)
        for x, y in [_on_dial(hour, _CLOCK * 0.43)]
    )
    dots = "".join(
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'
        for kind, radius, distance, times in (("was", 5, face * 0.6, was), ("is", 4, face * 0.87, is_))
        for x, y in [_on_dial(time.hour + time.minute / 60, distance) for time in times]
    )
    content = f'<circle class="face" cx="{middle}" cy="{middle}" r="{face:.1f}"/>{marks}{dots}'
    label = _legend(len(is_), len(photos), "a time", bool(before))
    return _figure("clock", (_CLOCK, _CLOCK), "Clock of 24 hours", f"hour of day; {label}", content)


def _on_dial(hour: float, distance: float) -> tuple[float, float]:
    """A point on a dial whose top is midnight."""
    angle = 2 * pi * hour / 24
    return _CLOCK / 2 + distance * sin(angle), _CLOCK / 2 - distance * cos(angle)


def _line(photos: Sequence[Photo], before: Sequence[Photo]) -> str:
    is_, was = _times(photos), _times(before)
    if not is_ and not was:
        return ""
    first, last = min(is_ + was), max(is_ + was)
    length = max(last - first, timedelta(days=1))
    width, height = _LINE
    inner = width - 40

    def x(time: datetime) -> float:
        return 20 + inner * ((time - first) / length)

    dots = "".join(
        f'<circle class="{kind}" cx="{x(time):.1f}" cy="{y}" r="{radius}"/>'
        for kind, radius, y, times in (("was", 5, 14, was), ("is", 4, 26, is_))
        for time in times
    )
    ends = (
        f'<text x="20" y="{height - 6}">{first:%Y-%m-%d}</text>'
        f'<text x="{width - 20}" y="{height - 6}" text-anchor="end">{last:%Y-%m-%d}</text>'
    )
    content = f'<line class="rule" x1="20" x2="{width - 20}" y1="36" y2="36"/>{dots}{ends}'
    return _figure("line", _LINE, "Time line", "day", content)
