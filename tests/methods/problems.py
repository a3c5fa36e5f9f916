"""Problems of the shape of the published runs, for the tests of the baselines."""

import dataclasses

import numpy as np

from mascot.methods.base import Problem, Table


class Block:
    """An attribute whose features are a column of vectors."""

    def __init__(self, name):
        self.name = name

    def features(self, columns, vectors):
        return columns[self.name]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make_problem(seed=0, count=30, signs=(1, 1), weights=None, with_vectors=True, seen=(), copies=0, scores=None):
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
    seen = np.array(seen, np.int64)
    return Problem(
        ptr=np.array([0, count]), scores=ranked, bins=(), signs=np.array(signs, float),
        weights=np.ones(len(signs)) if weights is None else np.array(weights, float), rules=("last",) * len(signs),
        attributes=tuple(Block(f"block {j}") for j in range(len(signs))),
        tables=(Table({f"block {j}": block for j, block in enumerate(blocks)}, images if with_vectors else None),),
        seen_ptr=np.array([0, len(seen)]) if len(seen) else None, seen=seen if len(seen) else None,
    )  # fmt: skip


def features(problem):
    return problem.features_of(0)


def vectors(problem):
    return problem.tables[0].vectors


def replace_rows(problem, scores, blocks, images):
    """Return the problem with other scores, features and vectors."""
    table = Table({f"block {j}": block for j, block in enumerate(blocks)}, images)
    return dataclasses.replace(problem, scores=scores, tables=(table,))


def bursts():
    """Return 200 candidates of equal scores: 20 scenes, ten copies of each."""
    problem = make_problem(count=200)
    images, *blocks = (np.repeat(rows[:20], 10, axis=0) for rows in (vectors(problem), *features(problem)))
    return replace_rows(problem, np.full(200, 0.3), blocks, images)


def selected(method, problem, k):
    """Return the positions in the order of selection."""
    return method.select(problem, k).positions[0].tolist()


def similarity(rows):
    """Return 1 / (1 + Euclidean distance) for all pairs."""
    return np.array([[1 / (1 + np.sqrt(((a - b) ** 2).sum())) for b in rows] for a in rows])


def largest_determinants(kernel, k):
    """Select greedily by definition: each step takes the candidate that gives the largest determinant."""
    picks = []
    for _ in range(k):
        determinants = {}
        for i in range(len(kernel)):
            if i not in picks:
                sign, logarithm = np.linalg.slogdet(kernel[np.ix_([*picks, i], [*picks, i])])
                assert sign > 0
                determinants[i] = logarithm
        picks.append(max(determinants, key=determinants.get))
    return picks


def released_greedy(kernel, scores, k):
    """Run the published update in plain loops: divide by d_j^2 + 1e-10, then fill up by score."""
    variance = [kernel[i][i] for i in range(len(kernel))]
    rows = [[] for _ in kernel]
    picks = []
    while len(picks) < k:
        j = max((i for i in range(len(kernel)) if i not in picks), key=lambda i: variance[i])
        if picks and variance[j] <= 0:
            break
        picks.append(j)
        own = list(rows[j])
        for i in range(len(kernel)):
            e = (kernel[j][i] - sum(a * b for a, b in zip(own, rows[i], strict=True))) / (variance[j] + 1e-10)
            rows[i].append(e)
            if i != j:
                variance[i] -= e * e
    return (picks + [i for i in np.argsort(-scores, kind="stable").tolist() if i not in picks])[:k]
