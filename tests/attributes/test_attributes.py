"""Attributes: bins by their formula, columns of every kind, values that travel."""

from __future__ import annotations

import datetime as dt
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import mascot as mc
from mascot.attributes.columns import as_array
from mascot.bins import GlobeBins
from mascot.registry import _KINDS
from mascot.kernels.constants import CUTOFF, EARTH_KM

ALL = [
    mc.Place(),
    mc.Place(sigma_km=3.5, missing="drop"),
    mc.Place.grid("lat", "lon", cells=12, sigma=7.0),
    mc.HourOfDay("taken", bins=48),
    mc.DayOfYear("taken"),
    mc.Weekday("taken"),
    mc.Cycle("bearing", 360.0),
    mc.Date("taken", sigma_days=2.0),
    mc.Number("price"),
    mc.Category("camera", missing="neutral"),
    mc.Clusters(5, seed=3),
]


def columns(n: int = 30, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "lat": rng.uniform(-90, 90, n),
        "lon": rng.uniform(-180, 180, n),
        "taken": np.datetime64("2020-01-01") + rng.integers(0, 10**8, n).astype("timedelta64[s]"),
        "bearing": rng.uniform(0, 360, n),
        "price": rng.lognormal(size=n),
        "camera": rng.choice(["a", "b"], n).astype(object),
    }


