"""What a focus with `near` costs where it starts, as the page on the method says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mascot as mc

RNG = np.random.default_rng(0)
COLUMNS = {
    "hour": np.append(RNG.uniform(0, 24, 60), 19.0),
    "lat": np.append(RNG.uniform(-60, 60, 60), 38.7),
    "lon": np.append(RNG.uniform(-180, 180, 60), -9.1),
    "price": np.append(RNG.normal(0, 10, 60), 5.0),
    "camera": ["Pixel"] * 60 + ["X100"],
}


@pytest.mark.parametrize(
    ("attribute", "near", "share"),
    [
        (mc.HourOfDay("hour"), 19, 0.3),
        (mc.Number("price"), 5.0, 0.3),
        (mc.Place(), (38.7, -9.1), 0.5),
        (mc.Category("camera"), "X100", 0.0),
    ],
)
def test_what_lies_at_the_point_costs_least_but_not_always_nothing(attribute: Any, near: Any, share: float) -> None:
    found = mc.Candidates(np.ones(61), columns=COLUMNS)
    method = mc.Mascot(1.0, protect=0, order="selection")
    ranking = mc.rerank(found, mc.focus(attribute, near=near), 1, method, backend="numpy")
    assert ranking.ids == [60]
    assert ranking.gains[attribute.name][0] == pytest.approx(-share, abs=0.04)
