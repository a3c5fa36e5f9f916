"""Values to filter photographs by, with their counts."""

from __future__ import annotations

from mascot.photos.store import Store

_COLUMNS = ("camera", "country", "rating")
_MOST = 200  # values per column, the most frequent first


def filter_values(store: Store) -> dict[str, dict[str, int]]:
    """Return the cameras, countries and ratings of the library, each with its number of photographs."""
    return {name: _counts(store, name) for name in _COLUMNS}


def _counts(store: Store, name: str) -> dict[str, int]:
    query = f"SELECT {name}, count(*) FROM photos WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_MOST}"
    return {str(value): count for value, count in store.connection.execute(query)}
