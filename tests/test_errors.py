"""Bad input raises one of a few exceptions, and the text names the owner, the rule and the value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.attributes import Clusters, Cycle
from mascot.wishes import Wish

NAN = float("nan")
HUGE = 10**400  # an integer beyond every float
LONG = 10**5000  # one that Python does not write in digits
PLAIN = [mc.Candidates([0.9, 0.1])] * 2
HIT = {"lat": [1.0, 2.0], "lon": [3.0, 4.0], "taken": ["2020-01-01", None], "who": ["a", "b"]}
MASKED = np.ma.array([1, 2], mask=[0, 1])
EIGHTY = "1" + "0" * 79 + "..."


def hits(**changes: Any) -> mc.Candidates:
    return mc.Candidates(scores=[0.9, 0.1], columns={**HIT, **changes}, vectors=[[1.0, 0.0], [0.0, 1.0]])


def spread(attribute: Any, method: Any = None, **changes: Any) -> mc.Ranking:
    return mc.rerank(hits(**changes), mc.spread(attribute), 1, method)


def near(attribute: Any, value: Any, **options: Any) -> Wish:
    return mc.focus(attribute, near=value, **options)


def rerank_near(**values: Any) -> Any:
    """Rank the rows of a corpus with other values of its focus near latitude 1."""
    return mc.Reranker([mc.spread("who"), near(mc.Number("lat"), 1)]).fit(HIT).rerank([0, 1], [2, 1], near=values)


def near_is_no_mapping() -> Any:
    return mc.Reranker(near(mc.Number("lat"), 1)).fit(HIT).rerank([0, 1], [2, 1], near=(1, 2))  # type: ignore[arg-type]


def fit(*arguments: Any, **options: Any) -> mc.Reranker:
    return mc.Reranker([]).fit(*arguments, **options)


class Loud:
    """A user attribute that breaks the rules."""

    name = "loud"

    def __init__(self, rows: Any, points: Any = ((0.0,), (0.0,)), **more: Any) -> None:
        self.rows, self.points = rows, points
        self.__dict__.update(more)

    def membership(self, columns: Any, vectors: Any) -> Any:
        return self.rows

    def features(self, columns: Any, vectors: Any) -> Any:
        return self.points


class Silent:
    """A user attribute for coverage alone."""

    name = "silent"

    def membership(self, columns: Any, vectors: Any) -> Any:
        return [[1.0], [0.0]]


COVER = [[1.0], [0.0]]
EXPECTED = "a list or an array of values"
TIMES = "must hold times (ISO, EXIF or datetime)"
WISHES = "wishes must be spread(...), focus(...), limit(...), at_least(...) or share(...)"
LABEL = "Category near must be a label or a list of labels"
WITHIN = "focus(hour).within must be"

INPUT = {
    # Scores and ids
    "scores must be finite, got nan at position 1": lambda: mc.Candidates([1.0, NAN]),
    "scores must be numbers, got ['a', 'b']": lambda: mc.Candidates(["a", "b"]),
    "scores must not be masked, got a masked value at position 1": lambda: mc.Candidates(MASKED),
    "scores must be below 1.8e308, got a larger integer": lambda: mc.Candidates([HUGE, 1]),
    "scores must have 1 dimension(s), got 2": lambda: mc.Candidates([[1.0]]),
    "scores must have the same number of values in each query, got 1 or 2": lambda: mc.Batch([[1, 2], [3]]),
    "scores must be within -1e150..1e150 without rescaling, got 1e+151": lambda: mc.rerank(
        mc.Candidates([1.0, -1e151]), [], 1, mc.Mascot(normalize=False)
    ),
    "Batch.scores must hold at least one candidate, got none": lambda: mc.Batch([[]]),
    "Candidates.ids must have 2 entries like the candidates, got 1": lambda: mc.Candidates([1, 2], ids=["a"]),
    # Columns and vectors
    "Candidates.columns['x'] must have 2 values like scores, got 1": lambda: mc.Candidates([1, 2], None, {"x": [1]}),
    f"Candidates.columns['x'] must be {EXPECTED}, got 5": lambda: mc.Candidates([1], columns={"x": 5}),
    "Candidates.columns must be a dictionary or a table, got list": lambda: mc.Candidates([1], columns=[1]),
    "Candidates.vectors must be 2 x D like scores, got 3 x 1": lambda: mc.Candidates([1, 2], vectors=[[1]] * 3),
    "Candidates.vectors must be finite, got inf": lambda: mc.Candidates([1, 2], vectors=[[np.inf], [0]]),
    "Batch.columns['x'] must have 1 x 2 values like scores, got 2": lambda: mc.Batch([[1, 2]], {"x": [1, 2]}),
    "Candidates.from_records needs dictionaries, dataclasses, pydantic objects or named tuples, got str: 'a'": lambda: (
        mc.Candidates.from_records(["a"])
    ),
    "Category needs column 'nope', got columns: lat, lon, taken, who": lambda: spread("nope"),
    "Category column 'who' must hold hashable labels, got {'a': 1}": lambda: spread("who", who=[{"a": 1}, {}]),
    "Place column 'lat' must be a latitude in -90..90, got 90.5": lambda: spread(mc.Place(), lat=[1.0, 90.5]),
    "Place column 'lon' must be finite, got inf": lambda: spread(mc.Place(), lon=[1.0, np.inf]),
    "Number column 'who' must hold numbers: could not convert string to float: 'a'": lambda: spread(mc.Number("who")),
    "Number column 'n' must lie within -1e150..1e150, got a larger integer": lambda: spread(
        mc.Number("n"), n=[HUGE, 1]
    ),
    f"Date column 'taken' {TIMES}, got 'soon'": lambda: spread(mc.Date(), taken=["soon", None]),
    "Clusters needs vectors, got none": lambda: mc.rerank(mc.Candidates([1, 2]), mc.spread(Clusters(2))),
    # Attributes of the user's own
    "Loud.membership must lie in 0..1, got 1.5": lambda: spread(Loud([[1.5], [0]])),
    "Loud.membership must have 2 rows, got 1": lambda: spread(Loud([[1.0]])),
    "Loud.membership must be an array of two dimensions, got 1": lambda: spread(Loud([1, 0])),
    "Loud.membership must be numbers in rows of one length, got [[1], [1, 0]]": lambda: spread(Loud([[1], [1, 0]])),
    "Loud.features must have 2 rows, got 3": lambda: spread(Loud(COVER, np.ones((3, 1))), mc.Mmr()),
    "Loud.features must be finite, got nan": lambda: spread(Loud(COVER, [[1.0], [NAN]]), mc.Mmr()),
    "Silent.features(columns, vectors) is what this method compares by, got": lambda: spread(Silent(), mc.Mmr()),
    "Loud.point must return a dict of columns by name, got 4.0": lambda: near(Loud([], point=lambda value: 4.0), 4),
    # Places
    "Place: near must be (latitude, longitude) in degrees, with a latitude in -90..90, got (100.0, 0)": lambda: near(
        mc.Place(), (np.float64(100), 0)
    ),
    # Calls
    "rerank needs Candidates, got Batch: rerank_many": lambda: mc.rerank(mc.Batch([[1.0]]), []),
    "rerank needs Candidates, got dict: pass a list of records": lambda: mc.rerank({"hits": []}, []),
    "rerank_many needs at least one query, got none": lambda: mc.rerank_many([], []),
    "rerank_many needs a Batch or a list of Candidates, got Candidates": lambda: mc.rerank_many(hits(), []),
    "already must name candidates by their ids, got [0]": lambda: mc.rerank(hits(), [], already=[[0]]),
    "already must be a Ranking or a list of ids, got 3": lambda: mc.rerank(hits(), [], already=3),
    "already must have one entry for each of the 1 queries, got 2": lambda: mc.rerank_many(
        [hits()], [], already=[[], []]
    ),
    "pin must name candidates by their ids, got 'c'": lambda: mc.rerank(hits(), [], pin=["c"]),
    "pin must be a list of ids, got 'a'": lambda: mc.rerank(hits(), [], pin="a"),
    # A corpus
    "Reranker must be fitted to a corpus first: call fit(columns, vectors)": lambda: mc.Reranker([]).rerank([0], [1.0]),
    "Reranker.fit needs columns or vectors, got neither": lambda: fit(),
    "Reranker.fit needs at least one row, got none": lambda: fit({"c": []}),
    "Reranker.vectors must hold vectors, N x D numbers, got 1.0": lambda: fit(vectors=[1.0, 2.0, 3.0]),
    "Reranker.vectors must be 2 x D like 'lat', got 1 x 1": lambda: fit(HIT, vectors=[[1.0]]),
    "Reranker.columns['d'] must have 2 values like 'c', got 1": lambda: fit({"c": [1, 2], "d": [1]}),
    "Reranker.append needs the columns ['c'], got ['d']": lambda: fit({"c": [1]}).append({"d": [1]}),
    "Reranker.append needs vectors if and only if fit had them": lambda: fit({"c": [1]}).append({"c": [2]}, [[1.0]]),
    "Reranker needs ids of the corpus, got 'z'": lambda: fit(HIT, ids=["a", "b"]).remove(["z"]),
    "rows must lie in 0..1, got 2": lambda: fit(HIT).rerank([0, 2], [1.0, 0.5]),
    "rows must have one entry for each query, got None": lambda: fit(HIT).rerank_many(None, None),
    "scores must have 2 values like rows, got 1": lambda: fit(HIT).rerank([0, 1], [1.0]),
}

OPTIONS = {
    # Calls
    "k must be a whole number >= 1, got 0": lambda: mc.rerank(hits(), [], 0),
    "k must be at least 2, as many as are pinned, got 1": lambda: mc.rerank(hits(), (), 1, pin=[0, 1]),
    "backend must be one of auto, numpy, native, got 'cuda'": lambda: mc.rerank(hits(), [], backend="cuda"),
    "threads must be a whole number >= 1, got 1.5": lambda: mc.rerank_many([hits()], [], threads=1.5),
    "there is no method 'mmmr'; choose from mascot, paper, mmr": lambda: mc.rerank(hits(), [], method="mmmr"),
    "method must be a method such as Mascot() or Mmr(), got <class": lambda: mc.Reranker([], mc.Mascot),
    f"{WISHES}, got Place(": lambda: mc.rerank(hits(), [mc.Place()]),
    f"{WISHES}, got {{'spread': 'a'}}; mc.from_dict makes a wish": lambda: mc.rerank(hits(), {"spread": "a"}),
    f"{WISHES}, got None": lambda: mc.rerank(hits(), None),
    "strength is not a parameter of Relevance, got 1": lambda: mc.rerank(hits(), [], 1, mc.Relevance(), strength=1),
    # Attributes
    "Place.sigma_km must be > 0, got 0": lambda: mc.Place(sigma_km=0),
    "Cycle.bins must be at most 100,000, got 100001": lambda: Cycle("x", 360, bins=100_001),
    "HourOfDay.sigma must lie within 2.4e-05..2.4e07, got 1e-12": lambda: mc.HourOfDay("x", 24, 1e-12),
    "Clusters.count must be at most 100,000, got 100001": lambda: Clusters(100_001),
    "limit(x).n must be below 2**31, got 9223372036854775808": lambda: mc.limit("x", 2**63),
    "Number.sigma must lie within 1e-150..1e150, got 1e-300": lambda: mc.Number("x", sigma=1e-300),
    "Place.grid.cells must be at most 1,000, got 1048576": lambda: mc.Place.grid(cells=2**20),
    "Place.sigma_km must be at most 100,000, got 1e+300": lambda: mc.Place(sigma_km=1e300),
    "k must be at most 50,000,000 for 2 queries, got 2147483647": lambda: mc.rerank_many(PLAIN, [], 2**31 - 1),
    "Place.sigma_km must be >= 0.001, a metre, got 1e-300": lambda: mc.Place(sigma_km=1e-300),
    "Place.grid.cells must be a whole number >= 2, got 1": lambda: mc.Place.grid(cells=1),
    "Number.sigma must be > 0, got nan": lambda: mc.Number("x", sigma=NAN),
    "Number.sigma must leave at most 4,000,000 bins over the candidates' range, got 1e-09": lambda: spread(
        mc.Number("lat", sigma=1e-9)
    ),
    "Category.missing must be 'last', 'neutral' or 'drop', got 'skip'": lambda: mc.Category("x", missing="skip"),
    "Loud.missing must be 'last', 'neutral' or 'drop', got None": lambda: mc.focus(Loud([], missing=None)),
    # Methods
    "Mascot.strength must be in 0..1, got 1.5": lambda: mc.Mascot(1.5),
    "Mascot.protect must be a whole number >= 0, got -1": lambda: mc.rerank(hits(), [], protect=-1),
    "Mascot.normalize must be True or False, got 'no'": lambda: mc.Mascot(normalize="no"),
    "Mascot.keep must be in 0..1 and above 0, got 0": lambda: mc.Mascot(keep=0),
    "Mascot.keep searches for the strength: give keep or strength, got keep=0.9 and strength=0.5": lambda: mc.rerank(
        hits(), [], keep=0.9, strength=0.5
    ),
    "Mascot.bin_weight must be 'uniform' or 'query', got 'omega'": lambda: mc.Mascot(bin_weight="omega"),
    "Mascot.order must be 'relevance' or 'selection', got 'best'": lambda: mc.Mascot(order="best"),
    "Mmr cannot focus: it would select what spread selects. Name a value": lambda: mc.rerank(
        hits(), mc.focus("who"), method=mc.Mmr()
    ),
    # Wishes
    "a wish needs an attribute such as Place() or Category('camera'), got <class": lambda: mc.spread(mc.Place),
    "Wish.sign must be 1 (spread) or -1 (focus), got 0": lambda: Wish(mc.Category("c"), 0),
    "spread(place).weight must be > 0, got '2'": lambda: mc.spread(mc.Place(), "2"),
    "spread(who).weight must be at most 1e100, got 1e+101": lambda: mc.spread("who", 1e101),
    "spread(hour) cannot have near: only focus can, got 18": lambda: Wish(mc.HourOfDay(), 1, near=18),
    "focus(loud): near needs an attribute with point(value), got <": lambda: near(Loud([]), 1),
    f"{WITHIN} > 0, got nan": lambda: near(mc.HourOfDay(), 18, within=NAN),
    "focus(hour).within needs near, the value it is measured from, got 2": lambda: mc.focus(mc.HourOfDay(), within=2),
    "focus(who).within needs an attribute with distances, got labels: 2": lambda: mc.rerank(
        hits(), near("who", "a", within=2)
    ),
    f"{LABEL}, got nan": lambda: near("c", NAN),
    "near must be a dictionary of name: value, got (1, 2)": near_is_no_mapping,
    "near['who'] must be a focus with near: lat, got 'a'": lambda: rerank_near(who="a"),
    "Number near must be a number, got 'dear'": lambda: rerank_near(lat="dear"),
    "Date near must be a time (ISO, EXIF or datetime), got (1, 2)": lambda: near(mc.Date(), (1, 2)),
    "Weekday near must be a day of the week or a time, got 'Caturday'": lambda: near(mc.Weekday(), "Caturday"),
    "HourOfDay near must be an hour like 18 or 18:30, got '25:99'": lambda: near(mc.HourOfDay(), "25:99"),
    "limit(who).n must be a whole number >= 1, got 2.0": lambda: mc.limit("who", 2.0),
    "limit(hour) must name values from 0:00 to 23:00, got '18'": lambda: mc.limit(mc.HourOfDay(), {18: 1}),
    "share(weekday) must name values from Monday to Sunday": lambda: mc.share(mc.Weekday("t"), {"monday": 0.5}),
    "limit(who).fill must be True or False, got 1": lambda: mc.limit("who", 2, fill=1),
    "share(who)['a'] must be in 0..1, got -0.1": lambda: mc.share("who", {"a": -0.1}),
    "share(who) must name each value once": lambda: mc.share("who", {5: 0.1, "5": 0.2}),
    "share(who) must sum to at most 1, got 1.2": lambda: mc.share("who", {"a": 0.6, "b": 0.6}),
    "share(who) needs a dictionary of value: share, got {}": lambda: mc.share("who", {}),
    "limit(who) contradicts share(who): 'a' is to have 12 of 20 results, and at most 3": lambda: mc.rerank(
        hits(), [mc.limit("who", 3), mc.share("who", {"a": 0.6})]
    ),
    "limit and share count named values: use a column of cities or countries, got Place": lambda: mc.rerank(
        hits(), mc.limit(mc.Place(), 1)
    ),
    # Dictionaries
    "from_dict needs a dictionary as returned by to_dict(), got [1]": lambda: mc.from_dict([1]),
    "kind must be one of Category, Clusters,": lambda: mc.from_dict({"kind": ["Mmr"]}),
    "Place does not take {'latitude': 'x'}": lambda: mc.from_dict({"kind": "Place", "latitude": "x"}),
    "spread does not take {'near': 3}": lambda: mc.from_dict({"spread": "who", "near": 3}),
    "a wish must have exactly one of spread, focus, limit, at_least, share, got 'spread, limit'": lambda: mc.from_dict(
        {"spread": "who", "limit": "who"}
    ),
}


@pytest.mark.parametrize(("text", "call"), [*INPUT.items(), *OPTIONS.items()], ids=[*INPUT, *OPTIONS])
def test_the_error_names_owner_rule_and_value(text: str, call: Any) -> None:
    with pytest.raises(mc.InputError if text in INPUT else mc.OptionError) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_a_value_that_no_candidate_has_is_reported_and_is_not_an_error() -> None:
    ranking = mc.rerank(hits(), [mc.share("who", {"a": 0.5, "zoe": 0.5})], 2)
    assert ranking.ids == [0, 1]
    assert ranking.explain().notes == ("share who: 0 of 1 from zoe (no candidate has it)",)
    assert mc.rerank(hits(), mc.focus("who", near="zoe"), 2).ids == [0, 1]


def test_no_candidates_give_an_empty_ranking() -> None:
    empty = mc.Candidates(scores=[], columns={"who": []})
    for method in (mc.Mascot(), mc.Mascot(keep=0.9), mc.Mmr(), mc.Relevance()):
        for backend in ("numpy", "native"):
            ranking = mc.rerank(empty, mc.spread("who"), 5, method, backend=backend)
            assert (ranking.ids, ranking.to_dict()["results"], ranking.explain().results) == ([], [], [])
    assert mc.rerank(empty, [mc.limit("who", 1), mc.share("who", {"a": 0.2})], 5).ids == []
    assert mc.rerank_many([empty, hits()], mc.spread("who"), 2).ids == [[], [0, 1]]
    assert mc.rerank(mc.Candidates.from_records([]), mc.spread("who")).records() == []


def test_ids_of_earlier_pages_that_are_no_longer_candidates_are_ignored() -> None:
    assert mc.rerank(hits(), mc.spread("who"), k=99, already=[7, 0, "gone"]).ids == [1]


def test_all_are_value_errors_of_one_family() -> None:
    for error in (mc.InputError, mc.OptionError, mc.MissingExtra):
        assert issubclass(error, mc.MascotError)
    assert issubclass(mc.MascotError, ValueError)
    assert issubclass(mc.MissingExtra, ImportError)
