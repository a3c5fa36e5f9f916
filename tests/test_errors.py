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

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def membership(self, columns: Any, vectors: Any) -> Any:
        return self.rows

    def features(self, columns: Any, vectors: Any) -> Any:
        return np.zeros((2, 1))


INPUT = {
    "scores must be finite, got nan at position 1": lambda: mc.Candidates(scores=[1.0, np.nan]),
    "scores must be finite, got inf at position 0": lambda: mc.Candidates(scores=[np.inf, 1.0]),
    "scores must be numbers, got ['a', 'b']": lambda: mc.Candidates(scores=["a", "b"]),
    "scores must have 1 dimension(s), got 2": lambda: mc.Candidates(scores=[[1.0]]),
    "Candidates.scores must hold at least one candidate, got none": lambda: mc.Candidates(scores=[]),
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
    "already must name candidates of this query, got 7": lambda: mc.rerank(hits(), [], already=[7]),
    "rerank_many needs at least one query, got none": lambda: mc.rerank_many([], []),
    "Candidates must all have the columns ['a'], got ['b']": lambda: mc.rerank_many(
        [mc.Candidates(scores=[1], columns={"a": [1]}), mc.Candidates(scores=[1], columns={"b": [1]})], []
    ),
    "Reranker must be fitted to a corpus first: call fit(columns, vectors)": lambda: mc.Reranker([]).rerank([0], [1.0]),
    "Reranker.fit needs columns or vectors, got neither": lambda: mc.Reranker([]).fit(),
    "rows must lie in 0..1, got 2": lambda: mc.Reranker([]).fit(HIT).rerank([0, 2], [1.0, 0.5]),
    "scores must have 2 values like rows, got 1": lambda: mc.Reranker([]).fit(HIT).rerank([0, 1], [1.0]),
}

OPTIONS = {
    "k must be a whole number >= 1, got 0": lambda: mc.rerank(hits(), [], 0),
    "k must be a whole number >= 1, got 2.5": lambda: mc.rerank(hits(), [], 2.5),  # type: ignore[arg-type]
    "backend must be one of auto, numpy, numba, gpu, got 'cuda'": lambda: mc.rerank(hits(), [], backend="cuda"),
    "wishes must be spread(...) or focus(...), got Place(": lambda: mc.rerank(hits(), [mc.Place()]),  # type: ignore[list-item]
    "Place.sigma_km must be > 0, got 0": lambda: mc.Place(sigma_km=0),
    "Place.grid.sigma must be > 0, got -1": lambda: mc.Place.grid(sigma=-1),
    "Place.grid.cells must be >= 2, got 1": lambda: mc.Place.grid(cells=1),
    "HourOfDay.sigma must be > 0, got 0.0": lambda: mc.HourOfDay(sigma=0.0),
    "HourOfDay.bins must be >= 1, got 0": lambda: mc.HourOfDay(bins=0),
    "Cycle.period must be > 0, got 0": lambda: mc.Cycle("x", period=0),
    "Number.sigma must be > 0, got nan": lambda: mc.Number("x", sigma=float("nan")),
    "Date.sigma_days must be > 0, got -3": lambda: mc.Date(sigma_days=-3),
    "Clusters.count must be >= 1, got 0": lambda: mc.Clusters(0),
    "Category.missing must be 'last', 'neutral' or 'drop', got 'skip'": lambda: mc.Category("x", missing="skip"),  # type: ignore[arg-type]
    "Mascot.strength must be in 0..1, got 1.5": lambda: mc.Mascot(1.5),
    "Mascot.protect must be a whole number >= 0, got -1": lambda: mc.Mascot(protect=-1),
    "Mascot.protect must be a whole number >= 0, got 1.5": lambda: mc.Mascot(protect=1.5),  # type: ignore[arg-type]
    "Mascot.strength must be in 0..1, got '0.5'": lambda: mc.Mascot("0.5"),  # type: ignore[arg-type]
    "Mascot.keep must be in 0..1 and above 0, got 0": lambda: mc.Mascot(keep=0),
    "Mascot.keep finds the strength itself: give keep or strength, got keep=0.9 and strength=0.5": lambda: mc.Mascot(
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
    "Place cannot be made of {'latitude': 'x'}": lambda: mc.from_dict({"kind": "Place", "latitude": "x"}),
}


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
