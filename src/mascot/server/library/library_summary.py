"""What the page shows of a library: counts, points on a map, values to filter by, and suggested searches."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import chain

from mascot.photos.database.store import Store
from mascot.photos.library import Library
from mascot.photos.request import SearchRequest
from mascot.photos.sharing.overview import overview, points
from mascot.photos.trips import Period, Trips
from mascot.photos.wish_text import NAMES
from mascot.server.schemas import MOST_RESULTS, HomeOut, LibraryOut, PeriodOut, Suggestion, TripsOut

_PYTHON = f"{shlex.quote(sys.executable)} -m "  # visitors of the page may not know where this Python is
_BEST = (30, 10)  # of a trip or a year, the first number that is less than all of them
_MOST_POINTS = 2000  # on the map
_FILTERS = ("camera", "country", "rating")
_MOST_VALUES = 200  # per column to filter by, the most frequent first
_MOST = 8  # suggestions
_WORDS, _CITIES = 6, 2  # of them, if there are enough
_LONGEST = 40  # characters of a caption that still reads as a search
# A keyword of more than a tenth of the library ("travel") is too general.
_KEYWORDS = """
    SELECT value, min(photos.id), count(*) FROM photos, json_each(keywords)
    WHERE length(value) BETWEEN 3 AND 24
      AND lower(value) NOT IN (SELECT DISTINCT lower(city) FROM photos WHERE city IS NOT NULL)
    GROUP BY lower(value) HAVING count(*) <= max(3, (SELECT count(*) FROM photos) / 10) ORDER BY 3 DESC, 1"""
_NAMES = "SELECT city, max(id), count(*) FROM photos WHERE city IS NOT NULL GROUP BY 1 ORDER BY 3 DESC, 1"
_CAPTIONS = f"""
    SELECT coalesce(title, caption), min(id), count(*) FROM photos
    WHERE length(coalesce(title, caption)) BETWEEN 4 AND {_LONGEST} GROUP BY 1 ORDER BY 3 DESC, 2"""


def library_out(library: Library) -> LibraryOut:
    store = library.store
    summary, all_points = overview(library.root, library.folder, store), points(store)
    step = max(len(all_points) // _MOST_POINTS, 1)
    values = summary.to_dict() | {
        "skipped": len(summary.skipped),
        "notice": library.unfinished or (library.notice or "").replace(_PYTHON, "") or None,
        "attributes": list(NAMES),
        "best": SearchRequest(k=_BEST[0], best=True).to_dict(),
        "points": [list(point) for point in all_points[::step]],
        "suggestions": suggestions(store),
        "choices": {name: _counts(store, name) for name in _FILTERS},
    }
    return LibraryOut(**{name: values[name] for name in LibraryOut.__struct_fields__})


def trips_out(library: Library) -> TripsOut:
    trips = Trips.of_library(library.store)
    home = None if trips.home is None else HomeOut(trips.home.city, trips.home.country)
    return TripsOut(home, [*map(_period_out, trips.trips)], [*map(_period_out, trips.years)])


def _period_out(period: Period) -> PeriodOut:
    values = asdict(period) | {"moments": len(period.moments)}
    photographs = SearchRequest(
        since=period.since, until=period.until, order="date", k=min(period.photos, MOST_RESULTS)
    )
    count = next((count for count in _BEST if count < period.photos), None)
    best = None if count is None else replace(photographs, k=count, best=True).to_dict()
    return PeriodOut(**values, request=photographs.to_dict(), best=best)


def _counts(store: Store, name: str) -> dict[str, int]:
    """Return the most frequent values of a column, each with its number of photographs."""
    query = f"SELECT {name}, count(*) FROM photos WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    return {str(value): count for value, count in store.connection.execute(f"{query} LIMIT {_MOST_VALUES}")}


def suggestions(store: Store) -> list[Suggestion]:
    """Return frequent words and cities of the library, each with a different photograph; then captions."""
    words, cities = list(_rows(store, _KEYWORDS)), list(_rows(store, _NAMES))
    rows = chain(words[:_WORDS], cities[:_CITIES], words[_WORDS:], _rows(store, _CAPTIONS), cities[_CITIES:])
    texts: set[str] = set()
    by_photo: dict[int, Suggestion] = {}
    for row in rows:
        if row.text.casefold() not in texts and row.photo not in by_photo:
            texts.add(row.text.casefold())
            by_photo[row.photo] = row
    return list(by_photo.values())[:_MOST]


def _rows(store: Store, query: str) -> Iterator[Suggestion]:
    for text, photo, _ in store.connection.execute(f"{query} LIMIT {3 * _MOST}"):
        yield Suggestion(text=str(text), photo=photo)
