"""The native kernel selects what the reference selects: same positions, same order, on every input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.attributes import Clusters
from mascot.kernels import native
from mascot.wishes import Share

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernel")
COMMON = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

# Values that a focus may name, by the attribute's name.
NAMED = {
    "place": (35.7, 139.7), "hour": 18, "number": 1.0, "label": "b", "date": "2021-06-01", "season": "2020-02-29",
    "weekday": "Sunday", "vectors": (1.0, 2.0, 0.0),
}  # fmt: skip


class Own:
    """A user's attribute: rows of memberships as they come, some of them all zero."""

    name = "own"
    missing = "last"

    def membership(self, columns: Any, vectors: Any) -> Any:
        seed = np.asarray(columns["seed"], np.int64)
        table = np.random.default_rng(7).random((16, 11)) * (np.random.default_rng(8).random((16, 11)) < 0.4)
        return table[seed]


def of(*values: Any) -> Any:
    return st.sampled_from(values)


MISSING = of("last", "neutral", "drop")

ATTRIBUTES = st.one_of(
    st.builds(mc.Place.grid, cells=of(2, 5, 20, 31), sigma=of(0.5, 5.0, 15.0, 60.0), missing=MISSING),
    # Below 50 m the rounding of a position moves a gain by more than the tolerance for ties.
    st.builds(mc.Place, sigma_km=of(None, 0.05, 30.0, 2000.0, 9000.0), missing=MISSING),
    st.builds(mc.HourOfDay, of("hour"), bins=of(1, 7, 24, 48), sigma=of(0.3, 1.5, 9.0), missing=MISSING),
    st.builds(mc.Number, of("number"), sigma=of(None, 0.7, 1e5), missing=MISSING),
    st.builds(mc.Category, of("label"), missing=MISSING),
    st.builds(Clusters, of(3), missing=MISSING),
    st.builds(mc.Date, of("date"), sigma_days=of(None, 40.0), missing=MISSING),
    st.builds(mc.DayOfYear, of("date"), missing=MISSING),
    st.builds(mc.Weekday, of("date"), missing=MISSING),
    st.builds(Own),
    st.builds(mc.Vectors, missing=MISSING),
)


# Few distinct values, symmetric and on the seams, so that exact and mathematical ties are common.
COLUMNS = {
    "lat": (-90.0, -47.3, -10.0, 0.0, 10.0, 35.7, 35.70001, 89.9, 90.0, np.nan),
    "lon": (-180.0, -179.9, -20.0, 0.0, 20.0, 139.7, 139.70001, 179.9, 180.0, 360.0),
    "hour": (0.0, 1.5, 6.0, 12.0, 12.25, 18.0, 22.5, 23.75, np.nan),
    "number": (-1e6, -1.0, 0.0, 1.0, 2.0, 3.0, 1e6, np.nan),
    "label": ("a", "b", "c", None, ("a", "b"), ("c", "d", "e")),
    "date": ("2019-12-31", "2020-02-29", "2021-06-01T23:59:59", "2021:06:02 00:00:00", None),
}


@st.composite
def wishes(draw: st.DrawFn) -> Any:
    attribute = draw(ATTRIBUTES)
    weight = draw(st.sampled_from([1.0, 1.0, 0.25, 3.0]))
    direction = draw(st.sampled_from(["spread", "spread", "focus", "near"]))
    if direction == "spread":
        return mc.spread(attribute, weight)
    near = NAMED.get(attribute.name) if direction == "near" else None
    measured = near is not None and attribute.name != "label"
    return mc.focus(attribute, weight, near, draw(st.sampled_from([None, None, 0.5, 1000.0])) if measured else None)


