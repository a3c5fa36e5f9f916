"""One wrong value makes no bin as wide as the world: widths follow the candidates, outliers aside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.bins import Axis
from mascot.bins.globe import rms_chord_km
from mascot.kernels.constants import SCALE
from mascot.wishes import Wish

_RNG = np.random.default_rng(5)
_COUNT = 100
_SCORES = np.linspace(1.0, 0.5, _COUNT)
_COLUMNS = {
    "lat": 38.7 + 0.03 * _RNG.normal(size=_COUNT),
    "lon": -9.1 + 0.03 * _RNG.normal(size=_COUNT),
    "price": _RNG.uniform(6, 76, _COUNT),
    "taken": np.datetime64("2024-05-01") + _RNG.integers(0, 60 * 24 * 30, _COUNT).astype("timedelta64[m]"),
}
_WRONG = {"lat": 0.0, "lon": 0.0, "price": 50_000.0, "taken": np.datetime64("1970-01-01T00:00")}


@pytest.mark.parametrize(
    "wish", [mc.spread(mc.Place()), mc.focus(mc.Place(), near=(38.75, -9.05)), mc.spread(mc.Number("price"))], ids=str
)
def test_one_wrong_value_leaves_the_others_where_they_were(wish: Wish) -> None:
    spoilt = {name: column.copy() for name, column in _COLUMNS.items()}
    for name, value in _WRONG.items():
        spoilt[name][60] = value
    right, wrong = (
        set(mc.rerank(mc.Candidates(_SCORES, columns=columns), wish, k=20).ids) for columns in (_COLUMNS, spoilt)
    )
    assert right != set(range(20))
    assert len(right & wrong) >= 17  # spread may well want the wrong one
    assert 60 not in wrong or wish.sign > 0


def agree(columns: dict[str, Any], wish: Wish, k: int) -> mc.Ranking:
    """Rank with both backends, which must have the same bins."""
    candidates = mc.Candidates(np.arange(len(next(iter(columns.values()))), 0, -1.0), columns=columns)
    slow, fast = (mc.rerank(candidates, wish, k, backend=backend) for backend in ("numpy", "native"))
    assert fast.ids == slow.ids
    for name, gains in slow.gains.items():  # they depend on every centre and on the width
        np.testing.assert_allclose(fast.gains[name], gains, rtol=1e-9, atol=1e-12)
    return fast


NUMBERS = st.sampled_from([0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 1e3, -1e6, 1e9, np.nan]) | st.floats(-5, 5)


@settings(max_examples=30)
@given(st.lists(NUMBERS, min_size=1, max_size=40))
def test_native_axes_are_those_of_the_reference(values: list[float]) -> None:
    for wish in (mc.spread(mc.Number("x")), mc.focus(mc.Number("x"))):
        agree({"x": values}, wish, len(values))


@pytest.mark.parametrize("wrong", [[], [3, 50], list(range(12))], ids=len)
def test_native_globes_are_those_of_the_reference(wrong: list[int]) -> None:
    lat, lon = _COLUMNS["lat"].copy(), _COLUMNS["lon"].copy()
    lat[wrong], lon[wrong] = 6.0, np.degrees(np.arange(len(wrong)))
    lat[7] = lon[7] = np.nan
    valued = ~np.isnan(lat)
    width = rms_chord_km(np.radians(lat[valued]), np.radians(lon[valued])) / SCALE
    assert (width < 2) == (len(wrong) <= 2)  # a tenth of all candidates are not outliers
    open_, fixed = (agree({"lat": lat, "lon": lon}, mc.spread(mc.Place(sigma_km=w)), 20) for w in (None, width))
    assert open_.ids == fixed.ids
    np.testing.assert_allclose(open_.gains["place"], fixed.gains["place"], rtol=1e-9, atol=1e-12)


def test_what_is_far_out_lies_just_beyond_the_others() -> None:
    values = _COLUMNS["price"].copy()
    values[[60, 3]] = 1e15, -1e15
    axis = Axis().resolve(values)
    assert axis.count < 60
    assert axis.sigma == pytest.approx(np.sqrt(2) * np.delete(values, [3, 60]).std() / SCALE)
    page = mc.rerank(mc.Candidates(_SCORES, columns={"price": values}), mc.spread(mc.Number("price")), k=20)
    opened = {reason.position: reason.opened["price"] for reason in page.explain().results}
    assert {3, 60} <= set(opened)
    assert all(name.startswith("above ") for name in opened[60])


def test_one_value_among_equal_ones_stands_out() -> None:
    price = np.full(_COUNT, 0.5)
    price[60] = 0.501
    assert 60 in mc.rerank(mc.Candidates(_SCORES, columns={"price": price}), mc.spread(mc.Number("price")), k=20).ids
