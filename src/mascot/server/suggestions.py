"""Suggested searches, made of the keywords, cities and captions of a library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from mascot.photos.store import Store
from mascot.server.models import Suggestion

_MOST = 8
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


def suggestions(store: Store) -> list[Suggestion]:
    """Return frequent words and cities of the library, each with a different photograph; then captions."""
    words, cities = list(_rows(store, _KEYWORDS)), list(_rows(store, _NAMES))
    candidates = chain(words[:_WORDS], cities[:_CITIES], words[_WORDS:], _rows(store, _CAPTIONS), cities[_CITIES:])
    return list(islice(_distinct(candidates), _MOST))


def _rows(store: Store, query: str) -> Iterator[Suggestion]:
    for text, photo, _ in store.connection.execute(f"{query} LIMIT {3 * _MOST}"):
        yield Suggestion(text=str(text), photo=photo)


def _distinct(rows: Iterable[Suggestion]) -> Iterator[Suggestion]:
    texts: set[str] = set()
    photos: set[int] = set()
    for row in rows:
        if row.text.casefold() not in texts and row.photo not in photos:
            texts.add(row.text.casefold())
            photos.add(row.photo)
            yield row
