"""Mmr and Relevance against their definitions, on problems of the shape of the published runs."""

import dataclasses

import numpy as np
import pytest

import mascot as mc
from mascot.methods import Mmr, Relevance
from tests.methods import queries
from tests.methods.queries import bursts, features, make_problem, selected, vectors


def test_highest_scores_first_and_ties_by_position():
    assert selected(Relevance(), make_problem(scores=[0.1, 0.9, 0.5, 0.9, 0.5], count=5), 4) == [1, 3, 2, 4]


@pytest.mark.parametrize("method", [Relevance(), Mmr(0.5, published=True)], ids=repr)
@pytest.mark.parametrize("signs", [(1, 1), (-1,)], ids=str)
def test_every_method(method, signs):
    queries.selects_as_every_method(method, signs)


def mmr_by_definition(problem, strength, k, published=True):
    total = problem.weights.sum()
    parts = [s * w / total * f for s, w, f in zip(problem.signs, problem.weights, features(problem), strict=True)]
    rows = np.hstack(([] if vectors(problem) is None else [vectors(problem)]) + parts)
    similarity = np.array([[float((a * b).sum()) for b in rows] for a in rows])
    scores, best = problem.scores, int(np.argmax(problem.scores))
    if published:
        similarity = (similarity - similarity.min()) / (similarity.max() - similarity.min())
    else:
        similarity = (similarity - similarity[best].min()) / (similarity[best, best] - similarity[best].min())
        scores = (scores - scores.min()) / (scores.max() - scores.min())
    chosen = [best]
    while len(chosen) < k:
        worth = {
            i: (1 - strength) * scores[i] - strength * max(similarity[i, j] for j in chosen)
            for i in range(len(rows))
            if i not in chosen
        }
        chosen.append(max(worth, key=worth.get))
    return chosen


@pytest.mark.parametrize("strength", [0.1, 0.5, 1.0])
@pytest.mark.parametrize(
    ("signs", "weights", "with_vectors"), [((1,), None, True), ((1, -1), (3, 1), True), ((1, 1), None, False)]
)
def test_mmr_is_the_definition(strength, signs, weights, with_vectors):
    problem = make_problem(signs=signs, weights=weights, with_vectors=with_vectors)
    assert selected(Mmr(strength, published=True), problem, 15) == mmr_by_definition(problem, strength, 15)
    spread = dataclasses.replace(problem, signs=np.abs(problem.signs))
    assert selected(Mmr(strength), spread, 15) == mmr_by_definition(spread, strength, 15, published=False)


def test_the_size_of_scores_and_outliers_change_nothing():
    queries.ignores_the_size_of_scores(Mmr())


@pytest.mark.parametrize("keep", [0.5, 0.9, 0.97, 1.0])
@pytest.mark.parametrize("method", [Mmr(), Mmr(published=True)], ids=repr)
def test_keep_finds_the_largest_strength(method, keep):
    queries.finds_the_largest_strength(method, keep)


def test_a_full_list_within_the_limit_is_kept_to():
    problem = make_problem(seed=5, signs=(), count=40)
    columns = {"own": [i % 8 for i in range(40)]}
    candidates = mc.Candidates(problem.scores, columns=columns, vectors=vectors(problem))
    for keep in (0.6, 0.8, 0.95):
        held = mc.rerank(candidates, mc.limit("own", 1), 8, Mmr(keep=keep))
        assert mc.rerank(candidates, mc.limit("own", 1, fill=True), 8, Mmr(keep=keep)).ids == held.ids
    batch = mc.rerank_many([candidates] * 2, mc.limit("own", 1, fill=True), 12, Mmr(keep=0.9))
    assert [len(set(ids)) for ids in batch.ids] == [12, 12]


def test_vectors_of_any_type_and_size_are_compared():
    problem = make_problem(seed=7, signs=())
    images = vectors(problem)
    expected = selected(Mmr(0.6), problem, 12)

    def ids(rows, method):
        return mc.rerank(mc.Candidates(problem.scores, vectors=rows), [], 12, method).ids

    single = images.astype(np.float32)
    for rows in (single, np.float32(1e30) * single, np.float32(1e-30) * single, 1e100 * images, 1e-100 * images):
        assert ids(rows, Mmr(0.6)) == expected
    some_missing = np.where(problem.scores[:, None] < 0.33, np.nan, images)
    for rows in (images.astype(np.float16), (100 * images).astype(int), some_missing):
        assert len(set(ids(rows, Mmr(1.0)))) == 12
    for rows in (np.ones((30, 3)), np.zeros((30, 3)), np.full((30, 3), np.nan)):  # nothing tells them apart
        assert ids(rows, Mmr(0.6)) == list(range(12))
    assert mc.rerank(mc.Candidates([1.0], vectors=[[1.0, 2.0]]), [], 12, Mmr()).ids == [0]


def test_equal_candidates_tie_exactly():
    assert {i % 10 for i in selected(Mmr(0.5), bursts(), 20)} == {0}  # the first of each burst


def test_mmr_takes_limits():
    problem = make_problem(seed=2, signs=())
    candidates = mc.Candidates(problem.scores, columns={"own": list(range(30))}, vectors=vectors(problem))
    assert mc.rerank(candidates, mc.limit("own", 1), 15, Mmr(0.6)).ids == selected(Mmr(0.6), problem, 15)
    # By relevance the second would use up both labels, and the list would end.
    labels, images = ["x", ("a", "b"), "a", "b"], np.eye(3)[[0, 0, 1, 2]]
    binding = mc.Candidates([4, 3, 2, 1], columns={"label": labels}, vectors=images)
    assert mc.rerank(binding, mc.limit("label", 1), 3, Mmr(1.0)).ids == [0, 2, 3]