@st.composite
def constraint(draw: st.DrawFn) -> Any:
    """Return a limit, a share or a minimum; all shares are of one attribute, so that none contradicts a limit."""
    kind = draw(of("share", "limit", "limit", "limit", "window", "first", "copies", "at_least"))
    if kind == "share":
        bound = draw(of("exactly", "exactly", "at least", "at most"))
        parts = draw(of({"a": 0.5}, {"a": 0.4, "b": 0.4}, {"c": 1.0}, {"a": 0.0}, {"nobody": 0.3}))
        return mc.share("label", parts, bound)
    if kind == "copies":
        vectors = mc.Vectors(copies=draw(of(0.9, 0.6)))
        return mc.limit(vectors, draw(st.integers(1, 3)), draw(st.booleans()), session=draw(st.booleans()))
    hour, day, weekday = mc.HourOfDay("hour"), mc.Date("date"), mc.Weekday("date")
    attribute = draw(of(hour, day, weekday, mc.Category("label", name="kind")))
    if kind == "at_least":
        return mc.at_least(mc.Category("label", name="needed"), draw(of({"a": 1}, {"b": 1, "c": 1})))
    if kind == "limit":
        return mc.limit(attribute, draw(st.integers(1, 4)), draw(st.booleans()), session=draw(st.booleans()))
    n = draw(st.integers(kind == "window", 3))
    length = n + draw(st.integers(1, 5))
    return mc.limit(attribute, n, **{kind: length})


def constraints(most: int = 3) -> st.SearchStrategy[list[Any]]:
    """Return rules; two shares name different values, of at most all results together."""

    def agree(drawn: list[Any]) -> bool:
        shares = [wish.shares for wish in drawn if isinstance(wish, Share)]
        values = [value for part in shares for value in part]
        return len(values) == len(set(values)) and sum(sum(part.values()) for part in shares) <= 1

    return st.lists(constraint(), max_size=most).filter(agree)


@st.composite
def candidates(draw: st.DrawFn) -> mc.Candidates:
    n, rng = draw(st.integers(1, 40)), np.random.default_rng(draw(st.integers(0, 2**31)))
    columns = {name: [values[i] for i in rng.integers(0, len(values), n)] for name, values in COLUMNS.items()}
    pinned = (0.1, 0.15, 0.2, 0.3, 0.4, 0.9, 1e3, -1e9)  # far outliers among them
    scores = rng.choice(draw(of((0.1, 0.2, 0.3, 0.30000001, 0.9), rng.uniform(-3, 3, 40), pinned)), n)
    vectors = rng.integers(0, 3, (n, 3)).astype(float)
    vectors[rng.random(n) < draw(of(0.0, 0.0, 0.2, 1.0))] = np.nan
    return mc.Candidates(scores, columns={**columns, "seed": rng.integers(0, 16, n)}, vectors=vectors)


@st.composite
def methods(draw: st.DrawFn) -> mc.Mascot:
    strength, keep = draw(st.tuples(of(0.0, 0.1, 0.5, 0.9, 1.0), of(*[None] * 9, 0.5, 0.9, 1.0)))
    protect, weight, order = draw(st.tuples(of(0, 1, 3, 50), of("uniform", "query"), of("relevance", "selection")))
    normalize, scale, balance = draw(st.tuples(*[of(True, True, False)] * 3))
    strength = strength if keep is None else None
    return mc.Mascot(strength, protect, weight, normalize, scale, order, keep, balance)


def assert_same(slow: mc.Ranking, fast: mc.Ranking) -> None:
    """Compare the results of numpy and the kernel, and their logs if the kernel wrote one."""
    assert fast.ids == slow.ids
    assert fast.strength == slow.strength
    ours, theirs = fast._selection, slow._selection
    assert ours.positions[ours.positions >= 0].tolist() == theirs.positions[theirs.positions >= 0].tolist()
    for own, other in [(ours.page(0), theirs.page(0))] if len(slow._scores) else ():
        assert own is not None
        assert other is not None
        assert own.level == other.level
        assert [entry[:1] + entry[3:] for entry in own.log] == [entry[:1] + entry[3:] for entry in other.log]
        for entry, expected in zip(own.log, other.log, strict=True):
            np.testing.assert_allclose(entry.gains, expected.gains, rtol=1e-9, atol=1e-9 * (1 + scale_of(other)))
            assert entry.relevance == expected.relevance


def scale_of(page: Any) -> float:
    """Return the largest gain by a wish on a page."""
    return max((abs(gain) for entry in page.log for gain in entry.gains), default=0.0)


