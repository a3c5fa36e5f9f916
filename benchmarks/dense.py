"""The alternative: the same objective as a vectorised loop over dense numpy arrays, float64, one thread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mascot.kernels.constants import EARTH_KM

Floats = NDArray[np.float64]

GRID_LAT = np.repeat(np.linspace(-90, 90, 20), 20)
GRID_LON = np.tile(np.linspace(-180, 180, 20), 20)
HOURS = np.arange(24.0)


def planar(lat: Floats, lon: Floats, sigma: float = 15.0) -> Floats:
    """The paper's 400 geographic bins."""
    p = np.exp(-((lat[:, None] - GRID_LAT) ** 2 + (lon[:, None] - GRID_LON) ** 2) / (2 * sigma**2))
    p[p < 0.01] = 0
    return p


def globe(lat: Floats, lon: Floats, centres: Floats, sigma_km: float) -> Floats:
    """Bins on the globe, their centres (radians) given."""
    hav = np.sin((lat[:, None] - centres[0]) / 2) ** 2
    hav += np.cos(lat)[:, None] * np.cos(centres[0]) * np.sin((lon[:, None] - centres[1]) / 2) ** 2
    p = np.exp(-((2 * EARTH_KM * np.arcsin(np.sqrt(hav)) / sigma_km) ** 2) / 2)
    p[p < 0.01] = 0
    return p


def clock(hour: Floats, sigma: float = 1.5) -> Floats:
    """24 bins of the hour of day."""
    d = np.abs(hour[:, None] - HOURS)
    p = np.exp(-(np.minimum(d, 24 - d) ** 2) / (2 * sigma**2))
    p[p < 0.01] = 0
    return p


def greedy(scores: Floats, parts: list[Floats], signs: list[int], strength: float, k: int, guarded: bool) -> list[int]:
    """The published loop vectorised; `guarded` scales, weighs bins evenly and protects three."""
    relevance = (scores - scores.min()) / (scores.max() - scores.min() + 1e-8)
    states = []
    for p, sign in zip(parts, signs, strict=True):
        weight = np.ones(p.shape[1]) if guarded else (p * relevance[:, None]).max(axis=0)
        top = (p * weight).sum(axis=1).max() * len(parts) if guarded else 1.0
        states.append(sign * strength * weight / top)
    p, state = np.concatenate(parts, axis=1), np.concatenate(states)
    base = (1 - strength) * relevance
    chosen: list[int] = []
    for step in range(k):
        gain = base + (p * state).sum(axis=1)
        best = step if guarded and step < 3 else int(np.argmax(gain))
        chosen.append(best)
        base[best] = -np.inf
        state = state * (1 - p[best])
    return chosen
