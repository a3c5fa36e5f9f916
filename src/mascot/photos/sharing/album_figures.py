"""The figures of an album as inline SVG: a map, a clock of 24 hours, and a time line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from itertools import pairwise
from math import cos, log, pi, radians, sin, tan

from mascot.photos.photo import Photo

_WORLD = 10_000  # units around the globe
_FURTHEST = 85.0  # degrees of latitude that Mercator shows
_LEAST_WIDTH = 250  # units, 9 degrees: the outline is not finer
_MAP = (720, 320)  # width and height; album.css has the proportions of the other figures
_MOST_YEARS = 8  # with a label on the time line
_MARGIN = 0.12  # of the extent, around the outermost points


@cache
def land() -> str:
    """Return the outline of the land, hidden: every map of the page draws it by reference."""
    data = json.loads(files("mascot").joinpath("server/static/charts/world.json").read_text("utf-8"))
    scale = data["scale"]
    rings = []
    for ring in data["land"]:
        lon = lat = 0.0
        corners: list[tuple[int, int]] = []
        for east, north in zip(ring[::2], ring[1::2], strict=True):
            lon, lat = lon + east / scale, lat + north / scale
            corner = round(_x(lon)), round(_y(lat))
            if not corners or corner != corners[-1]:
                corners.append(corner)
        if len(corners) > 2:
            steps = (f"{x - from_x} {y - from_y}" for (from_x, from_y), (x, y) in pairwise(corners))
            rings.append(f"M{corners[0][0]} {corners[0][1]}l{' '.join(steps)}z".replace(" -", "-"))
    return f'<svg width="0" height="0" aria-hidden="true"><defs><path id="land" d="{"".join(rings)}"/></defs></svg>'


def figures(photos: Sequence[Photo], before: Sequence[Photo] = ()) -> str:
    """Return the figures of photographs after and before steering; figures without values are omitted."""
    everything = [*photos, *before]
    content = _map(photos, before) if _points(everything) else ""
    content += _clock(photos, before) + _line(photos, before) if _times(everything) else ""
    return f'<div class="figures">{content}</div>' if content else ""


def place_map(photos: Sequence[Photo]) -> str:
    """Return the map of photographs as decoration; nothing if no photograph has a place."""
    return f'<div class="figures plain">{_map(photos, ())}</div>' if _points(photos) else ""


def _figure(kind: str, label: str, caption: str, content: str) -> str:
    return (
        f'<figure class="{kind}"><svg role="img" aria-label="{label}">{content}</svg>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _dots(before: Sequence[tuple[float, float]], after: Sequence[tuple[float, float]]) -> str:
    """Return rings for the values before and dots for those after, at positions in percent; their size is fixed."""
    return "".join(
        f'<circle class="{kind}" cx="{x:.2f}%" cy="{y:.2f}%" r="{radius}"/>'
        for kind, radius, points in (("was", 7, before), ("is", 4.5, after))
        for x, y in dict.fromkeys(points)
    )


def _caption(subject: str, missing: int, value: str, before: bool) -> str:
    parts = [subject, "rings: before, dots: after" if before else "", f"{missing} without {value}" if missing else ""]
    return "; ".join(part for part in parts if part)


def _x(lon: float) -> float:
    return (lon / 360 + 0.5) * _WORLD


def _y(lat: float) -> float:
    angle = radians(min(max(lat, -_FURTHEST), _FURTHEST))
    return (0.5 - log(tan(pi / 4 + angle / 2)) / (2 * pi)) * _WORLD


def _map(photos: Sequence[Photo], before: Sequence[Photo]) -> str:
    points, points_before = _points(photos), _points(before)
    west, span = _stretch([x for x, _ in points + points_before])
    ys = [y for _, y in points + points_before]
    width, height = _MAP
    widest = max(span, (max(ys) - min(ys)) * width / height) * (1 + 2 * _MARGIN)
    extent = min(max(widest, _LEAST_WIDTH), _WORLD)
    scale = width / extent
    west_edge = west + span / 2 - extent / 2
    top = (min(ys) + max(ys)) / 2 - extent * height / width / 2
    top = min(max(top, 0.0), _WORLD - extent * height / width)
    copies = "".join(
        f'<use href="#land" transform="scale({scale:.5f}) translate({turn * _WORLD - west_edge:.1f} {-top:.1f})"/>'
        for turn in (-1, 0, 1, 2)  # outlines may lie a whole world to the west
    )

    def to_percent(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(100 * ((x - west_edge) % _WORLD) * scale / width, 100 * (y - top) * scale / height) for x, y in points]

    content = (
        f'<svg viewBox="0 0 {width} {height}"><rect class="sea" width="{width}" height="{height}"/>'
        f'<g class="land">{copies}</g></svg>{_dots(to_percent(points_before), to_percent(points))}'
    )
    return _figure("map", "Map", _caption("place", len(photos) - len(points), "a place", bool(before)), content)


def _points(photos: Sequence[Photo]) -> list[tuple[float, float]]:
    places = ((photo.lat, photo.lon) for photo in photos)
    return [(_x(lon), _y(lat)) for lat, lon in places if lat is not None and lon is not None]


def _stretch(xs: Sequence[float]) -> tuple[float, float]:
    """Return the western end and the width of the shortest stretch of the globe that contains all positions."""
    ordered = sorted(x % _WORLD for x in xs)
    gaps = [(after - at, after) for at, after in zip(ordered, [*ordered[1:], ordered[0] + _WORLD], strict=True)]
    gap, west = max(gaps)
    return west % _WORLD, _WORLD - gap


def _times(photos: Sequence[Photo]) -> list[datetime]:
    return [photo.taken for photo in photos if photo.taken is not None]


def _clock(photos: Sequence[Photo], before: Sequence[Photo]) -> str:
    hours = _hours(photos)
    marks = ((hour, *_on_dial(hour, 45)) for hour in range(0, 24, 3))
    labels = "".join(
        f'<text x="{x:.1f}%" y="{y:.1f}%" dy="4" text-anchor="middle">{hour}</text>' for hour, x, y in marks
    )
    dots = _dots([_on_dial(hour, 24) for hour in _hours(before)], [_on_dial(hour, 34) for hour in hours])
    content = f'<circle class="face" cx="50%" cy="50%" r="39%"/>{labels}{dots}'
    caption = _caption("hour of day", len(photos) - len(hours), "a time", bool(before))
    return _figure("clock", "Clock of 24 hours", caption, content)


def _hours(photos: Sequence[Photo]) -> list[float]:
    return [time.hour + time.minute / 60 for time in _times(photos)]


def _on_dial(hour: float, distance: float) -> tuple[float, float]:
    """Return a point in percent on a dial whose top is midnight."""
    angle = 2 * pi * hour / 24
    return 50 + distance * sin(angle), 50 - distance * cos(angle)


def _line(photos: Sequence[Photo], before: Sequence[Photo]) -> str:
    times, times_before = _times(photos), _times(before)
    first, last = min(times + times_before), max(times + times_before)
    length = max(last - first, timedelta(days=1))

    def x(time: datetime) -> float:
        return 2 + 96 * ((time - first) / length)

    years = range(first.year + 1, last.year + 1)
    step = -(-len(years) // _MOST_YEARS) or 1
    ticks = "".join(
        f'<line class="rule" x1="{at:.2f}%" x2="{at:.2f}%" y1="60%" y2="72%"/>'
        f'<text x="{at:.2f}%" y="96%" text-anchor="middle">{year}</text>'
        for year in years[::step]
        for at in [x(datetime(year, 1, 1))]
    )
    dots = _dots([(x(time), 20) for time in times_before], [(x(time), 46) for time in times])
    content = f'<line class="rule" x1="2%" x2="98%" y1="66%" y2="66%"/>{ticks}{dots}'
    return _figure("line", "Time line", f"{first:%Y-%m-%d} to {last:%Y-%m-%d}", content)
