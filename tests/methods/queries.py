"""Problems of the shape of the published runs, and what holds of every method."""

import dataclasses

import numpy as np
import pytest

from mascot.errors import InputError
from mascot.methods import Relevance
from mascot.methods.method import Problem, Table


class Block:
    def __init__(self, name):
        self.name = name

    def features(self, columns, vectors):
        return columns[self.name]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make_problem(seed=0, count=30, signs=(1, 1), weights=None, with_vectors=True, already=(), copies=0, scores=None):
    """Return one query: a place (3 columns), an hour (2) and an image vector (12), best score first.

    The last `copies` candidates repeat the first ones: same features, vectors and scores.
    """
    rng = np.random.default_rng(seed)
    blocks = [unit(rng.normal(size=(count, width))) for width in (3, 2)[: len(signs)]]
    images = unit(rng.normal(size=(count, 12)))
    ranked = np.sort(rng.uniform(0.28, 0.45, count))[::-1].copy() if scores is None else np.array(scores, float)
    if copies:
        for rows in (*blocks, images, ranked):
            rows[-copies:] = rows[:copies]
    already = np.array(already, np.int64)
    return Problem(
        ptr=np.array([0, count]), scores=ranked, bins=(), signs=np.array(signs, float),
        weights=np.ones(len(signs)) if weights is None else np.array(weights, float), missing=("last",) * len(signs),
        attributes=tuple(Block(f"block {j}") for j in range(len(signs))),
        tables=(Table({f"block {j}": block for j, block in enumerate(blocks)}, images if with_vectors else None),),
        already_ptr=np.array([0, len(already)]) if len(already) else None, already=already if len(already) else None,
    )  # fmt: skip


def features(problem):
    return problem.features_of(0)


def vectors(problem):
    return problem.tables[0].vectors


def replace_rows(problem, scores, blocks, images):
    table = Table({f"block {j}": block for j, block in enumerate(blocks)}, images)
    return dataclasses.replace(problem, scores=scores, tables=(table,))


def bursts():
    """Return 200 candidates of equal scores: 20 scenes, ten copies of each."""
    problem = make_problem(count=200)
    images, *blocks = (np.repeat(rows[:20], 10, axis=0) for rows in (vectors(problem), *features(problem)))
    return replace_rows(problem, np.full(200, 0.3), blocks, images)


def selected(method, problem, k):
    positions = method.select(problem, k).positions[0]
    return positions[positions >= 0].tolist()


def selects_as_every_method(method, signs):
    scores = np.random.default_rng(3).integers(1, 9, 30) / 10
    problem = make_problem(seed=3, signs=signs, scores=scores, already=[4, 9])
    weakest = method if method == Relevance() else dataclasses.replace(method, strength=0.0)
    assert selected(weakest, problem, 12) == selected(Relevance(), problem, 12)
    bare = make_problem(count=5, signs=(), with_vectors=False)
    assert selected(weakest, bare, 3) == [0, 1, 2]
    if method != Relevance():
        with pytest.raises(InputError, match=r"compares candidates by vectors or wishes, got neither: give .*vectors="):
            method.select(bare, 3)

    # Shorter lists are prefixes, and pages continue.
    problem = make_problem(seed=1, signs=signs)
    longest = selected(method, problem, 100)
    assert sorted(longest) == list(range(30))
    assert selected(method, problem, 7) == longest[:7]
    assert selected(method, make_problem(seed=1, signs=signs, already=longest[:6]), 9) == longest[6:15]
    assert selected(method, make_problem(count=1, signs=signs), 5) == [0]
    assert selected(method, make_problem(count=4, signs=signs, already=range(4)), 3) == []

    # A copy never comes before its original.
    order = selected(method, make_problem(signs=signs, copies=8), 30)
    assert all(order.index(original) < order.index(22 + original) for original in range(8))

    # Missing values and scores of any size are accepted.
    blocks = [block.copy() for block in features(problem)]
    for block in blocks:
        block[::3] = 0.0
    assert len(set(selected(method, replace_rows(problem, problem.scores, blocks, vectors(problem)), 20))) == 20
    for scale in (1e-6, 1e6):
        assert len(set(selected(method, make_problem(scores=scale * (1 + scores), signs=signs), 30))) == 30


def ignores_the_size_of_scores(method):
    problem = make_problem(seed=2, signs=())
    expected = selected(method, problem, 15)
    for scores in (25 * problem.scores, problem.scores - 900, np.append(1e6, problem.scores[1:])):
        assert selected(method, dataclasses.replace(problem, scores=scores), 15) == expected
    raw = dataclasses.replace(method, normalize=False)
    assert selected(raw, dataclasses.replace(problem, scores=25e3 * problem.scores), 15) == list(range(15))


def finds_the_largest_strength(method, keep):
    problem = make_problem(seed=4, already=[1, 5])
    selection = dataclasses.replace(method, strength=None, keep=keep).select(problem, 8)
    relevance = problem.relevance_of(0, getattr(method, "robust", False))
    least = keep * relevance[selected(Relevance(), problem, 8)].sum() - 1e-9

    def at(hundredths):
        return selected(dataclasses.replace(method, strength=hundredths / 100), problem, 8)

    strength = round(100 * selection.strengths[0])
    assert selection.positions[0].tolist() == at(strength)
    assert relevance[at(strength)].sum() >= least
    rung = strength // 5 * 5 + 5  # the ladder has steps of five hundredths, and single ones below the first that fails
    for stronger in (*range(strength + 1, min(rung, 101)), *range(rung, 101, 5)):
        assert relevance[at(stronger)].sum() < least
