"""`Mascot.paper` against the formula, computed by hand and by an independent loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mascot as mc


def published(
    scores: Any,
    bins: list[Any],
    signs: list[int],
    strength: float,
    k: int,
    weight: str = "query",
    normalize: bool = True,
) -> list[int]:
    """The published loop, as the paper prints it: one list, candidates popped one by one."""
    n = len(scores)
    r = [(s - min(scores)) / (max(scores) - min(scores) + 1e-8) for s in scores] if normalize else list(scores)
    omega = []
    for p in bins:
        omega.append([max(p[j][u] * r[j] for j in range(n)) if weight == "query" else 1.0 for u in range(len(p[0]))])
    cover = [[0.0] * len(p[0]) for p in bins]
    left, chosen = list(range(n)), []
    while left and len(chosen) < k:
        gains = []
        for i in left:
            gain = (1 - strength) * r[i]
            for a, p in enumerate(bins):
                gain += signs[a] * strength * sum(omega[a][u] * (1 - cover[a][u]) * p[i][u] for u in range(len(p[0])))
            gains.append(gain)
        best = left.pop(int(np.argmax(gains)))
        chosen.append(best)
        for a, p in enumerate(bins):
            cover[a] = [1 - (1 - c) * (1 - q) for c, q in zip(cover[a], p[best], strict=True)]
    return chosen


def planar(lat: Any, lon: Any, cells: int, sigma: float) -> Any:
    rows = []
    for y, x in zip(lat, lon, strict=True):
        row = []
        for cy in np.linspace(-90, 90, cells):
            for cx in np.linspace(-180, 180, cells):
                p = np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / (2 * sigma**2))
                row.append(p if p >= 0.01 else 0.0)
        rows.append(row)
    return np.array(rows)


def circular(hours: Any, bins: int, sigma: float) -> Any:
    rows = []
    for t in hours:
        row = []
        for j in range(bins):
            d = abs(t - 24 * j / bins)
            p = np.exp(-(min(d, 24 - d) ** 2) / (2 * sigma**2))
            row.append(p if p >= 0.01 else 0.0)
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize(("cells", "sigma", "width"), [(20, 15.0, 1.5), (10, 5.0, 0.5), (25, 30.0, 4.0)])
@pytest.mark.parametrize("signs", [[1, 1], [-1, -1], [1, -1], [-1, 1]])
def test_the_paper_s_four_variants(backend: str, cells: int, sigma: float, width: float, signs: list[int]) -> None:
    rng = np.random.default_rng(cells)
    n = 40
    lat, lon, hour = rng.uniform(-90, 90, n), rng.uniform(-180, 180, n), rng.uniform(0, 24, n)
    scores = np.sort(rng.uniform(0.28, 0.45, n))[::-1]
    found = mc.Candidates(scores=scores, columns={"lat": lat, "lon": lon, "hour": hour})
    place, clock = mc.Place.grid(cells=cells, sigma=sigma), mc.HourOfDay("hour", sigma=width)
    asked = [mc.Wish(place, signs[0]), mc.Wish(clock, signs[1])]
    bins = [planar(lat, lon, cells, sigma), circular(hour, 24, width)]
    variants = {
        "MASCOT": ("query", True),
        "w/o Normalization": ("query", False),
        "Uniform Binning": ("uniform", True),
        "Prob-Coverage": ("uniform", False),
    }
    for name, (weight, normalize) in variants.items():
        for strength in (0.2, 0.7):
            ours = mc.rerank(found, asked, 10, mc.Mascot.paper(strength, weight, normalize), backend=backend)  # type: ignore[arg-type]
            assert ours.ids == published(scores, bins, signs, strength, 10, weight, normalize), name


def test_two_cities_by_hand() -> None:
    found = mc.Candidates(scores=[1.0, 0.9, 0.0], columns={"city": ["Rome", "Rome", "Oslo"]})
    city = mc.Category("city")
    # Relevance 1, 0.9, 0; omega of Rome 1, of Oslo 0. Spread at 0.5: 1.0, 0.95, 0 and then 0, 0.45, 0.
    ranking = mc.rerank(found, mc.spread(city), 3, mc.Mascot.paper(0.5))
    assert ranking.ids == [0, 1, 2]
    np.testing.assert_allclose(ranking.gains["relevance"], [0.5, 0.45, 0.0], atol=1e-8)
    np.testing.assert_allclose(ranking.gains["city"], [0.5, 0.0, 0.0], atol=1e-8)
    # Uniform: Oslo earns 0.5 against 0.45 for a second Rome.
    assert mc.rerank(found, mc.spread(city), 3, mc.Mascot.paper(0.5, "uniform")).ids == [0, 2, 1]
    # Focus at 0.6, peak weights: Rome's first costs 0.6 and gives 0.4, Oslo is free: the collapse, by hand.
    assert mc.rerank(found, mc.focus(city), 2, mc.Mascot.paper(0.6)).ids == [2, 0]
    # Guarded: the best stays, and its city is free from then on.
    assert mc.rerank(found, mc.focus(city), 2, mc.Mascot(0.6)).ids == [0, 1]


def test_scale_makes_strength_mean_the_same_for_every_width_and_number_of_attributes() -> None:
    rng = np.random.default_rng(0)
    n = 60
    found = mc.Candidates(
        scores=np.linspace(1, 0, n), columns={"hour": rng.uniform(0, 24, n), "who": rng.integers(0, 5, n)}
    )
    for asked in ([mc.spread(mc.HourOfDay("hour", sigma=s))] for s in (0.3, 1.5, 6.0)):
        gains = mc.rerank(found, asked, 20, mc.Mascot(1.0, protect=0)).gains["hour"]
        assert gains.max() == pytest.approx(1.0)
    twice = [mc.spread(mc.HourOfDay("hour")), mc.spread(mc.Category("who"), weight=3)]
    gains = mc.rerank(found, twice, 20, mc.Mascot(1.0, protect=0)).gains
    assert gains["hour"].max() <= 0.25 + 1e-12
    assert gains["who"].max() == pytest.approx(0.75)