@settings(COMMON, suppress_health_check=[*HealthCheck])
@given(candidates(), st.lists(wishes(), max_size=4), constraints(), methods(), st.integers(1, 30), st.data())
def test_the_kernel_selects_what_numpy_selects(
    query: mc.Candidates, asked: list[Any], rules: list[Any], method: mc.Mascot, k: int, data: st.DataObject
) -> None:
    already = data.draw(st.lists(st.sampled_from(query.ids), max_size=8, unique=True))
    pinned = data.draw(st.one_of(st.just([]), st.lists(st.sampled_from(query.ids), max_size=min(k, 4), unique=True)))
    places = data.draw(st.permutations(range(1, k + 1)))[: len(pinned)]
    pin = data.draw(of(pinned, dict(zip(pinned, places, strict=True))))
    wishes = [*asked, *rules]
    try:
        slow = mc.rerank(query, wishes, k, method, already, "numpy", pin=pin)
    except mc.MascotError:  # pins that contradict a rule, or rules that contradict each other
        assume(False)
    assert_same(slow, mc.rerank(query, wishes, k, method, already, "native", pin=pin))


@settings(COMMON, max_examples=20)
@given(
    st.lists(candidates(), min_size=1, max_size=4), st.lists(wishes(), min_size=1, max_size=3), constraints(), methods()
)
def test_a_batch_is_its_queries_one_by_one(
    queries: list[mc.Candidates], asked: list[Any], rules: list[Any], method: mc.Mascot
) -> None:
    try:
        many = mc.rerank_many(queries, [*asked, *rules], 8, method, threads=2, backend="native")
    except mc.MascotError:
        assume(False)
    for query, positions in zip(queries, many.positions.tolist(), strict=True):
        expected = mc.rerank(query, [*asked, *rules], 8, method, backend="numpy").positions.tolist()
        assert [i for i in positions if i >= 0] == expected


@pytest.fixture(scope="module")
def photographs(
    tokyo: list[dict[str, str]], dresden: list[dict[str, str]], div400: list[dict[str, Any]]
) -> list[mc.Candidates]:
    """Return real searches, and real photographs with random scores."""
    queries = []
    rng = np.random.default_rng(1)
    names = ("lat", "lon", "hour", "who")
    tables = {("latitude", "longitude", "date_taken", "user_id"): tokyo, ("lat", "lng", "guid", "user_guid"): dresden}
    for keys, table in tables.items():
        for rows in (rng.choice(len(table), 200, replace=False) for _ in range(2)):
            columns = {name: [table[i][key] for i in rows] for name, key in zip(names, keys, strict=True)}
            columns["hour"] = columns["hour"] if "date_taken" in keys else rows % 24
            queries.append(mc.Candidates(np.sort(rng.beta(2, 5, 200))[::-1], columns=columns))
    for topic in sorted({row["topic"] for row in div400})[:4]:
        rows = [row for row in div400 if row["topic"] == topic]
        keys = dict(zip(names, ("lat", "lon", "taken", "user"), strict=True))
        columns = {name: [row[key] for row in rows] for name, key in keys.items()}
        queries.append(mc.Candidates([1 / row["rank"] for row in rows], columns=columns))
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


ON_PHOTOGRAPHS = [(name, mc.Mascot()) for name in WISHES]
ON_PHOTOGRAPHS += [("mixed", mc.Mascot.paper(0.4)), ("grid", mc.Mascot.paper(0.4)), ("mixed", mc.Mascot(keep=0.9))]


@pytest.mark.parametrize(("name", "method"), ON_PHOTOGRAPHS)
def test_real_photographs_are_selected_alike(name: str, method: mc.Mascot, photographs: list[mc.Candidates]) -> None:
    wishes = WISHES[name]
    queries = photographs if method.keep is None else photographs[::3]  # the reference tries some thirty strengths
    for query, positions in zip(queries, mc.rerank_many(queries, wishes, 20, method).positions.tolist(), strict=True):
        expected = mc.rerank(query, wishes, 20, method, backend="numpy").positions.tolist()
        assert [i for i in positions if i >= 0] == expected


@pytest.mark.parametrize("seed", [1, 20, 27, 30])
def test_a_missing_hour_among_the_leaders_is_like_those_on_both_sides_of_midnight(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hours = np.where(rng.random(40) < 0.2, np.nan, rng.uniform(0, 24, 40))
    candidates = mc.Candidates(rng.uniform(0.2, 0.5, 40), columns={"hour": hours})
    wish, method = mc.focus(mc.HourOfDay("hour", missing="neutral")), mc.Mascot(0.3)
    numpy, kernel = (mc.rerank(candidates, wish, 10, method, backend=backend) for backend in ("numpy", "native"))
    assert kernel.positions.tolist() == numpy.positions.tolist()
