"""Time of `Mmr` and `KDpp` beside pyversity: `python -m benchmarks.mmr [--quick]`.

A call starts from a float32 array of vectors (768 numbers each) and ends with the ranking, k = 10, one thread. Times
are medians over interleaved rounds. The ratio is our time divided by that of pyversity's strategy; the bar of `Mmr` is
1.2.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pyversity

import mascot as mc
from benchmarks.latency import interleave
from mascot.bench.methods import KDpp

K, SIZES, DIMENSION = 10, (100, 1_000, 10_000), 768
METHODS: dict[str, tuple[Any, str]] = {
    "Mmr()": (mc.Mmr(), "mmr"),
    "Mmr(keep=0.9)": (mc.Mmr(keep=0.9), "mmr"),
    "KDpp(0.5)": (KDpp(0.5), "dpp"),
}


def draw(size: int, seed: int = 0) -> tuple[Any, Any]:
    """Return vectors and scores, the cosine with a query and some noise."""
    rng = np.random.default_rng(seed)
    query = rng.normal(size=DIMENSION) / np.sqrt(DIMENSION)
    vectors = rng.normal(size=(size, DIMENSION)) / np.sqrt(DIMENSION) + rng.uniform(0, 1, (size, 1)) * query
    scores = vectors @ query / np.linalg.norm(vectors, axis=1) + rng.normal(0, 0.02, size)
    return vectors.astype(np.float32), scores


def ours(vectors: Any, scores: Any, method: Any) -> mc.Ranking[int]:
    return mc.rerank(mc.Candidates(scores, vectors=vectors), [], K, method)


def theirs(vectors: Any, scores: Any, strategy: str) -> Any:
    return pyversity.diversify(vectors, scores, k=K, strategy=pyversity.Strategy(strategy), diversity=0.5)


def speed(rounds: int) -> None:
    print(f"{'':<16}{'candidates':>11}{'ours, us':>12}{'pyversity':>12}{'ratio':>8}")
    for size in SIZES:
        vectors, scores = draw(size)
        for name, (method, strategy) in METHODS.items():
            times = interleave(
                {
                    "ours": (partial(ours, vectors, scores, method), 1),
                    "theirs": (partial(theirs, vectors, scores, strategy), 1),
                },
                max(rounds * 1_000 // size, rounds),
            )
            ratio = times["ours"] / times["theirs"]
            print(f"{name:<16}{size:>11,}{times['ours']:>12,.0f}{times['theirs']:>12,.0f}{ratio:>8.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    speed(15 if parser.parse_args().quick else 45)


if __name__ == "__main__":
    main()
