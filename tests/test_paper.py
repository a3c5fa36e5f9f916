"""`Mascot.paper` against the formula, computed by hand and by an independent loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.kernels.constants import LABEL_PRICE
from mascot.wishes import Wish


def published(
    scores: Any, bins: list[Any], signs: list[int], strength: float, k: int, weight: str, normalize: bool
) -> list[int]:
    """The published loop, as the paper prints it: candidates leave the list one by one."""
    r = (scores - scores.min()) / (np.ptp(scores) + 1e-8) if normalize else scores
    omega = [(p * r[:, None]).max(axis=0) if weight == "query" else np.ones(p.shape[1]) for p in bins]
    cover = [np.zeros(p.shape[1]) for p in bins]
    left, chosen = list(range(len(scores))), []
    while left and len(chosen) < k:
        gains = (1 - strength) * r[left]
        for a, p in enumerate(bins):
            gains = gains + signs[a] * strength * (omega[a] * (1 - cover[a]) * p[left]).sum(axis=1)
        chosen.append(left.pop(int(np.argmax(gains))))
        cover = [1 - (1 - c) * (1 - p[chosen[-1]]) for c, p in zip(cover, bins, strict=True)]
    return chosen


def planar(lat: Any, lon: Any, cells: int, sigma: float) -> Any:
    rows, columns = np.linspace(-90, 90, cells)[:, None], np.linspace(-180, 180, cells)
    p = np.exp(-((lat[:, None, None] - rows) ** 2 + (lon[:, None, None] - columns) ** 2) / (2 * sigma**2))
    return np.where(p >= 0.01, p, 0.0).reshape(len(lat), -1)


def circular(hours: Any, bins: int, sigma: float) -> Any:
    d = np.abs(hours[:, None] - 24 * np.arange(bins) / bins)
    p = np.exp(-(np.minimum(d, 24 - d) ** 2) / (2 * sigma**2))
    return np.where(p >= 0.01, p, 0.0)


@pytest.mark.parametrize(("cells", "sigma", "width"), [(20, 15.0, 1.5), (10, 5.0, 0.5), (25, 30.0, 4.0)])
@pytest.mark.parametrize("signs", [[1, 1], [-1, -1], [1, -1], [-1, 1]])
def test_the_paper_s_four_variants(cells: int, sigma: float, width: float, signs: list[int]) -> None:
    rng = np.random.default_rng(cells)
    n = 40
    lat, lon, hour = rng.uniform(-90, 90, n), rng.uniform(-180, 180, n), rng.uniform(0, 24, n)
    scores = np.sort(rng.uniform(0.28, 0.45, n))[::-1]
    candidates = mc.Candidates(scores, columns={"lat": lat, "lon": lon, "hour": hour})
    place, clock = mc.Place.grid(cells=cells, sigma=sigma), mc.HourOfDay("hour", sigma=width)
    wishes = [Wish(place, signs[0]), Wish(clock, signs[1])]
    bins = [planar(lat, lon, cells, sigma), circular(hour, 24, width)]
    # MASCOT, w/o Normalization, Uniform Binning, Prob-Coverage
    for weight, normalize in (("query", True), ("query", False), ("uniform", True), ("uniform", False)):
        for strength in (0.2, 0.7):
            expected = published(scores, bins, signs, strength, 10, weight, normalize)
            method = mc.Mascot.paper(strength, weight, normalize)
            for backend in ("numpy", "native"):
                assert mc.rerank(candidates, wishes, 10, method, backend=backend).ids == expected


def test_two_cities_by_hand() -> None:
    candidates = mc.Candidates(scores=[1.0, 0.9, 0.0], columns={"city": ["Rome", "Rome", "Oslo"]})
    # Relevance 1, 0.9, 0; omega of Rome 1, of Oslo 0. Spread at 0.5: 1.0, 0.95, 0 and then 0, 0.45, 0.
    ranking = mc.rerank(candidates, mc.spread("city"), 3, mc.Mascot.paper(0.5))
    assert ranking.ids == [0, 1, 2]
    np.testing.assert_allclose(ranking.gains["relevance"], [0.5, 0.45, 0.0], atol=1e-8)
    np.testing.assert_allclose(ranking.gains["city"], [0.5, 0.0, 0.0], atol=1e-8)
    # Uniform: Oslo earns 0.5 against 0.45 for a second Rome.
    assert mc.rerank(candidates, mc.spread("city"), 3, mc.Mascot.paper(0.5, "uniform")).ids == [0, 2, 1]
    # Focus at 0.6, peak weights: Rome's first costs 0.6 and gives 0.4, Oslo is free: the collapse, by hand.
    assert mc.rerank(candidates, mc.focus("city"), 2, mc.Mascot.paper(0.6)).ids == [2, 0]
    # Guarded: the best stays, and its city is free from then on.
    assert mc.rerank(candidates, mc.focus("city"), 2, mc.Mascot(0.6)).ids == [0, 1]


def test_scale_makes_strength_mean_the_same_for_every_width_and_number_of_attributes() -> None:
    rng = np.random.default_rng(0)
    columns = {"hour": rng.uniform(0, 24, 60), "who": rng.integers(0, 5, 60)}
    candidates, method = mc.Candidates(np.linspace(1, 0, 60), columns=columns), mc.Mascot(1.0, protect=0)
    for sigma in (0.3, 1.5, 6.0):
        gains = mc.rerank(candidates, mc.spread(mc.HourOfDay("hour", sigma=sigma)), 20, method).gains
        assert gains["hour"].max() == pytest.approx(1.0)
    gains = mc.rerank(candidates, [mc.spread(mc.HourOfDay("hour")), mc.spread("who", weight=3)], 20, method).gains
    assert gains["hour"].max() <= 0.25 + 1e-12
    assert gains["who"].max() == pytest.approx(0.75 * LABEL_PRICE)
