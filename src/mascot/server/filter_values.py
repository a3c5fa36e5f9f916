"""Values that photographs can be filtered by, with how many there are of each."""

from __future__ import annotations

from mascot.photos.store import Store

_COLUMNS = ("camera", "country", "rating")
_MOST = 200  # of each column, the frequent first


def filter_values(store: Store) -> dict[str, dict[str, int]]:
    """Cameras, countries and ratings of the library."""
    return {name: _counted(store, name) for name in _COLUMNS}


def _counted(store: Store, name: str) -> dict[str, int]:
    query = f"SELECT {name}, count(*) FROM photos WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_MOST}"
    return {str(value): number for value, number in store.connection.execute(query)}
