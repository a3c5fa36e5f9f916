"""One photograph of a library, as its row says."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Photo:
    """What the library knows of a photograph. What is missing is None; `problems` says why."""

    id: int
    path: str  # relative to the library's folder
    folder: str  # the same without the file's name; "." at the top
    size: int
    mtime_ns: int
    hash: str
    width: int
    height: int
    lat: float | None
    lon: float | None
    altitude: float | None
    taken: datetime | None  # local clock
    offset: int | None  # minutes east of Greenwich
    camera: str | None
    lens: str | None
    title: str | None
    caption: str | None
    keywords: tuple[str, ...]
    rating: int | None
    city: str | None
    country: str | None
    season: str | None
    part_of_day: str | None
    moment: str | None
    problems: tuple[str, ...]

    @classmethod
    def from_row(cls, row: Any) -> Photo:
        """From a row of the table, whose columns have these names."""
        values = {name: row[name] for name in COLUMNS}
        values["taken"] = None if values["taken"] is None else datetime.fromisoformat(values["taken"])
        for name in ("keywords", "problems"):
            values[name] = () if values[name] == "[]" else tuple(json.loads(values[name]))
        return cls(**values)

    def to_row(self) -> dict[str, Any]:
        """The same as SQLite stores it."""
        values = {name: getattr(self, name) for name in COLUMNS}
        values["taken"] = None if self.taken is None else self.taken.isoformat()
        for name in ("keywords", "problems"):
            values[name] = json.dumps(values[name], ensure_ascii=False)
        return values

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON; without what only the library itself needs."""
        values = {name: getattr(self, name) for name in COLUMNS if name not in ("mtime_ns", "hash")}
        values["taken"] = None if self.taken is None else self.taken.isoformat()
        values["keywords"], values["problems"] = list(self.keywords), list(self.problems)
        return values


CALENDAR = {"year": 4, "month": 7, "day": 10}  # labels that the time taken begins with, and their length
COLUMNS = tuple(field.name for field in fields(Photo))
