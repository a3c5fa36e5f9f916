"""Problems of the shape the published runs have, for the tests of the baselines."""

import numpy as np
from mascot.problem import Problem


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def problem(seed=0, count=30, signs=(1, 1), weights=None, vectors=True, seen=(), copies=0, scores=None):
    """Candidates with a place (3 columns), an hour (2) and an image vector (12), best score first.

    The last `copies` candidates repeat the first ones: same features, vectors and scores.
    """
    rng = np.random.default_rng(seed)
    blocks = [unit(rng.normal(size=(count, width))) for width in (3, 2, 3)[: len(signs)]]
    images = unit(rng.normal(size=(count, 12)))
    found = np.sort(rng.uniform(0.28, 0.45, count))[::-1].copy() if scores is None else np.array(scores, float)
    if copies:
        for rows in (*blocks, images, found):
            rows[-copies:] = rows[:copies]
    return Problem(
        scores=found,
        signs=np.array(signs, float),
        weights=np.ones(len(signs)) if weights is None else np.array(weights, float),
        memberships=lambda: (),
        features=lambda: tuple(blocks),
        vectors=images if vectors else None,
        seen=np.array(seen, np.int64),
    )


def similarity(rows):
    """1 / (1 + Euclidean distance), pair by pair."""
    return np.array([[1 / (1 + np.sqrt(((a - b) ** 2).sum())) for b in rows] for a in rows])


def largest_determinants(kernel, k):
    """Greedy by definition: each step takes the candidate that gives the largest determinant."""
    chosen = []
    for _ in range(k):
        grown = {}
        for i in range(len(kernel)):
            if i not in chosen:
                sign, logarithm = np.linalg.slogdet(kernel[np.ix_([*chosen, i], [*chosen, i])])
                assert sign > 0
                grown[i] = logarithm
        chosen.append(max(grown, key=grown.get))
    return chosen


def released_greedy(kernel, k):
    """The published update in plain loops: divide by d_j^2 + 1e-10, stop when nothing is positive."""
    variance = [kernel[i][i] for i in range(len(kernel))]
    rows = [[] for _ in kernel]
    chosen = []
    while len(chosen) < k:
        j = max((i for i in range(len(kernel)) if i not in chosen), key=lambda i: variance[i])
        if chosen and variance[j] <= 0:
            break
        chosen.append(j)
        own = list(rows[j])
        for i in range(len(kernel)):
            e = (kernel[j][i] - sum(a * b for a, b in zip(own, rows[i], strict=True))) / (variance[j] + 1e-10)
            rows[i].append(e)
            if i != j:
                variance[i] -= e * e
    return chosen
