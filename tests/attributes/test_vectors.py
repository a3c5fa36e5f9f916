"""Vectors: what spread, focus, near and limit select, and what bad input gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mascot as mc

V = mc.Vectors()
RNG = np.random.default_rng(3)
ANGLES = np.radians([0, 2, 40, 42, 90, 180])
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
SCORES = [0.9, 0.89, 0.88, 0.87, 0.86, 0.85]


def hits(vectors: Any = CIRCLE, ids: Any = tuple("abcdef"), scores: Any = SCORES) -> mc.Candidates:
    return mc.Candidates(scores, ids=list(ids), vectors=vectors)


def test_spread_shows_unlike_results_and_focus_shows_alike_ones() -> None:
    assert set(mc.rerank(hits(), mc.spread(V), 3, strength=0.95, protect=1).ids) == {"a", "e", "f"}
    assert set(mc.rerank(hits(), mc.focus(V), 3, strength=0.8, protect=1).ids) == {"a", "b", "c"}


@pytest.mark.parametrize("near", ["f", [-1.0, 0.0], np.array([-2, 0]), (-1e200, 0.0)])
def test_near_takes_a_vector_or_an_id(near: Any) -> None:
    assert mc.rerank(hits(), mc.focus(V, near=near), 1, strength=0.9).ids == ["f"]


def test_near_an_id_is_found_in_every_query() -> None:
    other = hits(CIRCLE[::-1], "fedcba")
    many = mc.rerank_many([hits(), other], mc.focus(V, near="e"), 1, strength=0.95)
    assert many.ids == [["e"], ["e"]]
    ranker = mc.Reranker(mc.focus(V, near="e")).fit(vectors=CIRCLE, ids=list("abcdef"))
    assert "cosine 1.00 to e" in str(ranker.rerank([5, 4, 3], [0.3, 0.2, 0.1], 1).explain())


def test_a_limit_shows_no_two_near_copies() -> None:
    result = mc.rerank(hits(), mc.limit(V, 1), 6)
    assert result.ids == ["a", "c", "e", "f"]
    assert {reason.because for reason in result.explain().left_out} == {
        "a near-copy of a is already shown",
        "a near-copy of c is already shown",
    }
    assert mc.rerank(hits(), mc.limit(V, 2), 6).ids == list("abcdef")
    assert mc.rerank(hits(), mc.limit(V, 1, fill=True), 6, order="relevance").ids == list("abcdef")
    assert mc.rerank(hits(), mc.limit(mc.Vectors(copies=0.7), 1), 6).ids == ["a", "e", "f"]
    assert mc.rerank(hits(), mc.limit(V, 1), 3, pin=["b"]).ids == ["b", "c", "e"]
    assert mc.rerank(hits(), mc.limit(V, 1), 3, mc.Relevance()).ids == ["a", "c", "e"]


def test_protection_passes_over_near_copies_and_nothing_else() -> None:
    """At 40 degrees the cosine is 0.77: alike, but not a copy."""
    page = mc.rerank(hits(), mc.spread(V), 3, strength=0.01, protect=2)
    assert page._selection.positions[0, :2].tolist() == [0, 2]
    strict = mc.rerank(hits(), mc.spread(mc.Vectors(copies=0.7)), 3, strength=0.01, protect=2)
    assert strict._selection.positions[0, :2].tolist() == [0, 4]


def test_protection_shows_the_best_matches_of_unlike_vectors() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        pool = mc.Candidates(np.sort(rng.random(100))[::-1], vectors=rng.normal(size=(100, 32)) + 0.8)
        assert {0, 1, 2} <= set(mc.rerank(pool, mc.spread(V), 10, protect=3).ids)


def test_the_dial_of_vectors_is_even() -> None:
    """The mean distance goes from the plain page to the end: up for a spread, down for a focus."""
    distances: dict[float, list[list[float]]] = {1: [], -1: []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        vectors = rng.normal(size=(10, 24))[rng.integers(0, 10, 150)] + 0.6 * rng.normal(size=(150, 24)) + 0.5
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        pool = mc.Candidates(np.sort(rng.beta(2, 5, 150))[::-1], vectors=vectors)
        for wish in (mc.spread(V), mc.focus(V)):
            pages = [mc.rerank(pool, wish, 10, strength=step / 10).positions for step in range(11)]
            rows = [float(1 - (unit[page] @ unit[page].T).mean()) for page in pages]
            distances[wish.sign].append(rows)
    for sign, rows in distances.items():
        means = np.mean(rows, axis=0)
        assert (sign * np.diff(means) >= -0.01).all()
        assert 0.25 <= (means[5] - means[0]) / (means[-1] - means[0]) <= 0.75


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8, np.int64, np.uint8, bool, list])
def test_types_of_numbers_do_not_matter(kind: Any) -> None:
    vectors = np.eye(6, 4).astype(int)[[0, 1, 2, 3, 0, 1]]
    wanted = mc.rerank(hits(vectors.astype(float)), mc.spread(V), 4).ids
    assert mc.rerank(hits(vectors.tolist() if kind is list else vectors.astype(kind)), mc.spread(V), 4).ids == wanted


@pytest.mark.parametrize("factor", [1e-300, 1e-30, 1e30, 1e300])
def test_lengths_do_not_matter(factor: float) -> None:
    vectors = CIRCLE * np.array([factor, 1, 1, factor, 1, 1])[:, None]
    assert mc.rerank(hits(vectors), mc.spread(V), 3).ids == mc.rerank(hits(), mc.spread(V), 3).ids


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_one_candidate_equal_and_missing_vectors_have_a_result(backend: Any) -> None:
    one = mc.Candidates([1.0], vectors=[[1.0, 2.0]])
    for wish in (mc.spread(V), mc.focus(V), mc.limit(V, 1)):
        assert mc.rerank(one, wish, 3, backend=backend).ids == [0]
    for vectors in (np.ones((6, 3)), np.zeros((6, 3)), np.full((6, 3), np.nan)):
        for wish in (mc.spread(V), mc.focus(V), mc.spread(mc.Vectors(missing="neutral"))):
            assert mc.rerank(hits(vectors), wish, 3, backend=backend).ids == ["a", "b", "c"]
    gaps = [*CIRCLE[:3], None, [0.0, 0.0], CIRCLE[5]]
    assert set(mc.rerank(hits(gaps), mc.spread(mc.Vectors(missing="drop")), 6, backend=backend).ids) == set("abcf")
    assert set(mc.rerank(hits(gaps), mc.focus(V), 4, mc.Mascot(1.0), backend=backend).ids) == set("abcf")


REPEATED = {
    "focus": ([mc.focus(V)], mc.Mascot()),
    "focus, keep": ([mc.focus(V)], mc.Mascot(keep=0.8)),
    "spread, keep": ([mc.spread(V)], mc.Mascot(keep=0.8)),
    "focus beside a label": ([mc.focus(mc.Vectors(missing="neutral")), mc.spread("label")], mc.Mascot(0.8)),
    "focus under limits": ([mc.focus(V), mc.limit("label", 3, fill=True), mc.limit(V, 2)], mc.Mascot(0.8)),
    "Mmr": ([], mc.Mmr(0.7)),
    "Mmr, keep": ([], mc.Mmr(keep=0.8)),
    "Mmr, raw scores": ([], mc.Mmr(1.0, normalize=False)),
}


@pytest.mark.parametrize("case", REPEATED)
def test_stored_similarities_select_what_the_reference_selects(case: str) -> None:
    """Starts and strengths pick candidates again; vectors are copies, whole numbers, zeros or any."""
    wishes, method = REPEATED[case]
    for seed, (size, kind) in enumerate(((7, "any"), (90, "copies"), (150, "whole"), (300, "any"))):
        rng = np.random.default_rng(seed)
        vectors = rng.normal(size=(size, 5))
        vectors = np.round(vectors) if kind == "whole" else vectors
        vectors = vectors[rng.integers(0, size // 3, size)] if kind == "copies" else vectors
        columns = {"label": [str(label) for label in rng.integers(0, 6, size)]}
        candidates = mc.Candidates(np.sort(rng.random(size))[::-1], columns=columns, vectors=vectors)
        for already in ([], [1, 2]):
            slow, fast = (mc.rerank(candidates, wishes, 12, method, already, name) for name in ("numpy", "native"))
            assert slow.positions.tolist() == fast.positions.tolist()


ERRORS = {
    "Candidates.vectors must hold vectors of one length, got 3 numbers at 1, 2 before": lambda: mc.Candidates(
        [1, 2], vectors=[[1, 2], [1, 2, 3]]
    ),
    "Vectors needs vectors, got none": lambda: mc.rerank(mc.Candidates([1, 2]), mc.spread(V)),
    "Vectors must have one length in all queries, got 2 and 3": lambda: mc.rerank_many(
        [hits(), hits(np.ones((6, 3)))], mc.spread(V)
    ),
    "focus(vectors).near must have 2 numbers like the vectors, got 3": lambda: mc.rerank(
        hits(), mc.focus(V, near=[1, 2, 3])
    ),
    "Vectors near must be finite numbers that are not all 0, or the id of a candidate, got [0, 0]": lambda: mc.focus(
        V, near=[0, 0]
    ),
    "focus(vectors) near must be numbers or the id of a candidate that has a vector, got 'd'": lambda: mc.rerank(
        hits([*CIRCLE[:3], None, *CIRCLE[4:]]), mc.focus(V, near="d")
    ),
    "Vectors.copies must be in 0..1, got 2": lambda: mc.Vectors(copies=2),
    "share(vectors) needs an attribute with labels": lambda: mc.rerank(hits(), mc.share(V, {"a": 0.5})),
    "vectors are read by a wish or a method: ask for spread(mc.Vectors())": lambda: mc.rerank(hits(), []),
}


@pytest.mark.parametrize("message", ERRORS)
def test_bad_input_is_refused_in_one_sentence(message: str) -> None:
    with pytest.raises(mc.MascotError) as error:
        ERRORS[message]()
    assert str(error.value).startswith(message)


def test_wishes_survive_a_dictionary_and_a_file(tmp_path: Path) -> None:
    wishes = [mc.spread(V, 2), mc.focus(V, near=[1.0, 0.5]), mc.focus(V, near="b"), mc.limit(V, 1)]
    assert [mc.from_dict(wish.to_dict()) for wish in wishes] == wishes
    ranker = mc.Reranker([mc.spread(V), mc.focus(V, near=[0.0, 1.0]), mc.limit(V, 1)]).fit(vectors=CIRCLE)
    ranker.save(tmp_path / "corpus.npz")
    loaded, rows = mc.Reranker.load(tmp_path / "corpus.npz"), [5, 4, 3, 2, 1, 0]
    assert loaded.rerank(rows, SCORES, 4).ids == ranker.rerank(rows, SCORES, 4).ids


def test_a_column_of_vectors_is_the_same_as_vectors() -> None:
    columns = mc.Candidates(SCORES, ids=list("abcdef"), columns={"v": CIRCLE.tolist()})
    assert mc.rerank(columns, mc.spread(mc.Vectors("v")), 3).ids == mc.rerank(hits(), mc.spread(V), 3).ids
    batch = mc.Batch([SCORES, SCORES], vectors=[CIRCLE, CIRCLE[::-1]])
    assert mc.rerank_many(batch, mc.spread(V), 3).positions.shape == (2, 3)


def test_diversify_is_a_spread_of_the_vectors() -> None:
    rng = np.random.default_rng(5)
    vectors, scores = rng.normal(size=(40, 6)), pd.Series(rng.random(40), index=rng.permutation(40))
    candidates = mc.Candidates(scores.tolist(), vectors=vectors)
    options: dict[str, Any]
    for options in ({}, {"strength": 0.9}, {"keep": 0.8}):
        page = mc.diversify(vectors.tolist(), scores, 8, **options)
        assert page.ids == page.positions.tolist()
        assert page.ids == mc.rerank(candidates, mc.spread(mc.Vectors()), 8, **options).ids
    assert len(mc.diversify(vectors, scores)) == 10
