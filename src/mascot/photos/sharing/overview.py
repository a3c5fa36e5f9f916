"""Counts of what a library contains."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mascot.photos.database.store import Store

_LABEL_COLUMNS = ("country", "city", "camera", "season", "part_of_day", "folder")
_MOST = 12  # labels of each column that are listed


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts of one library."""

    root: str
    photos: int
    encoder: str
    fingerprint: str
    encoded: int  # photographs that can be searched: fewer until indexing is complete
    bytes: int  # of the index on disk
    without_place: int
    without_time: int
    without_words: int  # no title, caption or keyword
    first: str | None  # time of the earliest photograph
    last: str | None
    moments: int
    hours: tuple[int, ...]  # photographs in each of the 24
    years: dict[str, int]
    months: dict[str, int]  # photographs by month, `2019-07`; empty months are omitted
    labels: dict[str, dict[str, int]]  # the most frequent of each column
    distinct: dict[str, int]  # number of distinct labels of each column
    skipped: tuple[tuple[str, str], ...]  # files that were skipped, and why
    problems: dict[str, int]  # reasons why values are missing, with their counts

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def overview(root: Path, folder: Path, store: Store) -> Overview:
    """Return the counts of the library whose index is in `folder` and whose photographs are under `root`."""
    counts = store.connection.execute(
        "SELECT count(*) AS photos, count(*) - count(lat) AS without_place, count(*) - count(taken) AS without_time, "
        "min(taken) AS first, max(taken) AS last, count(DISTINCT moment) AS moments FROM photos"
    ).fetchone()
    by_hour = _counts(store, "CAST(substr(taken, 12, 2) AS INTEGER)")
    problems = "SELECT value, count(*) FROM photos, json_each(problems) GROUP BY 1 ORDER BY 2 DESC, 1"
    distinct = ", ".join(f"count(DISTINCT {name})" for name in _LABEL_COLUMNS)
    return Overview(
        root=str(root),
        encoder=store.fact("encoder") or "",
        fingerprint=store.fact("fingerprint") or "",
        encoded=store.count_vectors(store.fact("fingerprint") or ""),
        bytes=sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        without_words=store.count_wordless(),
        hours=tuple(by_hour.get(hour, 0) for hour in range(24)),
        years=_counts(store, "substr(taken, 1, 4)"),
        months=_counts(store, "substr(taken, 1, 7)"),
        labels={name: _counts(store, name, f"2 DESC, 1 LIMIT {_MOST}") for name in _LABEL_COLUMNS},
        distinct=dict(zip(_LABEL_COLUMNS, _rows(store, f"SELECT {distinct} FROM photos")[0], strict=True)),
        skipped=tuple(_rows(store, "SELECT path, reason FROM skipped ORDER BY path")),
        problems=dict(_rows(store, problems)),
        **dict(counts),
    )


def points(store: Store) -> list[tuple[float, float]]:
    """Return latitude and longitude of every photograph that has a place."""
    return _rows(store, "SELECT lat, lon FROM photos WHERE lat IS NOT NULL")


def _counts(store: Store, value: str, order: str = "1") -> dict[Any, int]:
    """Return the number of photographs for each value of an SQL expression."""
    return dict(
        _rows(store, f"SELECT {value}, count(*) FROM photos WHERE {value} IS NOT NULL GROUP BY 1 ORDER BY {order}")
    )


def _rows(store: Store, query: str) -> list[Any]:
    return [tuple(row) for row in store.connection.execute(query)]
