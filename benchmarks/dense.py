"""The alternative: the same objective as a loop over dense numpy arrays, as a competent user would write it.

float64, one thread. Memberships are computed by vectorised numpy (a grid by its two axes, the globe by one matrix
product), and every step is `P @ w`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mascot.kernels.constants import EARTH_KM

Floats = NDArray[np.float64]

LATITUDES, LONGITUDES, HOURS = np.linspace(-90, 90, 20), np.linspace(-180, 180, 20), np.arange(24.0)
PROTECTED = 3


def planar(lat: Floats, lon: Floats, sigma: float = 15.0) -> Floats:
    """Return memberships in the paper's 400 geographic bins."""
    rows = np.exp(-((lat[:, None] - LATITUDES) ** 2) / (2 * sigma**2))
    columns = np.exp(-((lon[:, None] - LONGITUDES) ** 2) / (2 * sigma**2))
    p = (rows[:, :, None] * columns[:, None, :]).reshape(len(lat), -1)
    p[p < 0.01] = 0
    return p


def globe(lat: Floats, lon: Floats, centres: Floats, sigma_km: float) -> Floats:
    """Return memberships in bins on the globe whose centres (unit vectors [3, U]) are given."""
    points = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
    p = np.exp((points @ centres - 1.0) * (EARTH_KM / sigma_km) ** 2)
    p[p < 0.01] = 0
    return p


def clock(hour: Floats, sigma: float = 1.5) -> Floats:
    """Return memberships in 24 bins of the hour of day."""
    d = np.abs(hour[:, None] - HOURS)
    p = np.exp(-(np.minimum(d, 24 - d) ** 2) / (2 * sigma**2))
    p[p < 0.01] = 0
    return p


def greedy(scores: Floats, parts: list[Floats], signs: list[int], strength: float, k: int, guarded: bool) -> list[int]:
    """Return the selection of the published loop; `guarded` scales, weighs bins evenly and protects three."""
    relevance = normalized(scores)
    p, worth = weigh(relevance, parts, signs, guarded)
    return run(relevance, p, worth, strength, k, range(PROTECTED if guarded else 0))


def normalized(scores: Floats) -> Floats:
    return np.asarray((scores - scores.min()) / (scores.max() - scores.min() + 1e-8))


def weigh(relevance: Floats, parts: list[Floats], signs: list[int], guarded: bool) -> tuple[Floats, Floats]:
    """Return the memberships in the bins of all attributes, and what covering each bin is worth."""
    worth = []
    for p, sign in zip(parts, signs, strict=True):
        weight = np.ones(p.shape[1]) if guarded else (p * relevance[:, None]).max(axis=0)
        top = (p @ weight).max() * len(parts) if guarded else 1.0
        worth.append(sign * weight / top)
    return np.concatenate(parts, axis=1), np.concatenate(worth)


def run(relevance: Floats, p: Floats, worth: Floats, strength: float, k: int, first: Sequence[int]) -> list[int]:
    """Return the selection of one greedy run that starts with the positions `first`."""
    base, state = (1 - strength) * relevance, strength * worth
    selection: list[int] = []
    for step in range(k):
        best = first[step] if step < len(first) else int(np.argmax(base + p @ state))
        selection.append(best)
        base[best] = -np.inf
        state = state * (1 - p[best])
    return selection
