"""Attributes: bins by their formula, values that travel, names, and the user's own."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot import attributes
from mascot.attributes import Clusters, Cycle
from mascot.attributes.columns import as_array
from mascot.kernels.constants import CUTOFF, EARTH_KM

ALL = [
    mc.Place(), mc.Place(sigma_km=3.5, missing="drop"), mc.Place.grid("lat", "lon", cells=12, sigma=7.0),
    mc.HourOfDay("taken", bins=48), mc.DayOfYear("taken"), mc.Weekday("taken"), Cycle("bearing", 360.0),
    mc.Date("taken", sigma_days=2.0), mc.Number("price"), mc.Category("camera", missing="neutral"),
    Clusters(5, seed=3),
]  # fmt: skip


def columns(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "lat": rng.uniform(-90, 90, n), "lon": rng.uniform(-180, 180, n), "bearing": rng.uniform(0, 360, n),
        "taken": np.datetime64("2020-01-01") + rng.integers(0, 10**8, n).astype("timedelta64[s]"),
        "price": rng.lognormal(size=n), "camera": rng.choice(["a", "b"], n).astype(object),
    }  # fmt: skip


@pytest.mark.parametrize("attribute", ALL, ids=repr)
def test_attributes_are_values_with_a_row_of_bins_and_features_per_candidate(attribute: Any) -> None:
    again = mc.from_dict(attribute.to_dict())
    assert again == attribute
    assert hash(again) == hash(attribute)
    assert eval(repr(attribute), vars(attributes)) == attribute
    assert mc.from_dict(mc.spread(attribute, 2.0).to_dict()) == mc.spread(attribute, 2.0)
    table, vectors = columns(30), np.random.default_rng(0).normal(size=(30, 4))
    rows = attribute.membership(table, vectors).sparse()
    assert rows.rows == 30
    values = np.ones(1) if rows.values is None else rows.values
    assert ((values > 0) & (values <= 1)).all()
    assert not rows.missing().any()
    features = attribute.features(table, vectors)
    assert features.shape[0] == 30
    assert np.isfinite(features).all()


def on_globe(lat: Any, lon: Any) -> Any:
    """Return the unit vectors of places."""
    return mc.Place().features({"lat": np.asarray(lat, float), "lon": np.asarray(lon, float)}, None)


@pytest.mark.parametrize("sigma_km", [None, 0.2, 30000.0])
def test_place_bins_are_gaussians_of_the_chord(sigma_km: float | None) -> None:
    table = columns(20)
    table["lat"][:4], table["lon"][:4] = [90, -90, 0, 0], [10, 20, 180, -180]
    fixed = mc.Place(sigma_km=sigma_km).membership(table, None).resolve()
    rows, used = fixed.sparse().compact()
    rings, ring, cell = fixed.rings, used >> 32, used & 0xFFFFFFFF
    cells = np.maximum(np.floor(2 * rings * np.cos((ring + 0.5) * np.pi / rings - np.pi / 2) + 0.5), 1)
    centres = on_globe(-90 + (ring + 0.5) * 180 / rings, -180 + (cell + 0.5) * 360 / cells)
    points = on_globe(table["lat"], table["lon"])
    chords = EARTH_KM * np.linalg.norm(points[:, None] - centres, axis=-1)
    p, bins = np.exp(-((chords / fixed.sigma_km) ** 2) / 2), rows.dense()
    within = p >= CUTOFF * (1 + 1e-9)
    np.testing.assert_allclose(bins[within], p[within], rtol=1e-9)
    assert not bins[p < CUTOFF * (1 - 1e-9)].any()


def test_number_does_not_depend_on_its_unit() -> None:
    rng = np.random.default_rng(2)
    price, scores = rng.lognormal(size=100), rng.random(100)
    pages = []
    for unit, shift in ((1.0, 0.0), (1000.0, 0.0), (0.001, 0.0), (1.0, 1e6)):
        candidates = mc.Candidates(scores, columns={"price": price * unit + shift})
        pages.append(mc.rerank(candidates, mc.spread(mc.Number("price")), 20).ids)
    assert pages[0] == pages[1] == pages[2] == pages[3]


def test_bins_have_readable_names() -> None:
    table = {"lat": [35.68, -33.9], "lon": [139.7, 18.4], "taken": ["2020-03-08T18:10", "2021-11-02T09:00"]}
    candidates = mc.Candidates([1, 0.5], columns={**table, "who": ["Ana", "Bo"]})
    attributes = (
        mc.Place(sigma_km=10),
        mc.HourOfDay(),
        mc.Weekday(),
        mc.DayOfYear(),
        mc.Category("who"),
        mc.Place.grid(),
    )
    opened = mc.rerank(candidates, list(map(mc.spread, attributes)), 2, protect=0).explain().results[0].opened
    assert re.fullmatch(r"35\.\d+ N 139\.\d+ E", opened["place"][0])
    assert "18 h" in opened["hour"]
    assert "Sunday" in opened["weekday"]
    assert opened["who"] == ["Ana"]
    assert any("Mar" in name for name in opened["season"])
    assert "33.2 N 142.1 E" in opened["place 2"]
    mixed = mc.Category("x").membership({"x": as_array([1, "1", (1, 2), frozenset({3}), True])}, None)
    assert {"1", "2", "3"} <= {mixed.name(bin_) for bin_ in range(mixed.count)}


class Bins:
    """An attribute of the user's own, whose bins are given."""

    name = "bins"

    def __init__(self, rows: Any, missing: str = "last") -> None:
        self.rows, self.missing = rows, missing

    def membership(self, columns: Any, vectors: Any) -> Any:
        return self.rows


def ids(attribute: Any, backend: Any) -> list[Any]:
    candidates = mc.Candidates([0.9, 0.8, 0.7, 0.6, 0.5])
    return mc.rerank(candidates, mc.focus(attribute), 5, mc.Mascot(0.9, protect=1), backend=backend).ids


@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array"])
def test_a_row_of_stored_zeros_is_missing_and_the_matrix_stays(kind: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    at = np.array([0, 0, 1, 2, 3, 4])  # the first value stands there twice, in halves
    matrix = sparse.coo_matrix((np.array([0.5, 0.5, 1, 0, 1, 1]), (at, at)), (5, 5))
    if kind == "csr_matrix":  # a conversion would add up the halves
        matrix = sparse.csr_matrix((matrix.data, at, np.array([0, 2, 3, 4, 5, 6])), (5, 5))
    matrix = getattr(sparse, kind)(matrix)
    before = matrix.data.copy()
    member = mc.focus(Bins(matrix)).bins({}, None, 5)
    assert member.missing().tolist() == [False, False, True, False, False]
    assert member.sparse().values.tolist() == [1.0] * 4
    assert matrix.data.tolist() == before.tolist()
    for backend in ("numpy", "native"):
        assert [2 in ids(Bins(matrix, rule), backend) for rule in ("last", "neutral", "drop")] == [True, True, False]
        assert ids(Bins(matrix), backend) == ids(Bins(matrix.toarray()), backend)
