"""The native kernel selects what the reference selects: same positions, same order, on every input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mascot as mc

COMMON = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

# Few distinct values, symmetric and on the seams, so that exact and mathematical ties are common.
LATITUDES = st.sampled_from([-90.0, -47.3, -10.0, 0.0, 10.0, 35.7, 35.70001, 89.9, 90.0, np.nan])
LONGITUDES = st.sampled_from([-180.0, -179.9, -20.0, 0.0, 20.0, 139.7, 139.70001, 179.9, 180.0, 360.0])
HOURS = st.sampled_from([0.0, 1.5, 6.0, 12.0, 12.25, 18.0, 22.5, 23.75, np.nan])
NUMBERS = st.sampled_from([-1e6, -1.0, 0.0, 1.0, 2.0, 3.0, 1e6, np.nan])
LABELS = st.sampled_from(["a", "b", "c", None, ("a", "b"), ("c", "d", "e")])
MISSING = st.sampled_from(["last", "neutral", "drop"])


# Values that a focus may name, by the attribute's name.
NAMED = {
    "place": (35.7, 139.7), "hour": 18, "number": 1.0, "label": "b", "date": "2021-06-01", "season": "2020-02-29",
    "weekday": "Sunday",
}  # fmt: skip


class Own:
    """A user's attribute: rows of memberships as they come, some of them all zero."""

    name = "own"
    missing = "last"

    def membership(self, columns: Any, vectors: Any) -> Any:
        seed = np.asarray(columns["seed"], np.int64)
        table = np.random.default_rng(7).random((16, 11)) * (np.random.default_rng(8).random((16, 11)) < 0.4)
        return table[seed]

    def features(self, columns: Any, vectors: Any) -> Any:
        return self.membership(columns, vectors)


@st.composite
def attributes(draw: st.DrawFn) -> Any:
    missing = draw(MISSING)
    kind = draw(st.integers(0, 9))
    if kind == 0:
        sigma = draw(st.sampled_from([0.5, 5.0, 15.0, 60.0]))
        return mc.Place.grid(cells=draw(st.sampled_from([2, 5, 20, 31])), sigma=sigma, missing=missing)
    if kind == 1:
        # Below 50 m the rounding of a position moves a gain by more than the tolerance for ties.
        return mc.Place(sigma_km=draw(st.sampled_from([None, 0.05, 30.0, 2000.0, 9000.0])), missing=missing)
    if kind == 2:
        sigma = draw(st.sampled_from([0.3, 1.5, 9.0]))
        return mc.HourOfDay("hour", bins=draw(st.sampled_from([1, 7, 24, 48])), sigma=sigma, missing=missing)
    if kind == 3:
        return mc.Number("number", sigma=draw(st.sampled_from([None, 0.7, 1e5])), missing=missing)
    if kind == 4:
        return mc.Category("label", missing=missing)
    if kind == 5:
        return mc.Clusters(3, missing=missing)
    if kind == 6:
        return mc.Date("date", sigma_days=draw(st.sampled_from([None, 40.0])), missing=missing)
    if kind == 7:
        return mc.DayOfYear("date", missing=missing)
    if kind == 8:
        return mc.Weekday("date", missing=missing)
    return Own()


@st.composite
def wishes(draw: st.DrawFn) -> Any:
    attribute = draw(attributes())
    weight = draw(st.sampled_from([1.0, 1.0, 0.25, 3.0]))
    if draw(st.booleans()):
        return mc.spread(attribute, weight)
    near: Any = None
    within: float | None = None
    if draw(st.booleans()):
        near = NAMED.get(attribute.name)
        if near is not None and attribute.name != "label":
            within = draw(st.sampled_from([None, None, 0.5, 1000.0]))
    return mc.focus(attribute, weight, near, within)


