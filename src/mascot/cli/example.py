"""Sixty photographs that a search for "sunset over water" might find, for the demo and for trying things out.

They are invented, at real places. One evening on a harbour wall in Oia fills the first page.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from mascot.candidates import Candidates

QUERY = "sunset over water"
_NUMBERS = ("lat", "lon", "score")


def records() -> list[dict[str, Any]]:
    """Return the photographs as records: id, city, lat, lon, taken, camera, score; best score first."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return [{**row, **{name: float(row[name]) for name in _NUMBERS}} for row in csv.DictReader(file)]


def candidates() -> Candidates:
    return Candidates.from_records(records())
