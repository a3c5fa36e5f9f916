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
    return mc.Candidates(scores=np.sort(rng.uniform(0.28, 0.45, n))[::-1], columns=columns)


CASES = {
    "grid, spread": [mc.spread(mc.Place.grid()), mc.spread(mc.HourOfDay("hour"))],
    "grid, focus": [mc.focus(mc.Place.grid()), mc.focus(mc.HourOfDay("hour"))],
    "grid, mixed": [mc.spread(mc.Place.grid()), mc.focus(mc.HourOfDay("hour"))],
    "globe": [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("hour"))],
    "towns": [mc.focus(mc.Place(sigma_km=40)), mc.spread(mc.Category("who"))],
    "fine grid": [mc.focus(mc.Place.grid(cells=60)), mc.spread(mc.Number("lat"))],
}
