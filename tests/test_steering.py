"""Limits, shares, pins, balance and outliers: what was asked for holds, whatever the data."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.wishes import Wish

COMMON = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
SELLERS = ("a", "b", "c", "d", None, ("a", "b"), ("c", "d", "e"))
BACKENDS: tuple[Any, ...] = ("numpy", "native")


@st.composite
def candidates(draw: st.DrawFn, sellers: Any = SELLERS) -> mc.Candidates[int]:
    count, rng = draw(st.integers(1, 40)), np.random.default_rng(draw(st.integers(0, 2**31)))
    columns = {
        "seller": [sellers[i] for i in rng.integers(0, len(sellers), count)],
        "region": rng.choice(np.array(["north", "south", "west", None]), count),
        "hour": rng.choice([0.0, 6.0, 12.0, 18.0, 23.5, np.nan], count),
    }
    scores = rng.choice([0.1, 0.2, 0.3, 0.5, 0.9, 40.0], count)
    return mc.Candidates(scores, columns=columns, vectors=rng.normal(size=(count, 3)))


METHODS = st.sampled_from(
    [
        mc.Mascot(), mc.Mascot(1.0, protect=50), mc.Mascot(0.0), mc.Mascot(keep=0.9), mc.Mascot.paper(0.5), mc.Mmr(0.4),
        mc.Mmr(1.0), mc.Relevance(),
    ]
)  # fmt: skip
NEAR = [mc.spread(mc.HourOfDay("hour")), mc.focus("region", near="south")]
OTHERS = st.sampled_from([[], [mc.spread("seller")], NEAR, [mc.spread("region"), mc.spread("seller", 0.3)]])


def labels_of(value: Any) -> tuple[str, ...]:
    return () if value is None else value if isinstance(value, tuple) else (value,)


def counts(page: mc.Ranking[int], column: list[Any]) -> Counter[str]:
    return Counter(label for i in page.positions for label in labels_of(column[i]))


def both(query: mc.Candidates[int], wishes: Any, k: int, method: Any, already: Any = None) -> mc.Ranking[int]:
    slow, fast = (mc.rerank(query, wishes, k, method, already, backend) for backend in BACKENDS)
    assert fast.ids == slow.ids
    assert fast.strength == slow.strength
    assert len(set(slow.ids)) == len(slow.ids)
    return fast


CROWDED: mc.Candidates[int] = mc.Candidates(  # with keep, filling led to another strength, which exceeds the limit
    [0.9, 0.9, 0.1, 0.2, 0.2], columns={"seller": ["d", "b", ("a", "b"), "a", "b"], "hour": np.zeros(5)}
)


@COMMON
@given(candidates(), OTHERS, st.integers(1, 3), st.integers(1, 15), METHODS, st.sets(st.integers(0, 39), max_size=5))
@example(CROWDED, [mc.spread("seller")], 1, 3, mc.Mascot(keep=0.9), set())
def test_a_limit_is_never_exceeded_and_fill_completes_the_list(
    query: mc.Candidates[int], others: list[Wish], n: int, k: int, method: Any, earlier: set[int]
) -> None:
    sellers = list(query.columns["seller"])
    already = [id_ for id_ in query.ids if id_ in earlier]
    page = both(query, [*others, mc.limit("seller", n)], k, method, already)
    taken = counts(page, sellers)
    assert max(taken.values(), default=0) <= n
    assert not set(page.ids) & set(already)
    if len(page) < k:  # every candidate that is left has a value that is full
        left = set(range(len(query))) - set(page.positions.tolist()) - set(already)
        assert all(any(taken[label] == n for label in labels_of(sellers[i])) for i in left)
    filled = both(query, [*others, mc.limit("seller", n, fill=True)], k, method, already)
    assert len(filled) == min(k, len(query) - len(already))
    if len(page) == len(filled) or getattr(method, "keep", None) is None:  # to fill, keep may need another strength
        assert set(page.ids) <= set(filled.ids)
    if len(page) == len(filled):
        assert max(counts(filled, sellers).values(), default=0) <= n
    hours = both(query, [mc.limit("seller", n), mc.limit(mc.HourOfDay("hour"), 2)], k, method)  # two hold together
    assert max(counts(hours, sellers).values(), default=0) <= n
    assert max(Counter(query.columns["hour"][hours.positions]).values(), default=0) <= 2


SHARES = st.sampled_from(
    [{"a": 0.5}, {"a": 0.6, "b": 0.4}, {"a": 0.3, "b": 0.3, "c": 0.3}, {"a": 1.0}, {"a": 0.0, "b": 0.5}, {"zoe": 0.5}]
)


@COMMON
@given(candidates(("a", "b", "c", "d", None)), OTHERS, SHARES, st.integers(1, 15), METHODS)
@example(mc.Candidates([1.0], columns={"seller": ["a"]}), [], {"a": 0.6, "b": 0.4}, 2, mc.Mascot())
def test_shares_are_met_exactly_where_the_candidates_allow(
    query: mc.Candidates[int], others: list[Wish], shares: dict[str, float], k: int, method: Any
) -> None:
    sellers = list(query.columns["seller"])
    wish = mc.share("seller", shares)
    page = both(query, [*others, wish], k, method)
    assert len(page) == min(k, len(query))
    targets = wish.targets(k)
    assert sum(targets.values()) == k
    available = Counter(seller if seller in shares else "" for seller in sellers)
    taken = Counter(sellers[i] if sellers[i] in shares else "" for i in page.positions)
    for value, target in targets.items():
        assert taken[value] >= min(target, available[value])
    if all(available[value] >= target for value, target in targets.items()):
        assert {value: taken[value] for value in targets} == targets
    notes = page.explain().notes
    unmet = [value for value in shares if taken[value] < targets[value]]
    assert [note.split(" from ")[1].split(" (")[0] for note in notes] == unmet
    for note, value in zip(notes, unmet, strict=True):
        assert ("no candidate has it" in note) == (available[value] == 0)


def test_targets_are_counts_by_largest_remainder() -> None:
    assert mc.share("x", {"a": 0.6, "b": 0.4}).targets(20) == {"a": 12, "b": 8, "": 0}
    assert mc.share("x", {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}).targets(20) == {"a": 7, "b": 7, "c": 6, "": 0}
    assert mc.share("x", {"a": 0.5}).targets(5) == {"a": 3, "": 2}


def test_a_limit_and_a_share_of_one_attribute_agree_where_they_can() -> None:
    query = mc.Candidates(np.arange(20, 0, -1.0), columns={"s": ["a"] * 10 + ["b"] * 5 + ["c"] * 5})
    wishes = [mc.share("s", {"a": 0.5}), mc.limit("s", 2)]
    assert sorted(both(query, wishes, 4, None).ids) == [0, 1, 10, 11]
    ranker = mc.Reranker(wishes).fit(query.columns)
    assert sorted(ranker.rerank(range(20), query.scores, 4).ids) == [0, 1, 10, 11]
    with pytest.raises(mc.OptionError, match="contradicts"):
        ranker.rerank(range(20), query.scores, 20)


@pytest.mark.parametrize(("attribute", "unit"), [(mc.Date("t"), "M8[D]"), (mc.DayOfYear("t"), "M8[M]")])
def test_limits_count_days_and_months(attribute: Any, unit: str) -> None:
    times = np.datetime64("2024-01-01T00:30", "s") + np.arange(60) * np.timedelta64(5, "h")
    page = both(mc.Candidates(np.linspace(1, 0, 60), columns={"t": times}), mc.limit(attribute, 2), 60, None)
    labels = times.astype(unit)
    assert Counter(labels[page.positions].tolist()) == dict.fromkeys(labels.tolist(), 2)


@pytest.mark.parametrize("seed", range(3))
def test_the_dial_goes_evenly_from_relevance_to_balance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sellers = rng.permutation(np.repeat([0, 1, 2, 3], [700, 200, 70, 30]))
    query = mc.Candidates(rng.beta(2, 5, 1000), columns={"seller": sellers})
    steps = []
    for strength in (0, 0.25, 0.5, 0.75, 1):
        page = mc.rerank(query, mc.spread("seller"), 20, strength=strength)
        steps.append(np.bincount(sellers[page.positions], minlength=4).tolist())
    largest = [step[0] for step in steps]
    assert largest == sorted(largest, reverse=True)
    assert max(steps[-1]) - min(steps[-1]) <= 1


@COMMON
@given(candidates(), METHODS, st.integers(1, 3), st.sampled_from(["last", "neutral", "drop"]), st.data())
def test_pinned_are_first_count_as_seen_and_limits_hold(
    query: mc.Candidates[int], method: Any, n: int, missing: Any, data: st.DataObject
) -> None:
    sellers = list(query.columns["seller"])
    pin = data.draw(st.lists(st.sampled_from(query.ids), max_size=8, unique=True))
    k = max(len(pin), 1) + data.draw(st.integers(0, 12))
    page = mc.rerank(query, [mc.spread("seller"), mc.limit("seller", n)], k, method, pin=pin)
    assert page.ids[: len(pin)] == pin
    assert len(set(page.ids)) == len(page) <= k
    pinned = Counter(label for id_ in pin for label in labels_of(sellers[id_]))
    assert all(count <= max(n, pinned[label]) for label, count in counts(page, sellers).items())
    reasons = page.explain().results
    assert [reason.because.startswith("pinned") for reason in reasons] == [id_ in pin for id_ in page.ids]
    assert all(len(values) == len(page) for values in page.gains.values())
    wishes = [mc.spread(mc.Category("seller", missing=missing)), mc.spread(mc.HourOfDay("hour", missing="last"))]
    page, slow = (mc.rerank(query, wishes, k, method, pin=pin, backend=backend) for backend in BACKENDS)
    assert (page.ids, page.already) == (slow.ids, [])
    if missing == "drop":
        assert all(sellers[id_] is not None for id_ in page.ids[len(pin) :])
        already = list(range(0, len(query), 3))
        next_page = mc.rerank(query, wishes, k, method, already=already, pin=pin)
        assert next_page.ids[: len(pin)] == pin
        assert not set(next_page.ids[len(pin) :]) & set(already)
        assert next_page.already == [id_ for id_ in already if id_ not in pin]
    elif k > len(pin):
        assert page.ids[len(pin) :] == mc.rerank(query, wishes, k - len(pin), method, already=pin).ids


def test_shares_count_the_pinned() -> None:
    candidates = mc.Candidates(np.arange(20)[::-1], columns={"city": ["a"] * 10 + ["b"] * 10})
    ranking = mc.rerank(candidates, mc.share("city", {"a": 0.5, "b": 0.5}), 8, pin=[0, 1, 2, 10])
    assert counts(ranking, list(candidates.columns["city"])) == {"a": 4, "b": 4}
    assert not ranking.explain().notes
    crowded = mc.rerank(candidates, mc.share("city", {"a": 0.25, "b": 0.75}), 4, pin=[0, 1, 2])
    assert (crowded.ids[:3], len(crowded)) == ([0, 1, 2], 4)
    candidates = mc.Candidates(np.arange(9)[::-1])
    ranking = mc.rerank(candidates, (), 4, pin=[8, 0], already=[0, 1, 2])
    assert ranking.ids == [8, 0, 3, 4]
    assert ranking.already == [1, 2]
    assert mc.rerank(candidates, (), 2, already=ranking).ids == [5, 6]


def values_among(pool: mc.Candidates[int], positions: Any) -> int:
    """Return the number of sellers; a result without one counts as a value of its own."""
    sellers = [pool.columns["seller"][i] for i in positions]
    return len({seller for seller in sellers if seller is not None}) + sellers.count(None)


@COMMON
@given(
    candidates(("a", "b", "c", "d", "e", "f", None)), st.integers(1, 30), st.floats(0.01, 1), st.sampled_from([0, 1, 3])
)
def test_a_focus_never_raises_the_number_of_its_values(
    pool: mc.Candidates[int], k: int, strength: float, protect: int
) -> None:
    most = values_among(pool, mc.rerank(pool, [], k, mc.Relevance()).positions)
    for method in (mc.Mascot(strength, protect), mc.Mascot(keep=strength, protect=protect)):
        for backend in BACKENDS:
            assert values_among(pool, mc.rerank(pool, mc.focus("seller"), k, method, backend=backend).positions) <= most


NAMED: dict[str, tuple[Any, Any]] = {  # an attribute of hours from the start of 2020, and the name of a value
    "hour": (mc.HourOfDay("taken"), lambda hours: np.floor(hours % 24)),
    "day": (mc.Date("taken"), lambda hours: np.floor(hours / 24)),
    "place": (mc.Place(), lambda hours: np.floor(hours)),
}


@pytest.mark.parametrize("missing", ["last", "neutral"])
@pytest.mark.parametrize("name", NAMED)
def test_a_focus_lowers_the_number_of_named_values(name: str, missing: Any) -> None:
    """Bins of hours, days and places are soft, and many candidates lie at an edge between two names."""
    attribute, name_of = NAMED[name]
    attribute = replace(attribute, missing=missing)
    counts = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        size, centres = int(rng.integers(40, 150)), rng.uniform(0, 24 if name == "hour" else 600, rng.integers(2, 30))
        hours = centres[rng.integers(0, len(centres), size)] + rng.normal(0, rng.choice([0.05, 0.3, 2.0]), size)
        hours = np.clip(hours, 0, 700)
        taken = np.datetime64("2020-01-01") + (hours * 3600).astype("timedelta64[s]")
        names = name_of(hours)
        unknown = rng.random(size) < (0.1 if seed % 2 else 0.0)
        taken[unknown], names[unknown] = "NaT", np.nan
        lat = np.where(unknown, np.nan, hours % 90 / 2)
        pool = mc.Candidates(rng.random(size), columns={"taken": taken, "lat": lat, "lon": hours / 4})
        rankings = [mc.rerank(pool, mc.focus(attribute), 12, strength=step / 10) for step in range(11)]
        counts.append([len(set(names[ranking.positions].tolist())) for ranking in rankings])  # NaN differs from NaN
    assert_falls(np.array(counts), few=0.4)


def assert_falls(counts: Any, few: float) -> None:
    """Check that counts [queries, strengths] fall: on the mean, and in all but few queries without a rise."""
    means, rises = counts.mean(axis=0), np.maximum(np.diff(counts, axis=1), 0)
    assert (np.diff(means) <= 0.1).all()
    assert means[-1] < means[0]
    assert np.diff(means).min() >= -0.4 * (means[0] - means[-1])  # no step takes more than two fifths of the way
    assert (rises > 0).any(axis=1).mean() <= few
    assert (rises > 1).any(axis=1).mean() <= few / 2
    assert (counts > counts[:, :1]).any(axis=1).mean() <= 0.05  # more than on the plain page


def test_the_number_of_values_falls_evenly_with_the_strength() -> None:
    rng = np.random.default_rng(0)
    counts = []
    for _ in range(100):
        sellers = rng.choice(30, 200, p=np.arange(30, 0, -1) / 465)
        pool = mc.Candidates(rng.random(200) + rng.random(30)[sellers], columns={"seller": sellers})
        dial = [mc.rerank(pool, mc.focus("seller"), 20, strength=step / 10) for step in range(11)]
        counts.append([values_among(pool, ranking.positions) for ranking in dial])
    assert_falls(np.array(counts), few=0.25)
    means = np.mean(counts, axis=0)
    assert 0.4 <= (means[0] - means[5]) / (means[0] - means[10]) <= 0.6