def haversine_km(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    y1, x1, y2, x2 = np.radians([lat1, lon1, lat2, lon2])
    h = np.sin((y2 - y1) / 2) ** 2 + np.cos(y1) * np.cos(y2) * np.sin((x2 - x1) / 2) ** 2
    return float(2 * EARTH_KM * np.arcsin(np.sqrt(h)))


def chord_km(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Return the straight line through the globe between two places."""
    y1, x1, y2, x2 = np.radians([lat1, lon1, lat2, lon2])
    first = np.array([np.cos(y1) * np.cos(x1), np.cos(y1) * np.sin(x1), np.sin(y1)])
    second = np.array([np.cos(y2) * np.cos(x2), np.cos(y2) * np.sin(x2), np.sin(y2)])
    return float(EARTH_KM * np.linalg.norm(first - second))


@pytest.mark.parametrize("attribute", ALL, ids=repr)
def test_attributes_are_values(attribute: Any) -> None:
    again = mc.from_dict(attribute.to_dict())
    assert again == attribute
    assert hash(again) == hash(attribute)
    assert eval(repr(attribute), vars(mc)) == attribute
    wish = mc.spread(attribute, 2.0)
    assert mc.from_dict(wish.to_dict()) == wish


def test_every_kind_that_is_saved_is_one_of_the_library() -> None:
    for kind in _KINDS:
        assert kind in mc.__all__


@pytest.mark.parametrize(
    ("attribute", "name"),
    [
        (mc.Number("price"), "price"),
        (mc.Cycle("bearing", 360.0), "bearing"),
        (mc.Category("camera"), "camera"),
        (mc.Number("price", name="cost"), "cost"),
        (mc.Cycle("bearing", 360.0, name="view"), "view"),
    ],
)
def test_what_a_column_holds_is_called_by_the_column(attribute: Any, name: str) -> None:
    assert attribute.name == attribute.to_dict()["name"] == name
    assert mc.from_dict(attribute.to_dict()) == attribute
    bare = {key: value for key, value in attribute.to_dict().items() if key != "name"}
    assert mc.from_dict(bare).name == attribute.column


def test_two_numbers_are_told_apart_by_their_columns() -> None:
    found = mc.Candidates([0.9, 0.8, 0.7], columns={"price": [1.0, 2.0, 9.0], "likes": [3.0, 1.0, 2.0]})
    ranking = mc.rerank(found, [mc.spread(mc.Number("price")), mc.focus(mc.Number("likes"))], 2)
    assert set(ranking.gains) >= {"price", "likes"}
    assert set(ranking.explain().results[0].opened) == {"price", "likes"}


def test_the_grid_takes_what_its_kind_takes() -> None:
    made = mc.Place.grid("a", "b", 5, 3.0, missing="drop", name="where")
    assert made == mc.Grid("a", "b", 5, 3.0, "drop", "where")
    assert inspect.signature(mc.Place.grid).parameters.keys() == inspect.signature(mc.Grid).parameters.keys()
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'cell'"):
        mc.Place.grid(cell=5)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "made", [*{type(attribute): None for attribute in ALL}, mc.Branches, mc.Wish, mc.spread, mc.focus, mc.from_dict]
)
def test_every_parameter_is_described(made: Any) -> None:
    described = re.split(r"^ *(?:Parameters|Examples)\n *-+\n", inspect.getdoc(made) or "", flags=re.M)[1]
    headings = re.findall(r"^(?! )(\w+(?:, \w+)*)$", inspect.cleandoc(described), flags=re.M)
    assert ", ".join(headings).split(", ") == list(inspect.signature(made).parameters)


@pytest.mark.parametrize("attribute", ALL, ids=repr)
def test_bins_and_features_have_a_row_per_candidate(attribute: Any) -> None:
    table = columns()
    vectors = np.random.default_rng(0).normal(size=(30, 4))
    rows = attribute.membership(table, vectors).sparse()
    assert rows.rows == 30
    values = np.ones(1) if rows.values is None else rows.values
    assert ((values > 0) & (values <= 1)).all()
    assert not rows.missing().any()
    features = attribute.features(table, vectors)
    assert features.shape[0] == 30
    assert np.isfinite(features).all()


@pytest.mark.parametrize("sigma_km", [None, 0.2, 700.0, 4000.0, 30000.0])
def test_place_bins_are_gaussians_of_the_chord(sigma_km: float | None) -> None:
    table = columns(60)
    table["lat"][:4], table["lon"][:4] = [90, -90, 0, 0], [10, 20, 180, -180]
    fixed = mc.Place(sigma_km=sigma_km).membership(table, None).resolve()
    rows = fixed.sparse()
    centres = {}
    rings = fixed.rings
    for bin_ in np.unique(rows.indices):
        ring, cell = int(bin_) >> 32, int(bin_) & 0xFFFFFFFF
        cells = max(int(np.floor(2 * rings * np.cos((ring + 0.5) * np.pi / rings - np.pi / 2) + 0.5)), 1)
        centres[int(bin_)] = (-90 + (ring + 0.5) * 180 / rings, -180 + (cell + 0.5) * 360 / cells)
    for i in range(60):
        mine = dict(zip(rows.indices[rows.indptr[i] : rows.indptr[i + 1]], rows.values[rows.indptr[i] :], strict=False))
        for bin_, (lat, lon) in centres.items():
            chord = chord_km(table["lat"][i], table["lon"][i], lat, lon)
            p = np.exp(-((chord / fixed.sigma_km) ** 2) / 2)
            if p >= CUTOFF * (1 + 1e-9):
                assert mine[bin_] == pytest.approx(p, rel=1e-9)
            elif p < CUTOFF * (1 - 1e-9):
                assert bin_ not in mine


def test_place_has_no_edge() -> None:
    place = mc.Place(sigma_km=300.0)
    beside = {"lat": np.array([10.0, 10.0]), "lon": np.array([179.95, -179.95])}
    matrix = place.membership(beside, None).sparse().compact()[0].dense()
    overlap = np.minimum(matrix[0], matrix[1]).sum() / matrix.sum(axis=1).max()
    assert overlap > 0.95
    mass = place.membership({"lat": np.linspace(-90, 90, 400), "lon": np.linspace(-180, 180, 400)}, None)
    total = np.add.reduceat(mass.sparse().values, mass.sparse().indptr[:-1])
    assert total.min() / total.max() > 0.85  # no place on the globe counts for more than another


@pytest.mark.parametrize("shrink", [1.0, 1e-2, 1e-4])
def test_place_follows_its_candidates(shrink: float) -> None:
    rng = np.random.default_rng(1)
    table = {"lat": 38.7 + 20 * shrink * rng.normal(size=80), "lon": -9.1 + 20 * shrink * rng.normal(size=80)}
    resolved = mc.Place().membership(table, None).resolve()
    assert isinstance(resolved, GlobeBins)
    distances = [
        haversine_km(table["lat"][i], table["lon"][i], table["lat"][i + 1], table["lon"][i + 1]) for i in range(79)
    ]
    assert np.sqrt(np.mean(np.square(distances))) / 8 == pytest.approx(resolved.sigma_km, rel=0.25)
    scores = np.linspace(1, 0, 80)
    wide = mc.rerank(mc.Candidates(scores=scores, columns=table), mc.spread(mc.Place()), 20, mc.Mascot(1.0, protect=1))
    spots = {(round(table["lat"][i] / shrink / 8), round(table["lon"][i] / shrink / 8)) for i in wide.positions}
    assert len(spots) >= 14


def test_number_and_date_do_not_depend_on_their_unit() -> None:
    rng = np.random.default_rng(2)
    price = rng.lognormal(size=100)
    scores = rng.random(100)
    ids = []
    for unit, shift in ((1.0, 0.0), (1000.0, 0.0), (0.001, 0.0), (1.0, 1e6)):
        found = mc.Candidates(scores=scores, columns={"price": price * unit + shift})
        ids.append(mc.rerank(found, mc.spread(mc.Number("price")), 20).ids)
    assert ids[0] == ids[1] == ids[2] == ids[3]


def test_hours_wrap_at_midnight() -> None:
    found = mc.Candidates(scores=[1.0, 0.9, 0.8], columns={"hour": [23.75, 12.0, 0.25]})
    assert mc.rerank(found, mc.focus(mc.HourOfDay("hour")), 2, mc.Mascot(0.9, protect=1)).ids == [0, 2]
    assert mc.rerank(found, mc.spread(mc.HourOfDay("hour")), 2, mc.Mascot(0.9, protect=1)).ids == [0, 1]


def test_times_of_every_kind_are_the_same_time() -> None:
    moment = dt.datetime(2019, 7, 14, 18, 5, 33)
    zone = dt.timezone(dt.timedelta(hours=9))
    spelled: list[Any] = [
        [moment],
        [moment.replace(tzinfo=zone)],
        ["2019-07-14T18:05:33"],
        ["2019-07-14 18:05"],
        ["2019:07:14 18:05:33"],
        ["2019-07-14T18:05:33.25+09:00"],
        ["2019-07-14T18:05:33Z"],
        [pd.Timestamp(moment)],
        np.array(["2019-07-14T18:05:33"], "datetime64[ns]"),
        pd.Series([moment]),
        pl.Series([moment]),
        pa.array([moment]),
        pa.chunked_array([[moment]]),
    ]
    for column in spelled:
        table = {"taken": as_array(column)}
        assert mc.HourOfDay().membership(table, None).values[0] == pytest.approx([18 + 5 / 60])
        assert mc.Date().membership(table, None).values[0] == pytest.approx([18091.75], abs=0.01)
        assert mc.Weekday().membership(table, None).values[0] == [6.0]
        assert mc.DayOfYear().membership(table, None).values[0] == [194.0]
    assert mc.HourOfDay().membership({"taken": as_array([18.5, None, "nan"][:2])}, None).values[0][0] == 18.5
    assert mc.HourOfDay().membership({"taken": as_array([dt.time(18, 30)])}, None).values[0] == [18.5]


@pytest.mark.parametrize("missing", [None, "", "  ", "0000:00:00 00:00:00", "2021-02-30", float("nan"), pd.NaT])
def test_missing_and_impossible_times_are_missing(missing: Any) -> None:
    assert mc.Date().membership({"taken": as_array(["2020-01-01", missing])}, None).missing().tolist() == [False, True]


@pytest.mark.parametrize("library", ["list", "numpy", "pandas", "polars", "arrow", "chunked"])
def test_columns_of_every_library(library: str) -> None:
    number, text, many = [1.5, None, 3.0], ["a", None, "b"], [["a", "b"], [], ["c"]]
    make: Any = {
        "list": lambda values: values,
        "numpy": lambda values: np.array(values, dtype=object) if None in values else as_array(values),
        "pandas": pd.Series,
        "polars": pl.Series,
        "arrow": pa.array,
        "chunked": lambda values: pa.chunked_array([values[:1], values[1:]]),
    }[library]
    found = mc.Candidates(
        scores=make([0.3, 0.2, 0.1]), columns={"number": make(number), "text": make(text), "many": make(many)}
    )
    assert mc.Number("number").membership(found.columns, None).missing().tolist() == [False, True, False]
    assert mc.Category("text").membership(found.columns, None).missing().tolist() == [False, True, False]
    labels = mc.Category("many").membership(found.columns, None)
    assert np.diff(labels.indptr).tolist() == [2, 0, 1]
    assert labels.missing().tolist() == [False, True, False]


def test_labels_are_any_hashable_values() -> None:
    mixed = [1, "1", (1, 2), frozenset({3}), dt.date(2020, 1, 1), True]
    labels = mc.Category("x").membership({"x": as_array(mixed)}, None)
    names = {labels.name(bin_) for bin_ in range(labels.count)}
    assert {"1", "2", "3", "2020-01-01"} <= names


def test_bins_have_readable_names() -> None:
    found = mc.Candidates(
        scores=[1, 0.5],
        columns={
            "lat": [35.68, -33.9],
            "lon": [139.7, 18.4],
            "taken": ["2020-03-08T18:10", "2021-11-02T09:00"],
            "who": ["Ana", "Bo"],
        },
    )
    asked = [
        mc.spread(a) for a in (mc.Place(sigma_km=10), mc.HourOfDay(), mc.Weekday(), mc.DayOfYear(), mc.Category("who"))
    ]
    reason = mc.rerank(found, [*asked, mc.spread(mc.Place.grid())], 2, mc.Mascot(0.5, protect=0)).explain().results[0]
    assert reason.opened["place"][0].startswith("35.")
    assert reason.opened["place"][0].endswith("E")
    assert "18 h" in reason.opened["hour"]
    assert "Sunday" in reason.opened["weekday"]
    assert reason.opened["who"] == ["Ana"]
    assert any("Mar" in name for name in reason.opened["season"])
    assert "33.2 N 142.1 E" in reason.opened["place 2"]


def test_clusters_group_what_looks_alike() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 16)) * 5
    label = np.repeat(np.arange(4), 10)
    vectors = centres[label] + rng.normal(size=(40, 16)) * 0.1
    found = mc.Candidates(scores=np.linspace(1, 0, 40), vectors=vectors)
    spread = mc.rerank(found, mc.spread(mc.Clusters(4)), 4, mc.Mascot(0.9, protect=3))
    assert len(set(label[spread.positions])) == 2  # three are protected, all of the first group
    assert len(set(label[mc.rerank(found, mc.spread(mc.Clusters(4)), 4, mc.Mascot(0.9, protect=1)).positions])) == 4
    vectors[3] = np.nan
    rows = mc.Clusters(4).membership({}, vectors)
    assert rows.missing().tolist() == [i == 3 for i in range(40)]


def test_scipy_sparse_memberships_are_taken_as_they_are() -> None:
    sparse = pytest.importorskip("scipy.sparse")

    class Tags:
        name = "tags"

        def membership(self, columns: Any, vectors: Any) -> Any:
            return sparse.csr_matrix(columns["tags"])

        def features(self, columns: Any, vectors: Any) -> Any:
            return columns["tags"]

    tags = np.array([[1.0, 0, 0], [1, 0, 0], [0, 0.5, 0.5]])
    found = mc.Candidates(scores=[0.9, 0.8, 0.7], columns={"tags": tags})
    assert mc.rerank(found, mc.spread(Tags()), 2, mc.Mascot(0.8, protect=1)).ids == [0, 2]


def test_clusters_of_a_column_of_vectors() -> None:
    rng = np.random.default_rng(3)
    label = np.repeat([0, 1, 2], 6)
    shapes = np.eye(3)[label] + rng.normal(0, 0.01, (18, 3))
    found = mc.Candidates(np.linspace(1, 0, 18), columns={"shape": shapes})
    ranking = mc.rerank(found, mc.spread(mc.Clusters(3, column="shape")), 3, mc.Mascot(0.9, protect=1))
    assert set(label[ranking.positions]) == {0, 1, 2}
    with pytest.raises(mc.InputError, match=r"Clusters needs column 'none', got columns: shape"):
        mc.rerank(found, mc.spread(mc.Clusters(3, column="none")), 3)
    flat = mc.Candidates([2, 1], columns={"x": [1.0, 2.0]})
    with pytest.raises(mc.InputError, match=r"column 'x' must hold vectors, N x D numbers, got 1 dimension"):
        mc.rerank(flat, mc.spread(mc.Clusters(2, column="x")), 2)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: mc.Clusters(2, seed=-1), "Clusters.seed must be a whole number >= 0, got -1"),
        (lambda: mc.Place(sigma_km=1e-300), "Place.sigma_km must be >= 0.001, a metre, got 1e-300"),
        (lambda: mc.HourOfDay().point("25:99"), "HourOfDay near must be an hour like 18 or 18:30, got '25:99'"),
    ],
)
def test_values_that_cannot_be_are_refused_in_our_words(made: Callable[[], object], said: str) -> None:
    with pytest.raises(mc.OptionError) as caught:
        made()
    assert str(caught.value) == said


def test_a_point_beyond_all_numbers_is_only_far_away() -> None:
    found = mc.Candidates([3, 2, 1], columns={"x": [1.0, 2.0, 30.0]})
    assert len(mc.rerank(found, mc.focus(mc.Number("x"), near=1e99), 3)) == 3


@pytest.mark.parametrize("lat", [90.0, -90.0, 89.9999999, 89.5, -88.0, 70.0])
@pytest.mark.parametrize("sigma_km", [0.01, 30.0, 300.0, 2000.0])
def test_native_bins_reach_round_the_poles(lat: float, sigma_km: float) -> None:
    for lon in (0.0, 12.3, 180.0):
        candidates = mc.Candidates([2.0, 1.0], columns={"lat": [lat, lat], "lon": [lon, lon + 1e-6]})
        wish = mc.focus(mc.Place(sigma_km=sigma_km))
        slow, fast = (mc.rerank(candidates, wish, 2, backend=backend)._selection for backend in ("numpy", "native"))
        np.testing.assert_allclose(fast.tops, slow.tops, rtol=1e-9)
