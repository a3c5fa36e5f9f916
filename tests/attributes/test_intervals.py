"""Numbers in intervals: of a skewed column, of edges that are given, and of a logarithmic scale."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mascot as mc
from mascot.attributes.line import interval_names, is_skewed
from mascot.server.rerank.rerank_task import RerankTask

COUNT = 200


def prices(seed: int, width: float = 1.0) -> Any:
    return np.random.default_rng(seed).lognormal(3, width, COUNT).round(2)


def hits(seed: int, **columns: Any) -> mc.Candidates[int]:
    scores = np.random.default_rng([seed, 1]).random(COUNT)
    return mc.Candidates(scores, columns={"price": prices(seed), **columns})


def thirds(page: mc.Ranking[int], values: Any) -> list[int]:
    """Return how many results are from the cheap, the middle and the dear third of the candidates."""
    rank = np.argsort(np.argsort(values, kind="stable"))
    return np.bincount(rank[page.positions] * 3 // COUNT, minlength=3).tolist()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "wish", [mc.spread("price"), mc.spread(mc.Number("price", scale="log"))], ids=["skewed", "log"]
)
def test_cheap_middle_and_dear_are_shown_alike(wish: mc.Wish, seed: int) -> None:
    counts = thirds(mc.rerank(hits(seed), wish, k=9, strength=0.7), prices(seed))
    least = 2 if wish == mc.spread("price") else 1
    assert min(counts) >= least
    assert max(counts) <= 4 + (least == 1)
    even = thirds(mc.rerank(hits(seed), mc.spread(mc.Number("price", scale="linear")), k=9, strength=0.7), prices(seed))
    assert even[2] > counts[2]


def test_the_rule_of_skewness() -> None:
    rng = np.random.default_rng(0)
    skewed = np.sort(prices(0))
    assert is_skewed(skewed)
    assert is_skewed(-skewed[::-1])
    assert not is_skewed(np.sort(rng.normal(size=COUNT)))
    assert not is_skewed(np.sort(rng.random(COUNT)))
    assert not is_skewed(skewed[:11])
    assert not is_skewed(np.full(20, 3.0))
    gaps = np.where(rng.random(COUNT) < 0.3, np.nan, prices(0))
    bins = mc.Number("price").spread_membership({"price": gaps}, None)
    assert bins.missing().tolist() == np.isnan(gaps).tolist()
    assert bins.count == 9


def test_other_columns_and_wishes_have_even_bins() -> None:
    column, linear = mc.Number("price"), mc.Number("price", scale="linear")
    even = hits(0, price=np.random.default_rng(0).random(COUNT))
    assert mc.rerank(even, mc.spread(column), 9).ids == mc.rerank(even, mc.spread(linear), 9).ids
    for focus in ({}, {"near": 20.0}):
        assert (
            mc.rerank(hits(0), mc.focus(column, **focus), 9).ids == mc.rerank(hits(0), mc.focus(linear, **focus), 9).ids
        )
    wide = mc.Number("price", sigma=3.0)
    assert mc.rerank(hits(0), mc.spread(wide), 9).ids != mc.rerank(hits(0), mc.spread(column), 9).ids


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_many_queries_are_ranked_as_one_by_one(backend: Any) -> None:
    columns = [prices(1), np.random.default_rng(0).random(COUNT), prices(2, 0.8), prices(3)]
    queries = [hits(at, price=column) for at, column in enumerate(columns)]
    alone = [mc.rerank(query, mc.spread("price"), 9).ids for query in queries]
    assert mc.rerank_many(queries, mc.spread("price"), 9, backend=backend).ids == alone
    batch = mc.Batch([query.scores for query in queries], columns={"price": columns})
    assert mc.rerank_many(batch, mc.spread("price"), 9, backend=backend).ids == alone


EDGES = mc.Number("price", edges=[10, 20.5, 50])
NAMES = ("below 10", "10 to 20.5", "20.5 to 50", "50 and more")


def test_rules_count_intervals() -> None:
    candidates = mc.Candidates([6, 5, 4, 3, 2, 1], columns={"price": [9.99, 5.0, 10.0, 20.5, 49.0, None]})
    assert EDGES.value_names == NAMES
    assert mc.rerank(candidates, mc.limit(EDGES, 1)).ids == [0, 2, 3, 5]
    assert mc.rerank(candidates, mc.limit(EDGES, {"below 10": 1, "20.5 to 50": 1})).ids == [0, 2, 3, 5]
    assert mc.rerank(candidates, mc.share(EDGES, {"20.5 to 50": 0.5}), 2, protect=0).ids == [0, 3]
    assert mc.rerank(candidates, mc.at_least(EDGES, {"20.5 to 50": 2}), 3, protect=0).ids == [0, 3, 4]
    assert mc.rerank(candidates, mc.spread(EDGES), 3, strength=1.0).ids == [0, 2, 3]
    assert mc.rerank(candidates, mc.focus(EDGES, near=49), 1, strength=1.0).ids == [4]
    missed = mc.rerank(candidates, mc.limit(EDGES, {"50 and more": 1})).missed_rules()
    assert [rule.value for rule in missed] == ["50 and more"]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=6, unique=True), st.lists(st.floats(-1e9, 1e9), min_size=1))
def test_every_number_is_in_the_interval_of_its_name(edges: list[float], values: list[float]) -> None:
    bins = mc.Number("x", edges=sorted(edges)).labels({"x": np.array(values)}, None)
    bounds = list(pairwise([-np.inf, *sorted(edges), np.inf]))
    assert bins.labels == interval_names(sorted(edges))
    assert len(set(bins.labels)) == len(bounds)
    for value, code in zip(values, bins.indices.tolist(), strict=True):
        assert bounds[code][0] <= value < bounds[code][1]


@pytest.mark.parametrize("number", [EDGES, mc.Number("price", scale="log"), mc.Number("price", scale="linear")])
def test_options_are_saved_and_sent(number: mc.Number, tmp_path: Path) -> None:
    wish = mc.spread(number)
    assert mc.from_dict(json.loads(json.dumps(wish.to_dict()))) == wish
    candidates = hits(0)
    wanted = mc.rerank(candidates, wish, 9).ids
    columns = {"price": candidates.columns["price"].tolist()}
    body = {"scores": candidates.scores.tolist(), "columns": columns, "wishes": [wish.to_dict()], "k": 9}
    assert [result.id for result in RerankTask(json.dumps(body).encode()).answer().results] == wanted
    ranker = mc.Reranker(wish).fit(columns)
    ranker.save(tmp_path / "corpus.npz")
    again = mc.Reranker.load(tmp_path / "corpus.npz")
    rows = list(range(COUNT))
    assert again.rerank(rows, candidates.scores, 9).ids == ranker.rerank(rows, candidates.scores, 9).ids == wanted


MISTAKES: dict[str, tuple[Any, list[str]]] = {
    "rule without edges": (lambda: mc.rerank(hits(0), mc.limit(mc.Number("price"), 1)), ["'price'", "edges=[...]"]),
    "unknown interval": (lambda: mc.limit(EDGES, {"10 to 20": 1}), ["below 10", "50 and more", "10 to 20"]),
    "falling": (lambda: mc.Number("price", edges=[20, 10]), ["Number.edges", "ascending", "[20, 10]"]),
    "empty": (lambda: mc.Number("price", edges=()), ["Number.edges"]),
    "no numbers": (lambda: mc.Number("price", edges=["10"]), ["Number.edges", "'10'"]),  # type: ignore[arg-type]
    "not finite": (lambda: mc.Number("price", edges=[0, float("nan")]), ["Number.edges"]),
    "scale": (lambda: mc.Number("price", scale="ln"), ["Number.scale", "'linear'", "'log'"]),  # type: ignore[arg-type]
    "both": (lambda: mc.Number("price", sigma=2, edges=[3]), ["sigma", "edges"]),
    "width of a scale": (lambda: mc.Number("price", sigma=2, scale="log"), ["sigma", "log"]),
    "zero": (
        lambda: mc.rerank([{"score": 1, "likes": 0.0}], mc.spread(mc.Number("likes", scale="log"))),
        ["'likes'", "above 0", "edges"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_named(case: str) -> None:
    call, parts = MISTAKES[case]
    with pytest.raises(mc.MascotError) as error:
        call()
    assert [part for part in parts if part not in str(error.value)] == []
