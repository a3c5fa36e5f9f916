"""One wrong value makes no bin as wide as the world: widths follow the candidates, outliers aside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import sigmaclip

import mascot as mc
from mascot.bins import Axis
from mascot.bins.globe import rms_chord_km
from mascot.bins.base import inliers
from mascot.kernels.constants import OUTLIER, SCALE

_RNG = np.random.default_rng(5)
_COUNT = 100
_SCORES = np.linspace(1.0, 0.5, _COUNT)
_LAT, _LON = 38.7 + 0.03 * _RNG.normal(size=_COUNT), -9.1 + 0.03 * _RNG.normal(size=_COUNT)
_PRICE = _RNG.uniform(6, 76, _COUNT)
_TAKEN = np.datetime64("2024-05-01") + _RNG.integers(0, 60 * 24 * 30, _COUNT).astype("timedelta64[m]")


def _with(values: Any, wrong: Any, at: int = 60) -> Any:
    changed = values.copy()
    changed[at] = wrong
    return changed


def _candidates(wrong: bool) -> mc.Candidates:
    columns = {"lat": _LAT, "lon": _LON, "price": _PRICE, "taken": _TAKEN}
    if wrong:
        new = (0.0, 0.0, 50_000.0, np.datetime64("1970-01-01T00:00"))
        columns = {name: _with(column, value) for (name, column), value in zip(columns.items(), new, strict=True)}
    return mc.Candidates(_SCORES, columns=columns)


@pytest.mark.parametrize(
    "wish",
    [
        mc.spread(mc.Place()),
        mc.focus(mc.Place(), near=(38.75, -9.05)),
        mc.spread(mc.Number("price")),
        mc.focus(mc.Number("price"), near=70),
        mc.spread(mc.Date("taken")),
        mc.focus(mc.Date("taken")),
    ],
    ids=str,
)
@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_one_wrong_value_leaves_the_others_where_they_were(wish: mc.Wish, backend: str) -> None:
    right, wrong = (mc.rerank(_candidates(wrong), wish, k=20, backend=backend) for wrong in (False, True))
    plain = set(range(20))
    assert set(right.positions.tolist()) != plain
    # Whether the wrong one itself is among them is its own affair: spread may well want it.
    assert len(set(right.positions.tolist()) & set(wrong.positions.tolist())) >= 17
    assert 60 not in wrong.positions or wish.sign > 0


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-10, 10), min_size=1, max_size=60),
    st.lists(st.sampled_from([-1e9, 1e6, 1e12]), max_size=2),
)
def test_all_that_is_kept_is_what_clipping_keeps(bulk: list[float], wrong: list[float]) -> None:
    values = np.array(bulk + wrong)
    kept, deviation = inliers(values[None])
    assert kept.any()
    if values.std() == 0 or deviation < 1e-3:
        return
    clipped = sigmaclip(values, OUTLIER, OUTLIER).clipped
    if len(clipped) == kept.sum():  # it goes on until nothing changes, ours stops after two
        np.testing.assert_array_equal(np.sort(values[kept]), np.sort(clipped))
        assert deviation == pytest.approx(clipped.std(), rel=1e-6)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 1e3, -1e6, 1e9, np.nan]) | st.floats(-5, 5),
        min_size=1,
        max_size=60,
    )
)
def test_native_axes_are_those_of_the_reference(values: list[float]) -> None:
    candidates = mc.Candidates(np.arange(len(values), 0, -1.0), columns={"x": values})
    for wish in (mc.spread(mc.Number("x")), mc.focus(mc.Number("x"))):
        slow, fast = (mc.rerank(candidates, wish, len(values), backend=backend) for backend in ("numpy", "native"))
        assert fast.ids == slow.ids
        # The largest first-step coverage depends on every centre and on the width.
        np.testing.assert_allclose(fast._selection.tops, slow._selection.tops, rtol=1e-9)
        np.testing.assert_allclose(fast._selection.rooms, slow._selection.rooms, rtol=1e-9)


@pytest.mark.parametrize("wrong", [[], [3], [3, 50], list(range(12))], ids=len)
def test_native_globes_are_those_of_the_reference(wrong: list[int]) -> None:
    lat, lon = _LAT.copy(), _LON.copy()
    lat[wrong], lon[wrong] = 6.0, np.degrees(np.arange(len(wrong)))
    lat[7] = lon[7] = np.nan
    valued = ~np.isnan(lat)
    width = rms_chord_km(np.radians(lat[valued]), np.radians(lon[valued])) / SCALE
    assert (width < 2) == (len(wrong) <= 2)  # a tenth of all candidates are not outliers
    candidates = mc.Candidates(_SCORES, columns={"lat": lat, "lon": lon})
    slow, fast = (mc.rerank(candidates, mc.spread(mc.Place()), 20, backend=backend) for backend in ("numpy", "native"))
    fixed = mc.rerank(candidates, mc.spread(mc.Place(sigma_km=width)), 20, backend="native")
    assert fast.ids == slow.ids == fixed.ids
    np.testing.assert_allclose(fast._selection.tops, slow._selection.tops, rtol=1e-9)
    np.testing.assert_allclose(fast._selection.tops, fixed._selection.tops, rtol=1e-9)


def test_what_is_far_out_lies_just_beyond_the_others() -> None:
    values = _with(_with(_PRICE, 1e15), -1e15, at=3)
    axis = Axis().resolve(values)
    assert axis.count < 60
    assert axis.sigma == pytest.approx(np.sqrt(2) * np.delete(values, [3, 60]).std() / SCALE)
    assert axis.floor < 6 - 10 * axis.sigma
    assert axis.ceiling > 76 + 10 * axis.sigma
    first, count = axis.window(values)
    assert (count > 0).all()
    assert first[60] + count[60] < axis.count
    found = mc.rerank(mc.Candidates(_SCORES, columns={"price": values}), mc.spread(mc.Number("price")), k=20)
    assert {3, 60} <= set(found.positions.tolist())
    told = {reason.position: reason.opened["price"] for reason in found.explain().results}
    assert all(name.startswith("above ") for name in told[60])


def test_values_that_are_all_the_same_but_one_are_told_apart() -> None:
    price = np.full(_COUNT, 0.5)
    price[60] = 0.501
    found = mc.rerank(mc.Candidates(_SCORES, columns={"price": price}), mc.spread(mc.Number("price")), k=20)
    assert 60 in found.positions
