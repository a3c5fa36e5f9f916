"""Measure what the first results show under both orders: distinct sellers, and the nDCG of the page.

python -m benchmarks.order
"""

from __future__ import annotations

import numpy as np

import mascot as mc

_HITS, _SELLERS, _QUERIES, _K, _FIRST = 200, 15, 30, 24, 8


def skewed(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and sellers; few sellers have most hits."""
    weights = 1 / np.arange(1, _SELLERS + 1)
    sellers = rng.choice(_SELLERS, _HITS, p=weights / weights.sum())
    return np.sort(rng.beta(2, 5, _HITS))[::-1], sellers


def clumped(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and sellers; hits of a seller have similar scores."""
    sellers = np.repeat(rng.permutation(_SELLERS), _HITS // _SELLERS + 1)[:_HITS]
    sellers = np.where(rng.random(_HITS) < 0.3, rng.integers(0, _SELLERS, _HITS), sellers)
    return np.linspace(1, 0.1, _HITS) + rng.normal(0, 0.02, _HITS), sellers


def main() -> None:
    discount = 1 / np.log2(np.arange(2, _K + 2))
    for generate in (skewed, clumped):
        for order in ("relevance", "selection"):
            distinct, ndcg = [], []
            for seed in range(_QUERIES):
                scores, sellers = generate(np.random.default_rng(seed))
                hits = mc.Candidates(scores, columns={"seller": sellers})
                page = mc.rerank(hits, mc.spread("seller"), _K, order=order)
                distinct.append(len(set(sellers[page.positions[:_FIRST]])))
                relevance = (scores - scores.min()) / np.ptp(scores)
                best = np.sort(relevance)[::-1][:_K]
                ndcg.append((relevance[page.positions] * discount).sum() / (best * discount).sum())
            print(f"{generate.__name__:8} {order:10} {np.mean(distinct):.1f} of {_FIRST}, nDCG {np.mean(ndcg):.3f}")


if __name__ == "__main__":
    main()
