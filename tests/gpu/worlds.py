"""Queries of the size that the benchmark measures, and wishes for them."""

from __future__ import annotations

from typing import Any

import numpy as np

import mascot as mc


def world(n: int, seed: int) -> mc.Candidates:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "lat": np.degrees(np.arcsin(rng.uniform(-1, 1, n))),
        "lon": rng.uniform(-180, 180, n),
        "hour": rng.uniform(0, 24, n),
        "who": rng.integers(0, 40, n),
    }
    wrong = rng.random(n) < 0.02  # a home, some prices, and among them what cannot be
    columns["home_lat"] = np.where(wrong, 0.0, 38.7 + 0.03 * rng.normal(size=n))
    columns["home_lon"] = np.where(wrong, 0.0, -9.1 + 0.03 * rng.normal(size=n))
    columns["price"] = np.where(rng.random(n) < 0.02, 1e6 * rng.normal(size=n), rng.lognormal(3, 1, n))
    return mc.Candidates(scores=np.sort(rng.uniform(0.28, 0.45, n))[::-1], columns=columns)


CASES = {
    "grid, spread": [mc.spread(mc.Place.grid()), mc.spread(mc.HourOfDay("hour"))],
    "grid, focus": [mc.focus(mc.Place.grid()), mc.focus(mc.HourOfDay("hour"))],
    "grid, mixed": [mc.spread(mc.Place.grid()), mc.focus(mc.HourOfDay("hour"))],
    "globe": [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("hour"))],
    "towns": [mc.focus(mc.Place(sigma_km=40)), mc.spread(mc.Category("who"))],
    "outliers": [mc.spread(mc.Place("home_lat", "home_lon")), mc.focus(mc.Number("price"), near=30)],
    "fine grid": [mc.focus(mc.Place.grid(cells=60)), mc.spread(mc.Number("lat"))],
}
