"""The entry points, what they return, and what importing them costs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import mascot as mc


def corpus(n: int = 300, seed: int = 0) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(seed)
    columns = {
        "lat": rng.uniform(-60, 70, n),
        "lon": rng.uniform(-180, 180, n),
        "hour": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(0, 24, n)),
        "who": rng.choice(["ana", "bo", "cy", "di"], n),
    }
    return columns, rng.normal(size=(n, 8))


ASKED = [
    mc.spread(mc.Place()),
    mc.focus(mc.HourOfDay("hour", missing="neutral"), near=18),
    mc.focus(mc.Category("who"), 0.5, near="bo"),
]
METHODS = [
    mc.Mascot(),
    mc.Mascot.paper(0.3),
    mc.Mascot(keep=0.9),
    mc.Mmr(),
    mc.KDpp(),
    mc.MsDpp(),
    mc.Clustering(clusters=5),
    mc.Relevance(),
]


def queries(count: int, size: int, rows: int, seed: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    taken = np.stack([rng.choice(rows, size, replace=False) for _ in range(count)])
    return taken, np.sort(rng.random((count, size)), axis=1)[:, ::-1]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_a_reranker_ranks_as_rerank_does(method: Any) -> None:
    columns, vectors = corpus()
    asked = ASKED[:1] if isinstance(method, mc.Clustering) else ASKED
    ranker = mc.Reranker(asked, method).fit(columns, vectors)
    rows, scores = queries(4, 40, 300)
    many = ranker.rerank_many(rows, scores, k=10)
    for q in range(4):
        found = mc.Candidates(
            scores=scores[q],
            ids=rows[q],
            columns={name: c[rows[q]] for name, c in columns.items()},
            vectors=vectors[rows[q]],
        )
        alone = mc.rerank(found, asked, 10, method)
        assert ranker.rerank(rows[q], scores[q], 10).ids == alone.ids == many[q].ids
        assert [int(rows[q][i]) for i in many.positions[q]] == alone.ids
        assert many[q].to_dict() == alone.to_dict()


def test_clusters_are_found_in_the_corpus() -> None:
    columns, vectors = corpus()
    ranker = mc.Reranker([mc.spread(mc.Clusters(6))]).fit(columns, vectors)
    labels = mc.Clusters(6).membership(columns, vectors).indices
    rows, scores = queries(1, 50, 300)
    chosen = ranker.rerank(rows[0], scores[0], 9).ids
    assert len(set(labels[chosen])) == 6  # three protected, and six bins to open


def test_a_batch_of_arrays_is_ranked_query_by_query() -> None:
    columns, vectors = corpus(200)
    shape = (5, 40)
    scores = np.random.default_rng(3).random(shape)
    square = {name: c.reshape(shape) for name, c in columns.items()}
    asked = [*ASKED, mc.spread(mc.Clusters(3))]
    many = mc.rerank_many(mc.Batch(scores, square, vectors.reshape(5, 40, 8)), asked, 12)
    assert many.positions.shape == (5, 12)
    for q in range(5):
        found = mc.Candidates(
            scores=scores[q], columns={name: c[q] for name, c in square.items()}, vectors=vectors.reshape(5, 40, 8)[q]
        )
        assert many[q].ids == mc.rerank(found, asked, 12).ids
    assert [ranking.ids for ranking in many] == [many[q].ids for q in range(-5, 0)]
    assert len(many[1:3]) == 2


def test_queries_of_several_lengths_and_dropped_candidates() -> None:
    columns, _ = corpus()
    ranker = mc.Reranker([mc.spread(mc.HourOfDay("hour", missing="drop"))]).fit(columns)
    rows = [np.arange(5), np.arange(5, 60)]
    scores = [np.linspace(1, 0, 5), np.linspace(1, 0, 55)]
    many = ranker.rerank_many(rows, scores, k=10)
    known = ~np.isnan(columns["hour"])
    assert (many.positions[0] >= 0).sum() == known[:5].sum()
    for q in range(2):
        assert known[many[q].ids].all()
        assert many[q].ids == [int(rows[q][i]) for i in many.positions[q] if i >= 0]
        assert many[q].ids == ranker.rerank(rows[q], scores[q], 10).ids


def test_already_shown_ids_and_pages_through_many() -> None:
    columns, _ = corpus()
    names = [f"photo {i}" for i in range(300)]
    ranker = mc.Reranker(ASKED).fit(columns, ids=names)
    rows, scores = queries(3, 60, 300)
    first = ranker.rerank_many(rows, scores, 10)
    second = ranker.rerank_many(rows, scores, 10, already=first)
    for q in range(3):
        assert first[q].ids[0].startswith("photo ")
        assert not set(first[q].ids) & set(second[q].ids)
        assert second[q].ids == ranker.rerank(rows[q], scores[q], 10, already=first[q].ids).ids


def test_a_ranking_tells_what_it_is() -> None:
    columns, vectors = corpus(60)
    found = mc.Candidates(scores=np.linspace(2, 1, 60), columns=columns, vectors=vectors)
    ranking = mc.rerank(found, ASKED, 10)
    assert ranking.relevance.tolist() == sorted(ranking.relevance, reverse=True)
    assert (ranking.was == ranking.positions + 1).all()
    assert list(ranking.gains) == ["relevance", "place", "hour", "who"]
    explained = ranking.explain()
    for place, reason in enumerate(explained.results):
        assert reason.id == ranking.ids[place]
        assert reason.gain == pytest.approx(sum(values[place] for values in ranking.gains.values()))
    chosen = sorted(explained.results, key=lambda reason: reason.step or 0)
    assert [reason.step for reason in chosen] == list(range(1, 11))
    left = explained.left_out
    assert [reason.step for reason in left] == [None] * 3
    assert not {reason.id for reason in left} & set(ranking.ids)
    assert all(reason.gain <= chosen[-1].gain + 1e-9 for reason in left)
    assert all("below the last one chosen" in reason.because for reason in left)
    text = str(explained)
    assert text.startswith("spread place, focus hour near 18, focus who near bo x 0.5; strength 0.5")
    assert "left out" in text
    data = json.loads(json.dumps([ranking.to_dict(), explained.to_dict()]))
    assert data[0]["results"][0]["id"] == ranking.ids[0]
    assert mc.from_dict(data[0]["method"]) == mc.Mascot()
    assert [mc.from_dict(wish) for wish in data[0]["wishes"]] == ASKED
    assert repr(ranking).startswith("Ranking(10: [0, 1, 2")


def test_gains_are_the_objective_s() -> None:
    """The sum of all gains is the value of the chosen set."""
    columns, _ = corpus(80)
    found = mc.Candidates(scores=np.random.default_rng(0).random(80), columns=columns)
    asked = [mc.spread(mc.Place.grid()), mc.focus(mc.Category("who"))]
    for weight in ("query", "uniform"):
        ranking = mc.rerank(found, asked, 15, mc.Mascot.paper(0.4, weight))  # type: ignore[arg-type]
        r = (found.scores - found.scores.min()) / (np.ptp(found.scores) + 1e-8)
        value = 0.6 * r[ranking.positions].sum()
        for wish in asked:
            p = wish.attribute.membership(columns, None).sparse().dense()
            omega = (p * r[:, None]).max(axis=0) if weight == "query" else np.ones(p.shape[1])
            value += wish.sign * 0.4 * (omega * (1 - np.prod(1 - p[ranking.positions], axis=0))).sum()
        assert sum(values.sum() for values in ranking.gains.values()) == pytest.approx(value)


def test_baselines_explain_themselves_by_rank() -> None:
    columns, vectors = corpus(60)
    found = mc.Candidates(scores=np.linspace(2, 1, 60), columns=columns, vectors=vectors)
    ranking = mc.rerank(found, ASKED, 5, mc.Mmr(0.3))
    assert ranking.gains == {}
    assert str(ranking.explain()).count("\n") >= 5


def test_methods_are_values() -> None:
    for method in METHODS:
        assert mc.from_dict(method.to_dict()) == method
        assert hash(mc.from_dict(method.to_dict())) == hash(method)
    assert mc.Mascot.paper(0.4) == mc.Mascot(0.4, 0, "query", True, scale=False, order="selection")
    assert mc.Mascot().strength == 0.5
    assert mc.Mascot(keep=0.9).strength is None


def in_a_fresh_process(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_import_loads_numpy_alone() -> None:
    heavy = (
        "['native', 'torch', 'PIL', 'fastapi', 'scipy', 'sklearn', 'pandas', 'typer', 'rich', 'matplotlib', 'sqlite3']"
    )
    code = f"import sys, mascot; print([name for name in {heavy} if name in sys.modules])"
    assert in_a_fresh_process(code) == "[]"


def test_a_first_single_rerank_needs_no_compiler() -> None:
    code = (
        "import sys, mascot as mc, numpy as np; r = np.random.default_rng(0);"
        "c = mc.Candidates(scores=r.random(200), columns={'lat': r.uniform(-90, 90, 200),"
        "'lon': r.uniform(-180, 180, 200), 'taken': r.uniform(0, 24, 200)});"
        "print(len(mc.rerank(c, [mc.spread(mc.Place()), mc.focus(mc.HourOfDay())], 20)), 'native' in sys.modules)"
    )
    assert in_a_fresh_process(code) == "20 False"
