"""Counts of what a library contains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mascot.photos.store import Store

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
        """Return the overview as plain data, ready for JSON."""
        return asdict(self)


def overview(root: Path, folder: Path, store: Store) -> Overview:
    """Return the counts of the library whose index is in `folder` and whose photographs are under `root`."""
    counts = _row(
        store,
        "SELECT count(*), count(*) - count(lat), count(*) - count(taken), min(taken), max(taken), "
        "count(DISTINCT moment), "
        "coalesce(sum(title IS NULL AND caption IS NULL AND keywords = '[]'), 0) FROM photos",
    )
    by_hour = dict(_pairs(store, "SELECT CAST(substr(taken, 12, 2) AS INTEGER), count(*) FROM photos "
                                 "WHERE taken IS NOT NULL GROUP BY 1"))  # fmt: skip
    years = "SELECT substr(taken, 1, 4), count(*) FROM photos WHERE taken IS NOT NULL GROUP BY 1 ORDER BY 1"
    months = "SELECT substr(taken, 1, 7), count(*) FROM photos WHERE taken IS NOT NULL GROUP BY 1 ORDER BY 1"
    problems = "SELECT value, count(*) FROM photos, json_each(problems) GROUP BY 1 ORDER BY 2 DESC, 1"
    return Overview(
        root=str(root),
        photos=counts[0],
        encoder=store.fact("encoder") or "",
        fingerprint=store.fact("fingerprint") or "",
        encoded=store.count_vectors(store.fact("fingerprint") or ""),
        bytes=sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        without_place=counts[1],
        without_time=counts[2],
        without_words=counts[6],
        first=counts[3],
        last=counts[4],
        moments=counts[5],
        hours=tuple(by_hour.get(hour, 0) for hour in range(24)),
        years=dict(_pairs(store, years)),
        months=dict(_pairs(store, months)),
        labels={name: _labels(store, name) for name in _LABEL_COLUMNS},
        distinct={name: _row(store, f"SELECT count(DISTINCT {name}) FROM photos")[0] for name in _LABEL_COLUMNS},
        skipped=tuple(_pairs(store, "SELECT path, reason FROM skipped ORDER BY path")),
        problems=dict(_pairs(store, problems)),
    )


def points(store: Store) -> list[tuple[float, float]]:
    """Return latitude and longitude of every photograph that has a place."""
    return _pairs(store, "SELECT lat, lon FROM photos WHERE lat IS NOT NULL")


def _labels(store: Store, name: str) -> dict[str, int]:
    query = f"SELECT {name}, count(*) FROM photos WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_MOST}"
    return dict(_pairs(store, query))


def _row(store: Store, query: str) -> Sequence[Any]:
    row: Sequence[Any] = store.connection.execute(query).fetchone()
    return row


def _pairs(store: Store, query: str) -> list[tuple[Any, Any]]:
    return [(row[0], row[1]) for row in store.connection.execute(query)]
