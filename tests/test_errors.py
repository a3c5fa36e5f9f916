"""Bad input raises one of a few exceptions, and the text names the owner, the rule and the value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mascot as mc

HIT = {"lat": [1.0, 2.0], "lon": [3.0, 4.0], "taken": ["2020-01-01", None], "who": ["a", "b"]}


def hits(**changes: Any) -> mc.Candidates:
    return mc.Candidates(scores=[0.9, 0.1], columns={**HIT, **changes}, vectors=[[1.0, 0.0], [0.0, 1.0]])


class Loud:
    """A user attribute that breaks the rules."""

    name = "loud"

    def __init__(self, rows: Any, points: Any = ((0.0,), (0.0,))) -> None:
        self.rows, self.points = rows, points

    def membership(self, columns: Any, vectors: Any) -> Any:
        return self.rows

    def features(self, columns: Any, vectors: Any) -> Any:
        return self.points


class Silent:
    """A user attribute for coverage alone."""

    name = "silent"

    def membership(self, columns: Any, vectors: Any) -> Any:
        return [[1.0], [0.0]]


INPUT = {
    "scores must be finite, got nan at position 1": lambda: mc.Candidates(scores=[1.0, np.nan]),
    "scores must be finite, got inf at position 0": lambda: mc.Candidates(scores=[np.inf, 1.0]),
    "scores must be numbers, got ['a', 'b']": lambda: mc.Candidates(scores=["a", "b"]),
    "scores must have 1 dimension(s), got 2": lambda: mc.Candidates(scores=[[1.0]]),
    "Batch.scores must hold at least one candidate, got none": lambda: mc.Batch(scores=[[]]),
    "Candidates.ids must have 2 entries like the candidates, got 1": lambda: mc.Candidates(scores=[1, 2], ids=["a"]),
    "Candidates.columns['x'] must have 2 values like scores, got 3": lambda: mc.Candidates(
        scores=[1, 2], columns={"x": [1, 2, 3]}
    ),
    "Candidates.vectors must be 2 x D like scores, got 3 x 1": lambda: mc.Candidates(scores=[1, 2], vectors=[[1]] * 3),
    "Candidates.vectors must be finite, got inf": lambda: mc.Candidates(scores=[1, 2], vectors=[[np.inf], [0]]),
    "Batch.columns['x'] must have 1 x 2 values like scores, got 2": lambda: mc.Batch([[1, 2]], {"x": [1, 2]}),
    "Category needs column 'nope', got columns: lat, lon, taken, who": lambda: mc.rerank(
        hits(), mc.spread(mc.Category("nope"))
    ),
    "Place column 'lat' must be a latitude in -90..90, got 90.5": lambda: mc.rerank(
        hits(lat=[1.0, 90.5]), mc.spread(mc.Place())
    ),
    "Place column 'lon' must be finite, got inf": lambda: mc.rerank(hits(lon=[1.0, np.inf]), mc.spread(mc.Place())),
    "Number column 'who' must hold numbers: could not convert string to float: 'a'": lambda: mc.rerank(
        hits(), mc.spread(mc.Number("who"))
    ),
    "Date column 'taken' must hold times (ISO, EXIF or datetime), got 'soon'": lambda: mc.rerank(
        hits(taken=["soon", None]), mc.spread(mc.Date())
    ),
    "Category column 'who' must hold hashable labels, got {'a': 1}": lambda: mc.rerank(
        hits(who=[{"a": 1}, {}]), mc.spread(mc.Category("who"))
    ),
    "Clusters needs vectors, got none": lambda: mc.rerank(mc.Candidates(scores=[1, 2]), mc.spread(mc.Clusters(2))),
    "Loud.membership must lie in 0..1, got 1.5": lambda: mc.rerank(hits(), mc.spread(Loud([[1.5], [0]]))),
    "Loud.membership must lie in 0..1, got nan": lambda: mc.rerank(hits(), mc.spread(Loud([[np.nan], [0]]))),
    "Loud.membership must have 2 rows, got 1": lambda: mc.rerank(hits(), mc.spread(Loud([[1.0]]))),
    "Loud.membership must be an array of two dimensions, got 1": lambda: mc.rerank(hits(), mc.spread(Loud([1, 0]))),
    "Place: near must be (latitude, longitude), got 'Lisbon'": lambda: mc.rerank(
        hits(), mc.focus(mc.Place(), near="Lisbon")
    ),
    "Place: near must be a latitude in -90..90 and a longitude, got (100, 0)": lambda: mc.rerank(
        hits(), mc.focus(mc.Place(), near=(100, 0))
    ),
    "rerank_many needs at least one query, got none": lambda: mc.rerank_many([], []),
    "Category needs column 'a', got columns: b": lambda: mc.rerank_many(
        [mc.Candidates(scores=[1], columns={"a": [1]}), mc.Candidates(scores=[1], columns={"b": [1]})],
        mc.spread(mc.Category("a")),
    ),
    "scores must be within -1e150..1e150 without rescaling, got 1e+151": lambda: mc.rerank(
        mc.Candidates(scores=[1.0, -1e151], columns={"who": ["a", "b"]}),
        mc.spread("who"),
        1,
        mc.Mascot(normalize=False),
    ),
    "scores must have the same number of values in each query, got 1 or 2": lambda: mc.Batch([[1, 2], [3]]),
    "Candidates.ids must be hashable, got (1, [2])": lambda: mc.Candidates([1], ids=[(1, [2])]),
    "Candidates.columns['x'] must be a list or an array of values, got 5": lambda: mc.Candidates([1], columns={"x": 5}),
    "rerank needs Candidates, got Batch: rerank_many": lambda: mc.rerank(mc.Batch([[1.0]]), []),  # type: ignore[arg-type]
    "rerank needs Candidates, got list": lambda: mc.rerank([0.9, 0.8], []),  # type: ignore[arg-type]
    "rerank_many needs a Batch or a list of Candidates, got Candidates": lambda: mc.rerank_many(hits(), []),  # type: ignore[arg-type]
    "rerank_many needs a Batch or a list of Candidates, got NoneType": lambda: mc.rerank_many(None, []),  # type: ignore[arg-type]
    "rerank_many needs a Batch or a list of Candidates, got ndarray": lambda: mc.rerank_many(np.ones((2, 2)), []),  # type: ignore[arg-type]
    "rerank_many needs a Batch or a list of Candidates, got int": lambda: mc.rerank_many([hits(), 3], []),  # type: ignore[list-item]
    "already must name candidates by their ids, got [0]": lambda: mc.rerank(hits(), [], already=[[0]]),  # type: ignore[list-item]
    "already must have one entry for each query, got 5": lambda: mc.rerank_many([hits()], [], already=5),  # type: ignore[arg-type]
    "rows must have one entry for each query, got None": lambda: mc.Reranker([]).fit(HIT).rerank_many(None, None),  # type: ignore[arg-type]
    "scores must have one entry for each query, got None": lambda: mc.Reranker([]).fit(HIT).rerank_many([[0]], None),  # type: ignore[arg-type]
    "Reranker.columns['c'] must be a list or an array of values, got 5": lambda: mc.Reranker([]).fit({"c": 5}),
    "Reranker.vectors must be a list or an array of values, got 5": lambda: mc.Reranker([]).fit(vectors=5),
    "Reranker.vectors must be 3 x D like its rows, got 3": lambda: mc.Reranker([]).fit(vectors=[1.0, 2.0, 3.0]),
    "Reranker.vectors must be 2 x D like 'lat', got 1 x 1": lambda: mc.Reranker([]).fit(HIT, vectors=[[1.0]]),
    "Reranker.columns['d'] must have 2 values like 'c', got 1": lambda: mc.Reranker([]).fit({"c": [1, 2], "d": [1]}),
    "Reranker.ids must have 2 entries like the rows, got 1": lambda: mc.Reranker([]).fit(HIT, ids=["a"]),
    "Reranker.fit needs at least one row, got none": lambda: mc.Reranker([]).fit({"c": []}),
    "Reranker.append needs the columns ['c'], got ['d']": lambda: mc.Reranker([]).fit({"c": [1]}).append({"d": [1]}),
    "Reranker.append needs vectors exactly where fit had them": lambda: (
        mc.Reranker([]).fit({"c": [1]}).append({"c": [2]}, vectors=[[1.0]])
    ),
    "Reranker.append needs ids exactly where fit had them": lambda: (
        mc.Reranker([]).fit({"c": [1]}).append({"c": [2]}, ids=["a"])
    ),
    "Reranker.remove needs ids of the corpus, got 'z'": lambda: mc.Reranker([]).fit(HIT, ids=["a", "b"]).remove(["z"]),
    "Candidates.from_records needs dictionaries, got str: 'a'": lambda: mc.Candidates.from_records(["a"]),  # type: ignore[list-item]
    "Candidates.from_records needs 'score' in every record, got none at position 1": lambda: mc.Candidates.from_records(
        [{"score": 1.0}, {"id": 2}]
    ),
    "Loud.features must have 2 rows, got 3": lambda: mc.rerank(
        hits(), mc.spread(Loud([[1.0], [0.0]], np.ones((3, 1)))), 1, mc.Mmr()
    ),
    "Loud.features must be an array of two dimensions, got 1": lambda: mc.rerank(
        hits(), mc.spread(Loud([[1.0], [0.0]], [1.0, 2.0])), 1, mc.Clustering()
    ),
    "Loud.features must be finite, got nan": lambda: mc.rerank(
        hits(), mc.spread(Loud([[1.0], [0.0]], [[1.0], [np.nan]])), 1, mc.MsDpp()
    ),
    "Loud.features must be numbers in rows of one length, got [[1], [1, 2]]": lambda: mc.rerank(
        hits(), mc.spread(Loud([[1.0], [0.0]], [[1], [1, 2]])), 1, mc.KDpp()
    ),
    "Silent.features(columns, vectors) is what this method compares by, got": lambda: mc.rerank(
        hits(),
        mc.spread(Silent()),  # type: ignore[arg-type]
        1,
        mc.Mmr(),
    ),
    "Reranker must be fitted to a corpus first: call fit(columns, vectors)": lambda: mc.Reranker([]).rerank([0], [1.0]),
    "Reranker.fit needs columns or vectors, got neither": lambda: mc.Reranker([]).fit(),
    "rows must lie in 0..1, got 2": lambda: mc.Reranker([]).fit(HIT).rerank([0, 2], [1.0, 0.5]),
    "scores must have 2 values like rows, got 1": lambda: mc.Reranker([]).fit(HIT).rerank([0, 1], [1.0]),
}

OPTIONS = {
    "k must be a whole number >= 1, got 0": lambda: mc.rerank(hits(), [], 0),
    "k must be a whole number >= 1, got 2.5": lambda: mc.rerank(hits(), [], 2.5),  # type: ignore[arg-type]
    "backend must be one of auto, numpy, native, gpu, got 'cuda'": lambda: mc.rerank(hits(), [], backend="cuda"),
    "wishes must be spread(...), focus(...), limit(...) or share(...), got Place(": lambda: mc.rerank(
        hits(), [mc.Place()]
    ),  # type: ignore[list-item]
    "Place.sigma_km must be > 0, got 0": lambda: mc.Place(sigma_km=0),
    "Place.grid.sigma must be > 0, got -1": lambda: mc.Place.grid(sigma=-1),
    "Place.grid.cells must be a whole number >= 2, got 1": lambda: mc.Place.grid(cells=1),
    "HourOfDay.sigma must be > 0, got 0.0": lambda: mc.HourOfDay(sigma=0.0),
    "HourOfDay.bins must be a whole number >= 1, got 0": lambda: mc.HourOfDay(bins=0),
    "Cycle.period must be > 0, got 0": lambda: mc.Cycle("x", period=0),
    "Number.sigma must be > 0, got nan": lambda: mc.Number("x", sigma=float("nan")),
    "Date.sigma_days must be > 0, got -3": lambda: mc.Date(sigma_days=-3),
    "Clusters.count must be a whole number >= 1, got 0": lambda: mc.Clusters(0),
    "Category.missing must be 'last', 'neutral' or 'drop', got 'skip'": lambda: mc.Category("x", missing="skip"),  # type: ignore[arg-type]
    "Mascot.strength must be in 0..1, got 1.5": lambda: mc.Mascot(1.5),
    "Mascot.protect must be a whole number >= 0, got -1": lambda: mc.Mascot(protect=-1),
    "Mascot.protect must be a whole number >= 0, got 1.5": lambda: mc.Mascot(protect=1.5),  # type: ignore[arg-type]
    "Mascot.strength must be in 0..1, got '0.5'": lambda: mc.Mascot("0.5"),  # type: ignore[arg-type]
    "Mascot.strength must be in 0..1, got True": lambda: mc.Mascot(True),
    "Mascot.normalize must be True or False, got 'no'": lambda: mc.Mascot(normalize="no"),  # type: ignore[arg-type]
    "Mascot.scale must be True or False, got None": lambda: mc.Mascot(scale=None),  # type: ignore[arg-type]
    "Mmr.strength must be in 0..1, got '0.5'": lambda: mc.Mmr("0.5"),  # type: ignore[arg-type]
    "Mmr.strength must be in 0..1, got None": lambda: mc.Mmr(None),  # type: ignore[arg-type]
    "KDpp.beta must be in 0..1, got 'x'": lambda: mc.KDpp(beta="x"),  # type: ignore[arg-type]
    "KDpp.released must be True or False, got 1": lambda: mc.KDpp(released=1),  # type: ignore[arg-type]
    "MsDpp.strength must be in 0..1, got [1]": lambda: mc.MsDpp([1]),  # type: ignore[arg-type]
    "Clustering.clusters must be a whole number >= 1, got '4'": lambda: mc.Clustering(clusters="4"),  # type: ignore[arg-type]
    "Clustering.clusters must be a whole number >= 1, got 2.5": lambda: mc.Clustering(clusters=2.5),  # type: ignore[arg-type]
    "Clustering.seed must be a whole number >= 0, got None": lambda: mc.Clustering(seed=None),  # type: ignore[arg-type]
    "threads must be a whole number >= 1, got '2'": lambda: mc.rerank_many([hits()], [], threads="2"),  # type: ignore[arg-type]
    "threads must be a whole number >= 1, got 1.5": lambda: mc.rerank_many([hits()], [], threads=1.5),  # type: ignore[arg-type]
    "from_dict needs a dictionary as returned by to_dict(), got [1]": lambda: mc.from_dict([1]),  # type: ignore[arg-type]
    "kind must be one of Branches, Category, Clustering,": lambda: mc.from_dict({"kind": ["Mmr"]}),
    "Mascot.keep must be in 0..1 and above 0, got 0": lambda: mc.Mascot(keep=0),
    "Mascot.keep searches for the strength: give keep or strength, got keep=0.9 and strength=0.5": lambda: mc.Mascot(
        0.5, keep=0.9
    ),
    "Mascot.bin_weight must be 'uniform' or 'query', got 'omega'": lambda: mc.Mascot(bin_weight="omega"),  # type: ignore[arg-type]
    "Mascot.order must be 'relevance' or 'selection', got 'best'": lambda: mc.Mascot(order="best"),  # type: ignore[arg-type]
    "spread(place).weight must be > 0, got 0": lambda: mc.spread(mc.Place(), weight=0),
    "focus(loud): near needs an attribute with point(value), got <": lambda: mc.focus(Loud([]), near=1),
    "Number.sigma must leave at most 4,000,000 bins over the candidates' range, got 1e-09": lambda: mc.rerank(
        hits(), mc.spread(mc.Number("lat", sigma=1e-9))
    ),
    "kind must be one of Branches, Category,": lambda: mc.from_dict({"kind": "Nope"}),
    "Place does not take {'latitude': 'x'}": lambda: mc.from_dict({"kind": "Place", "latitude": "x"}),
}


# Limits, shares and named values.
STEERING = {
    "limit(who).n must be a whole number >= 1, got 0": lambda: mc.limit("who", 0),
    "limit(who).n must be a whole number >= 1, got 2.0": lambda: mc.limit("who", 2.0),  # type: ignore[arg-type]
    "limit(who).fill must be True or False, got 1": lambda: mc.limit("who", 2, fill=1),  # type: ignore[arg-type]
    "limit(...) needs an attribute such as Place() or Category('camera'), got 3": lambda: mc.limit(3, 2),  # type: ignore[arg-type]
    "share(who)['a'] must be in 0..1, got -0.1": lambda: mc.share("who", {"a": -0.1}),
    "share(who)['a'] must be in 0..1, got 1.5": lambda: mc.share("who", {"a": 1.5}),
    "share(who)['a'] must be in 0..1, got 'half'": lambda: mc.share("who", {"a": "half"}),  # type: ignore[dict-item]
    "share(who) must sum to at most 1, got 1.2": lambda: mc.share("who", {"a": 0.6, "b": 0.6}),
    "share(who) needs a dictionary of value: share, got {}": lambda: mc.share("who", {}),
    "share(who) needs a dictionary of value: share, got [0.5]": lambda: mc.share("who", [0.5]),  # type: ignore[arg-type]
    "limit(who) contradicts share(who): 'a' is to have 12 of 20 results, and at most 3": lambda: mc.rerank(
        hits(), [mc.limit("who", 3), mc.share("who", {"a": 0.6})]
    ),
    "limit and share count named values: use a column of cities or countries, got Place": lambda: mc.rerank(
        hits(), mc.limit(mc.Place(), 1)
    ),
    "limit and share count named values: use a column of cities": lambda: mc.rerank(
        hits(), mc.share(mc.Place(), {"Rome": 0.5})
    ),
    "focus(hour).within must be > 0, got 0": lambda: mc.focus(mc.HourOfDay(), near=18, within=0),
    "focus(hour).within must be > 0, got -1": lambda: mc.focus(mc.HourOfDay(), near=18, within=-1),
    "focus(hour).within must be > 0, got nan": lambda: mc.focus(mc.HourOfDay(), near=18, within=float("nan")),
    "focus(hour).within must be at most 1.8e308, got inf": lambda: mc.focus(
        mc.HourOfDay(), near=18, within=float("inf")
    ),
    "focus(hour).within must be > 0, got '1 h'": lambda: mc.focus(mc.HourOfDay(), near=18, within="1 h"),  # type: ignore[arg-type]
    "focus(hour).within needs near, the value it is measured from, got 2": lambda: mc.focus(mc.HourOfDay(), within=2),
    "focus(who).within needs an attribute with distances, got labels: 2": lambda: mc.focus("who", near="a", within=2),
    "spread(hour) cannot have near: only focus can, got 18": lambda: mc.Wish(mc.HourOfDay(), 1, near=18),
    "HourOfDay near must be an hour like 18 or 18:30, got 'evening'": lambda: mc.focus(mc.HourOfDay(), near="evening"),
    "HourOfDay near must be an hour like 18 or 18:30, got (1, 2)": lambda: mc.focus(mc.HourOfDay(), near=(1, 2)),
    "Number near must be a number, got 'cheap'": lambda: mc.focus(mc.Number("price"), near="cheap"),
    "Date near must be a time (ISO, EXIF or datetime), got (1, 2)": lambda: mc.focus(mc.Date(), near=(1, 2)),
    "Weekday near must be a day of the week or a time, got 9.5": lambda: mc.focus(mc.Weekday(), near=9.5),
    "Category near must be a label or a list of labels, got {'a': 1}": lambda: mc.focus("who", near={"a": 1}),
    "spread(who).weight must be at most 1e100, got 1e+101": lambda: mc.spread("who", 1e101),
    "strength is not a parameter of Relevance, got 0.3": lambda: mc.rerank(
        hits(), mc.spread("who"), method=mc.Relevance(), strength=0.3
    ),
    "keep is not a parameter of Mmr, got 0.9": lambda: mc.rerank(hits(), mc.spread("who"), method=mc.Mmr(), keep=0.9),
    "Mascot.keep searches for the strength: give": lambda: mc.rerank(hits(), mc.spread("who"), keep=0.9, strength=0.5),
    "Mascot.protect must be a whole number >= 0, got -1": lambda: mc.rerank(hits(), mc.spread("who"), protect=-1),
}


@pytest.mark.parametrize(("text", "call"), STEERING.items(), ids=STEERING)
def test_limits_shares_and_named_values(text: str, call: Any) -> None:
    with pytest.raises(mc.MascotError) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_a_place_without_coordinates_is_refused() -> None:
    with pytest.raises(mc.MascotError, match=r"^Place: near must be \(latitude, longitude\), got 18$"):
        mc.focus(mc.Place(), near=18)


def test_a_value_that_no_candidate_has_is_said_and_is_not_an_error() -> None:
    ranking = mc.rerank(hits(), [mc.share("who", {"a": 0.5, "zoe": 0.5})], 2)
    assert ranking.ids == [0, 1]
    assert ranking.explain().notes == ("share who: 0 of 1 from zoe (no candidate has it)",)
    assert mc.rerank(hits(), mc.focus("who", near="zoe"), 2).ids == [0, 1]


@pytest.mark.parametrize("method", [mc.KDpp(), mc.MsDpp(), mc.Clustering()], ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("wish", [mc.limit("who", 1), mc.share("who", {"a": 0.5})], ids=["limit", "share"])
def test_methods_without_quotas_refuse_limits_and_shares(method: Any, wish: Any) -> None:
    name = type(method).__name__
    with pytest.raises(mc.OptionError, match=rf"^{name} cannot obey limit\(...\) or share\(...\): use Mascot, Mmr or"):
        mc.rerank(hits(), [mc.spread("who"), wish], 2, method)


def test_scores_may_have_any_finite_range() -> None:
    for scores in ([1e308, -1e308, 0.0], [1.7e308, -1.7e308, 1.0], [5e-324, 0.0, -5e-324]):
        assert mc.rerank(mc.Candidates(scores), [], 3).ids == sorted(range(3), key=lambda i: -scores[i])


def test_no_candidates_give_an_empty_ranking() -> None:
    empty = mc.Candidates(scores=[], columns={"who": []})
    for method in (mc.Mascot(), mc.Mascot(keep=0.9), mc.Mmr(), mc.KDpp(), mc.MsDpp(), mc.Clustering(), mc.Relevance()):
        for backend in ("numpy", "native"):
            ranking = mc.rerank(empty, mc.spread("who"), 5, method, backend=backend)
            assert (ranking.ids, ranking.to_dict()["results"], ranking.explain().results) == ([], [], [])
    assert mc.rerank(empty, [mc.limit("who", 1), mc.share("who", {"a": 0.2})], 5).ids == []
    assert mc.rerank_many([empty, hits()], mc.spread("who"), 2).ids == [[], [0, 1]]
    assert mc.rerank(mc.Candidates.from_records([]), mc.spread("who")).records() == []


def test_ids_of_earlier_pages_that_are_no_longer_candidates_are_ignored() -> None:
    assert mc.rerank(hits(), [], already=[7, 0, "gone"]).ids == [1]


@pytest.mark.parametrize(("text", "call"), INPUT.items(), ids=INPUT)
def test_input(text: str, call: Any) -> None:
    with pytest.raises(mc.InputError) as caught:
        call()
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(("text", "call"), OPTIONS.items(), ids=OPTIONS)
def test_options(text: str, call: Any) -> None:
    with pytest.raises(mc.OptionError) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_all_are_value_errors_of_one_family() -> None:
    assert issubclass(mc.InputError, mc.MascotError)
    assert issubclass(mc.OptionError, mc.MascotError)
    assert issubclass(mc.MascotError, ValueError)
    assert issubclass(mc.MissingExtra, ImportError)


def test_k_beyond_the_candidates_returns_all() -> None:
    assert mc.rerank(hits(), mc.spread(mc.Place()), 99).ids == [0, 1]
