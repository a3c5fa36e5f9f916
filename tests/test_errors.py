"""Bad input raises one of a few exceptions, and the text names the owner, the rule and the value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mascot as mc

NAN = float("nan")
HUGE = 10**400  # an integer beyond every float
LONG = 10**5000  # one that Python does not write in digits
HIT = {"lat": [1.0, 2.0], "lon": [3.0, 4.0], "taken": ["2020-01-01", None], "who": ["a", "b"]}
MASKED = np.ma.array([1, 2], mask=[0, 1])


def hits(**changes: Any) -> mc.Candidates:
    return mc.Candidates(scores=[0.9, 0.1], columns={**HIT, **changes}, vectors=[[1.0, 0.0], [0.0, 1.0]])


def spread(attribute: Any, method: Any = None, **changes: Any) -> mc.Ranking:
    return mc.rerank(hits(**changes), mc.spread(attribute), 1, method)


def near(attribute: Any, value: Any, **options: Any) -> mc.Wish:
    return mc.focus(attribute, near=value, **options)


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


INPUT = {
    # Scores and ids
    "scores must be finite, got nan at position 1": lambda: mc.Candidates([1.0, NAN]),
    "scores must be numbers, got ['a', 'b']": lambda: mc.Candidates(["a", "b"]),
    "scores must not be masked, got a masked value at position 1": lambda: mc.Candidates(MASKED),
    "scores must be below 1.8e308, got a larger integer": lambda: mc.Candidates([HUGE, 1]),
    "scores must have the same number of values in each query, got 1 or 2": lambda: mc.Batch([[1, 2], [3]]),
    "scores must be within -1e150..1e150 without rescaling, got 1e+151": lambda: mc.rerank(
        mc.Candidates([1.0, -1e151]), [], 1, mc.Mascot(normalize=False)
    ),
    "Batch.scores must hold at least one candidate, got none": lambda: mc.Batch([[]]),
    "Candidates.ids must have 2 entries like the candidates, got 1": lambda: mc.Candidates([1, 2], ids=["a"]),
    # Columns and vectors
    "Candidates.columns['x'] must have 2 values like scores, got 1": lambda: mc.Candidates([1, 2], None, {"x": [1]}),
    "Candidates.vectors must be 2 x D like scores, got 3 x 1": lambda: mc.Candidates([1, 2], vectors=[[1]] * 3),
    "Candidates.from_records needs 'score' in every record, got none at position 1": lambda: mc.Candidates.from_records(
        [{"score": 1.0}, {"id": 2}]
    ),
    "Category needs column 'nope', got columns: lat, lon, taken, who": lambda: spread("nope"),
    "Category column 'who' must hold hashable labels, got {'a': 1}": lambda: spread("who", who=[{"a": 1}, {}]),
    "Place column 'lat' must be a latitude in -90..90, got 90.5": lambda: spread(mc.Place(), lat=[1.0, 90.5]),
    "Number column 'who' must hold numbers: could not convert string to float: 'a'": lambda: spread(mc.Number("who")),
    "Date column 'taken' must hold times (ISO, EXIF or datetime), got 'soon'": lambda: spread(
        mc.Date(), taken=["soon", None]
    ),
    "Branches compares all pairs and takes at most 10000 rows, got 10001": lambda: mc.Branches().membership(
        {}, np.ones((10_001, 1))
    ),
    # Attributes of the user's own
    "Loud.membership must lie in 0..1, got 1.5": lambda: spread(Loud([[1.5], [0]])),
    "Loud.membership must be numbers in rows of one length, got [[1], [1, 0]]": lambda: spread(Loud([[1], [1, 0]])),
    "Loud.features must be finite, got nan": lambda: spread(Loud([[1.0], [0.0]], [[1.0], [NAN]]), mc.MsDpp()),
    "Silent.features(columns, vectors) is what this method compares by, got": lambda: spread(Silent(), mc.Mmr()),
    "Loud.point must return a dict of columns by name, got 4.0": lambda: near(Loud([], point=lambda value: 4.0), 4),
    # Places
    "Place: near must be (latitude, longitude), got 'Lisbon'": lambda: near(mc.Place(), "Lisbon"),
    # Calls
    "rerank needs Candidates, got Batch: rerank_many": lambda: mc.rerank(mc.Batch([[1.0]]), []),
    "rerank_many needs a Batch or a list of Candidates, got Candidates": lambda: mc.rerank_many(hits(), []),
    "pin must name candidates by their ids, got 'c'": lambda: mc.rerank(hits(), [], pin=["c"]),
    # A corpus
    "Reranker must be fitted to a corpus first: call fit(columns, vectors)": lambda: mc.Reranker([]).rerank([0], [1.0]),
    "Reranker.remove needs ids of the corpus, got 'z'": lambda: fit(HIT, ids=["a", "b"]).remove(["z"]),
    "scores must have 2 values like rows, got 1": lambda: fit(HIT).rerank([0, 1], [1.0]),
}

OPTIONS = {
    # Calls
    "k must be a whole number >= 1, got True": lambda: mc.rerank(hits(), [], True),
    "k must be below 2**31, got an integer of thousands of digits": lambda: mc.rerank(hits(), [], LONG),
    "k must be at least 2, as many as are pinned, got 1": lambda: mc.rerank(hits(), (), 1, pin=[0, 1]),
    "backend must be one of auto, numpy, native, gpu, got 'cuda'": lambda: mc.rerank(hits(), [], backend="cuda"),
    "method must be a method such as Mascot() or Mmr(), got 'mmr'": lambda: mc.rerank(hits(), [], method="mmr"),
    "wishes must be spread(...), focus(...), limit(...) or share(...), got Place(": lambda: mc.rerank(
        hits(), [mc.Place()]
    ),
    # Attributes
    "Place.sigma_km must be >= 0.001, a metre, got 1e-300": lambda: mc.Place(sigma_km=1e-300),
    "Cycle.period must lie within 1e-150..1e150, got 1e-300": lambda: mc.Cycle("x", period=1e-300),
    "Number.sigma must be > 0, got nan": lambda: mc.Number("x", sigma=NAN),
    "Number.sigma must leave at most 4,000,000 bins over the candidates' range, got 1e-09": lambda: spread(
        mc.Number("lat", sigma=1e-9)
    ),
    "Category.missing must be 'last', 'neutral' or 'drop', got 'skip'": lambda: mc.Category("x", missing="skip"),
    # Methods
    "Mascot.strength must be in 0..1, got 1.5": lambda: mc.Mascot(1.5),
    "Mascot.protect must be a whole number >= 0, got -1": lambda: mc.rerank(hits(), [], protect=-1),
    "Mascot.keep must be in 0..1 and above 0, got 0": lambda: mc.Mascot(keep=0),
    "Mascot.keep searches for the strength: give keep or strength, got keep=0.9 and strength=0.5": lambda: mc.rerank(
        hits(), [], keep=0.9, strength=0.5
    ),
    "Clustering has one direction: wishes must be all spread or all focus": lambda: mc.rerank(
        hits(), [mc.spread("who"), mc.focus("lat")], method=mc.Clustering()
    ),
    "Mmr cannot focus: it would select what spread selects. Name a value": lambda: mc.rerank(
        hits(), mc.focus("who"), method=mc.Mmr()
    ),
    # Wishes
    "a wish needs an attribute such as Place() or Category('camera'), got <class": lambda: mc.spread(mc.Place),
    "spread(who).weight must be at most 1e100, got 1e+101": lambda: mc.spread("who", 1e101),
    "spread(hour) cannot have near: only focus can, got 18": lambda: mc.Wish(mc.HourOfDay(), 1, near=18),
    "focus(hour).within must be > 0, got nan": lambda: near(mc.HourOfDay(), 18, within=NAN),
    "focus(hour).within needs near, the value it is measured from, got 2": lambda: mc.focus(mc.HourOfDay(), within=2),
    "focus(who).within needs an attribute with distances, got labels: 2": lambda: near("who", "a", within=2),
    "Category near must be a label or a list of labels, got nan": lambda: near("c", NAN),
    "HourOfDay near must be an hour like 18 or 18:30, got '25:99'": lambda: near(mc.HourOfDay(), "25:99"),
    "share(who)['a'] must be in 0..1, got 'half'": lambda: mc.share("who", {"a": "half"}),
    "share(who) must sum to at most 1, got 1.2": lambda: mc.share("who", {"a": 0.6, "b": 0.6}),
    "limit(who) contradicts share(who): 'a' is to have 12 of 20 results, and at most 3": lambda: mc.rerank(
        hits(), [mc.limit("who", 3), mc.share("who", {"a": 0.6})]
    ),
    "limit and share count named values: use a column of cities or countries, got Place": lambda: mc.rerank(
        hits(), mc.limit(mc.Place(), 1)
    ),
    # Dictionaries
    "from_dict needs a dictionary as returned by to_dict(), got [1]": lambda: mc.from_dict([1]),
    "Place does not take {'latitude': 'x'}": lambda: mc.from_dict({"kind": "Place", "latitude": "x"}),
}


@pytest.mark.parametrize(("text", "call"), [*INPUT.items(), *OPTIONS.items()], ids=[*INPUT, *OPTIONS])
def test_the_error_names_owner_rule_and_value(text: str, call: Any) -> None:
    with pytest.raises(mc.InputError if text in INPUT else mc.OptionError) as caught:
        call()
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("method", [mc.KDpp(), mc.MsDpp(), mc.Clustering()], ids=repr)
def test_methods_without_quotas_refuse_limits_and_shares(method: Any) -> None:
    for wish in (mc.limit("who", 1), mc.share("who", {"a": 0.5})):
        message = rf"^{type(method).__name__} cannot obey limit\(...\) or share\(...\): use Mascot, Mmr or"
        with pytest.raises(mc.OptionError, match=message):
            mc.rerank(hits(), [mc.spread("who"), wish], 2, method)


def test_a_value_that_no_candidate_has_is_reported_and_is_not_an_error() -> None:
    ranking = mc.rerank(hits(), [mc.share("who", {"a": 0.5, "zoe": 0.5})], 2)
    assert ranking.ids == [0, 1]
    assert ranking.explain().notes == ("share who: 0 of 1 from zoe (no candidate has it)",)
    assert mc.rerank(hits(), mc.focus("who", near="zoe"), 2).ids == [0, 1]


def test_no_candidates_give_an_empty_ranking() -> None:
    empty = mc.Candidates(scores=[], columns={"who": []})
    for method in (mc.Mascot(), mc.Mascot(keep=0.9), mc.Mmr(), mc.KDpp(), mc.MsDpp(), mc.Clustering(), mc.Relevance()):
        for backend in ("numpy", "native"):
            ranking = mc.rerank(empty, mc.spread("who"), 5, method, backend=backend)
            assert (ranking.ids, ranking.to_dict()["results"], ranking.explain().results) == ([], [], [])
    assert mc.rerank(empty, [mc.limit("who", 1), mc.share("who", {"a": 0.2})], 5).ids == []
    assert mc.rerank_many([empty, hits()], mc.spread("who"), 2).ids == [[], [0, 1]]
    assert mc.rerank(mc.Candidates.from_records([]), mc.spread("who")).records() == []


def test_all_are_value_errors_of_one_family() -> None:
    assert all(issubclass(error, mc.MascotError) for error in (mc.InputError, mc.OptionError, mc.MissingExtra))
    assert issubclass(mc.MascotError, ValueError)
    assert issubclass(mc.MissingExtra, ImportError)