@st.composite
def constraints(draw: st.DrawFn) -> Any:
    """A limit or a share; all shares of one attribute, so that none contradicts a limit."""
    if draw(st.booleans()):
        shares = st.sampled_from([{"a": 0.5}, {"a": 0.4, "b": 0.4}, {"c": 1.0}, {"a": 0.0}, {"nobody": 0.3}])
        return mc.share("label", draw(shares))
    attribute = draw(
        st.sampled_from([mc.HourOfDay("hour"), mc.Date("date"), mc.Weekday("date"), mc.Category("label", name="kind")])
    )
    return mc.limit(attribute, draw(st.integers(1, 4)), draw(st.booleans()))


@st.composite
def candidates(draw: st.DrawFn) -> mc.Candidates:
    n = draw(st.integers(1, 40))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    plain = st.sampled_from([0.1, 0.2, 0.3, 0.30000001, 0.9])
    pinned = st.sampled_from([0.1, 0.15, 0.2, 0.3, 0.4, 0.9, 1e3, -1e9])  # far outliers among them
    scores = column(draw(st.sampled_from([plain, st.floats(-3, 3), pinned])))
    days = column(st.sampled_from(["2019-12-31", "2020-02-29", "2021-06-01T23:59:59", "2021:06:02 00:00:00", None]))
    seed = draw(st.integers(0, 2**31))
    vectors = np.random.default_rng(seed).integers(0, 3, (n, 3)).astype(float)
    columns = {
        "lat": column(LATITUDES),
        "lon": column(LONGITUDES),
        "hour": column(HOURS),
        "number": column(NUMBERS),
        "label": column(LABELS),
        "date": days,
        "seed": np.random.default_rng(seed).integers(0, 16, n),
    }
    return mc.Candidates(scores=scores, columns=columns, vectors=vectors)


@st.composite
def methods(draw: st.DrawFn) -> mc.Mascot:
    options: dict[str, Any] = {
        "protect": draw(st.sampled_from([0, 1, 3, 50])),
        "bin_weight": draw(st.sampled_from(["uniform", "query"])),
        "normalize": draw(st.booleans()),
        "scale": draw(st.booleans()),
        "order": draw(st.sampled_from(["relevance", "selection"])),
        "balance": draw(st.booleans()),
    }
    if draw(st.integers(0, 3)) == 0:
        return mc.Mascot(keep=draw(st.sampled_from([0.5, 0.9, 0.99, 1.0])), **options)
    return mc.Mascot(draw(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])), **options)


def positions_of(ranking: mc.Ranking) -> list[int]:
    """Return positions in the order of selection, without padding."""
    return [i for i in ranking._selection.positions[0].tolist() if i >= 0]


def assert_same(slow: mc.Ranking, fast: mc.Ranking) -> None:
    assert fast.ids == slow.ids
    assert positions_of(fast) == positions_of(slow)
    assert fast.strength == slow.strength
    np.testing.assert_allclose(fast._selection.multipliers, slow._selection.multipliers, rtol=1e-9)
    np.testing.assert_allclose(fast._selection.tops, slow._selection.tops, rtol=1e-9)
    np.testing.assert_allclose(fast._selection.rooms, slow._selection.rooms, rtol=1e-9)
    assert fast._selection.stages.tolist() == slow._selection.stages.tolist()


@COMMON
@given(
    candidates(), st.lists(wishes(), max_size=4), st.lists(constraints(), max_size=2), methods(), st.integers(1, 30),
    st.data(),
)  # fmt: skip
def test_native_selects_what_the_reference_selects(
    query: mc.Candidates, asked: list[Any], quotas: list[Any], method: mc.Mascot, k: int, data: st.DataObject
) -> None:
    already = data.draw(st.lists(st.sampled_from(query.ids), max_size=5, unique=True))
    slow, fast = (
        mc.rerank(query, [*asked, *quotas], k, method, already=already, backend=backend)  # type: ignore[arg-type]
        for backend in ("numpy", "native")
    )
    assert_same(slow, fast)


