"""Queries of the size that the benchmark measures, and wishes for them."""

from __future__ import annotations

from typing import Any

import numpy as np

import mascot as mc


def world(n: int, seed: int) -> mc.Candidates[int]:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "lat": np.degrees(np.arcsin(rng.uniform(-1, 1, n))),
        "lon": rng.uniform(-180, 180, n),
        "hour": rng.uniform(0, 24, n),
        "who": rng.integers(0, 40, n),
    }
    wrong = rng.random(n) < 0.02  # a home and prices, with wrong values among them
    columns["home_lat"] = np.where(wrong, 0.0, 38.7 + 0.03 * rng.normal(size=n))
    columns["home_lon"] = np.where(wrong, 0.0, -9.1 + 0.03 * rng.normal(size=n))
    columns["price"] = np.where(rng.random(n) < 0.02, 1e6 * rng.normal(size=n), rng.lognormal(3, 1, n))
    columns["side"] = rng.choice(np.array(["left", "right", "middle"]), n, p=[0.7, 0.2, 0.1])
    columns["tags"] = [tuple(sorted(set(rng.integers(0, 9, count).tolist()))) for count in rng.integers(0, 4, n)]
    columns["date"] = np.datetime64("2020-02-20", "m") + rng.integers(0, 30 * 1440, n)
    columns["town"] = [f"town {int(lat // 30)}" if lat > -60 else None for lat in columns["lat"]]
    return mc.Candidates(scores=np.sort(rng.uniform(0.28, 0.45, n))[::-1], columns=columns)


def ragged(seed: int, n: int | None = None) -> mc.Candidates[int]:
    """Return candidates with few distinct values, ties, missing values and pinned scores; "who" may be -1."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 120)) if n is None else n
    columns: dict[str, Any] = {
        "lat": rng.choice([-90.0, -47.3, 0.0, 10.0, 35.7, 35.70001, 90.0, np.nan], n),
        "lon": rng.choice([-180.0, -20.0, 0.0, 20.0, 139.7, 179.9, 360.0], n),
        "hour": rng.choice([0.0, 1.5, 12.0, 12.25, 23.75, np.nan], n),
        "number": rng.choice([-1e6, -1.0, 0.0, 1.0, 1e6, np.nan], n),
        "date": rng.choice(np.array(["2019-12-31", "2020-02-29", "2021-06-01"], "datetime64[D]"), n),
        "who": rng.integers(-1, 9, n),
        "model": rng.integers(0, 2000, n),
        "seed": rng.integers(0, 16, n),
        "day": 1_600_000_000 + 86_400 * rng.integers(0, 40, n),
        "home_lat": rng.choice([0.0, 38.7, 38.71, 38.72, 38.75, np.nan], n, p=[0.02, 0.3, 0.3, 0.2, 0.1, 0.08]),
        "home_lon": rng.choice([-9.1, -9.11, -9.15], n),
        "price": rng.choice([-1e9, 5.0, 10.0, 11.5, 30.0, 1e6, np.nan], n, p=[0.02, 0.3, 0.3, 0.2, 0.1, 0.02, 0.06]),
        "side": rng.choice(np.array(["left", "right", ""]), n),
        "tags": [tuple(sorted(set(rng.integers(0, 5, count).tolist()))) for count in rng.integers(0, 4, n)],
        "town": rng.choice(np.array(["a", "b", "c", ""]), n),
    }
    scores = rng.choice([0.1, 0.2, 0.3, 0.30000001, 0.9], n)
    scores[: seed % 4] = [1e6, -1e9, 1.7e308][: min(seed % 4, n)]
    return mc.Candidates(scores, columns=columns, vectors=rng.normal(size=(n, 4)))


CASES = {
    "grid, spread": [mc.spread(mc.Place.grid()), mc.spread(mc.HourOfDay("hour"))],
    "grid, focus": [mc.focus(mc.Place.grid()), mc.focus(mc.HourOfDay("hour"))],
    "grid, mixed": [mc.spread(mc.Place.grid()), mc.focus(mc.HourOfDay("hour"))],
    "globe": [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("hour"))],
    "towns": [mc.focus(mc.Place(sigma_km=40)), mc.spread(mc.Category("who"))],
    "outliers": [mc.spread(mc.Place("home_lat", "home_lon")), mc.focus(mc.Number("price"), near=30)],
    "fine grid": [mc.focus(mc.Place.grid(cells=60)), mc.spread(mc.Number("lat"))],
}

# A focus without a spread beside it pays for the names of these values.
NAMED = {
    "hour": [mc.focus(mc.HourOfDay("hour"))],
    "day": [mc.focus(mc.Date("date"))],
    "weekday": [mc.focus(mc.Weekday("date", missing="neutral"))],
    "town": [mc.focus(mc.Place(names="town"))],
    "named and not": [mc.focus(mc.HourOfDay("hour", missing="neutral"), 2.0), mc.focus("who"), mc.focus(mc.Place())],
    "all named": [mc.focus(mc.Place(names="town")), mc.focus(mc.Weekday("date")), mc.focus(mc.HourOfDay("hour"))],
    "beside a spread": [mc.focus(mc.Place(names="town")), mc.focus(mc.HourOfDay("hour")), mc.spread("who")],
    "limit": [mc.focus(mc.HourOfDay("hour")), mc.focus(mc.Place(names="town")), mc.limit("who", 1)],
    "share": [mc.focus(mc.Weekday("date")), mc.share("side", {"left": 0.6, "right": 0.1})],
}

QUOTAS = {
    "limit": [mc.spread(mc.Place.grid()), mc.focus(mc.HourOfDay("hour")), mc.limit("who", 1)],
    "limit and share": [
        mc.focus(mc.Place()),
        mc.limit("who", 2, fill=True),
        mc.share("side", {"left": 0.6, "right": 0.1}),
    ],
    "several labels": [mc.spread("side"), mc.limit("tags", 3)],
    "limits alone": [mc.limit("side", 4), mc.limit("tags", 5, fill=True)],
}
