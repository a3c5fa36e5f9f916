"""One photograph of a library: a row of its database."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, get_type_hints


@dataclass(frozen=True, slots=True)
class Photo:
    """The metadata of a photograph. A missing value is None; `problems` says why."""

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
    taken: datetime | None  # local time
    offset: int | None  # minutes east of UTC
    camera: str | None
    lens: str | None
    title: str | None
    caption: str | None
    keywords: tuple[str, ...]
    rating: int | None
    quality: float | None  # technical, 0 to 1; None until `mascot index` has measured it
    city: str | None
    country: str | None
    season: str | None
    part_of_day: str | None
    moment: str | None
    problems: tuple[str, ...]

    @classmethod
    def from_row(cls, row: Any) -> Photo:
        values = {name: row[name] for name in COLUMNS}
        values["taken"] = None if values["taken"] is None else datetime.fromisoformat(values["taken"])
        for name in LISTS:
            values[name] = () if values[name] == "[]" else tuple(json.loads(values[name]))
        return cls(**values)

    def to_row(self) -> dict[str, Any]:
        """Return the values as SQLite stores them."""
        values = {name: getattr(self, name) for name in COLUMNS} | self.to_dict()
        for name in LISTS:
            values[name] = json.dumps(values[name], ensure_ascii=False)
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return the photograph as plain data, ready for JSON, without the internal columns."""
        values = {name: getattr(self, name) for name in COLUMNS if name not in _INTERNAL}
        taken = None if self.taken is None else self.taken.isoformat()
        return values | {"taken": taken, "keywords": list(self.keywords), "problems": list(self.problems)}


def json_types() -> list[tuple[str, Any]]:
    """Return the names and types of the values of `Photo.to_dict`."""
    types: dict[Any, Any] = {datetime | None: str | None, tuple[str, ...]: list[str]}
    hints = get_type_hints(Photo)
    return [(name, types.get(hints[name], hints[name])) for name in COLUMNS if name not in _INTERNAL]


_INTERNAL = ("mtime_ns", "hash")
LISTS = ("keywords", "problems")  # stored as JSON text
COLUMNS = tuple(field.name for field in fields(Photo))
TYPES: dict[str, tuple[type, ...]] = {  # of the values that SQLite returns, by column
    **dict.fromkeys(("id", "size", "mtime_ns", "width", "height"), (int,)),
    **dict.fromkeys(("path", "folder", "hash", *LISTS), (str,)),
    **dict.fromkeys(("lat", "lon", "altitude", "quality"), (float, int, type(None))),
    **dict.fromkeys(("offset", "rating"), (int, type(None))),
    **dict.fromkeys(("taken", "camera", "lens", "title", "caption", "city", "country"), (str, type(None))),
    **dict.fromkeys(("season", "part_of_day", "moment"), (str, type(None))),
}
NUMBERS = ("lat", "lon", "altitude", "width", "height", "size", "quality")
LABELS = ("path", "folder", "camera", "lens", "title", "caption", "city", "country", "season", "part_of_day",
          "moment", "rating")  # fmt: skip
CALENDAR = {"year": 4, "month": 7, "day": 10}  # lengths of the prefixes of `taken` that are labels
assert set(NUMBERS + LABELS) <= set(COLUMNS) == set(TYPES)