@settings(COMMON, max_examples=70)
@given(
    st.lists(candidates(), min_size=1, max_size=4), st.lists(wishes(), min_size=1, max_size=3),
    st.lists(constraints(), max_size=2), methods(),
)  # fmt: skip
def test_a_batch_is_its_queries_one_by_one(
    queries: list[mc.Candidates], asked: list[Any], quotas: list[Any], method: mc.Mascot
) -> None:
    many = mc.rerank_many(queries, [*asked, *quotas], 8, method, threads=2, backend="native")
    assert len(many) == len(queries)
    for query, ranking in zip(queries, many, strict=True):
        assert_same(mc.rerank(query, [*asked, *quotas], 8, method, backend="numpy"), ranking)


def pools(lat: Any, lon: Any, hour: Any, who: Any, count: int, size: int, seed: int) -> list[mc.Candidates]:
    rng = np.random.default_rng(seed)
    queries = []
    for _ in range(count):
        rows = rng.choice(len(lat), size, replace=False)
        scores = np.sort(rng.beta(2, 5, size))[::-1]
        columns = {"lat": lat[rows], "lon": lon[rows], "hour": hour[rows], "who": who[rows]}
        queries.append(mc.Candidates(scores=scores, columns=columns))
    return queries


WISHES = {
    "spread": [mc.spread(mc.Place()), mc.spread(mc.HourOfDay("hour"))],
    "focus": [mc.focus(mc.Place()), mc.focus(mc.HourOfDay("hour"))],
    "mixed": [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("hour")), mc.spread(mc.Category("who"))],
    "grid": [mc.focus(mc.Place.grid()), mc.spread(mc.HourOfDay("hour"))],
    "near": [mc.focus(mc.Place(), near=(35.7, 139.7)), mc.spread(mc.HourOfDay("hour"))],
    "quotas": [mc.spread(mc.Place()), mc.limit("who", 2), mc.limit(mc.HourOfDay("hour"), 3, fill=True)],
    "fine": [mc.spread(mc.Place.grid(cells=400, sigma=0.4)), mc.focus(mc.Category("who"))],
}


@pytest.mark.parametrize("asked", WISHES.values(), ids=WISHES)
@pytest.mark.parametrize(
    "method", [mc.Mascot(), mc.Mascot.paper(0.4), mc.Mascot(keep=0.9)], ids=["guarded", "paper", "keep"]
)
def test_real_photographs_are_selected_alike(
    asked: list[mc.Wish],
    method: mc.Mascot,
    tokyo: list[dict[str, str]],
    dresden: list[dict[str, str]],
    div400: list[dict[str, Any]],
) -> None:
    queries = pools(
        np.array([float(row["latitude"]) for row in tokyo]),
        np.array([float(row["longitude"]) for row in tokyo]),
        np.array([row["date_taken"] for row in tokyo]),
        np.array([row["user_id"] for row in tokyo]),
        count=8, size=200, seed=1,
    )  # fmt: skip
    queries += pools(
        np.array([float(row["lat"]) for row in dresden]),
        np.array([float(row["lng"]) for row in dresden]),
        np.arange(len(dresden)) % 24,
        np.array([row["user_guid"] for row in dresden]),
        count=4, size=200, seed=2,
    )  # fmt: skip
    for topic in sorted({row["topic"] for row in div400})[:12]:
        rows = [row for row in div400 if row["topic"] == topic]
        columns = {
            name: [row[key] for row in rows]
            for name, key in (("lat", "lat"), ("lon", "lon"), ("hour", "taken"), ("who", "user"))
        }
        queries.append(mc.Candidates(scores=[1 / row["rank"] for row in rows], columns=columns))
    if method.keep is not None:  # the reference tries some thirty strengths per query
        queries = queries[::3]
    for query, ranking in zip(queries, mc.rerank_many(queries, asked, 20, method), strict=True):
        assert_same(mc.rerank(query, asked, 20, method, backend="numpy"), ranking)
