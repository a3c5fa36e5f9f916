"""Compare ways to diversify by vectors: `python -m benchmarks.steering vectors --data DIR`.

- **MovieLens** (DIR/movielens): recommendations for users by factors of their ratings. Mean cosine distance of two
  results, and of each result to its nearest other result, at equal shares of the nDCG that relevance alone has. The
  nDCG of 120 users is so uncertain that methods change places with the draw of the ratings that the factors do not
  see. The table is therefore of several draws.
- **Passages** (generated): answers to a question that has ten aspects, with near-copies and off-topic passages. Aspects
  found at equal shares of relevance, and the share of on-topic results at the default strength.
- **Div400** (DIR/div400): photographs of landmarks, spread by photographer and look: at the default strength, and with
  the setting of each method that finds most clusters without losing precision.
- **Speed**: one call at 100, 1,000 and 10,000 candidates of 768 numbers, interleaved medians on one thread.

Every method selects with each value of its dial; values in between are interpolated over the mean of all queries.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pandas as pd

import mascot as mc
from benchmarks.latency import interleave
from mascot.attributes import Clusters
from mascot.bench.datasets.dataset import Floats, Ints
from mascot.bench.datasets.div400 import Div400
from mascot.bench.methods import KDpp
from mascot.bench.methods.pyversity import relevance

K = 20
DIAL = tuple(step / 20 for step in range(21))
KEEP = (1.0, 0.98, 0.96, 0.94, 0.92, 0.9, 0.88, 0.85, 0.82, 0.79, 0.76, 0.72, 0.68, 0.64, 0.6, 0.55, 0.5, 0.4, 0.3, 0.1)
_CANDIDATES = 200
_FACTORS = 64
_LIKED = 4.0  # stars
_DRAWS = 5  # of the ratings that the factors do not see
_HELD_OUT = 0.3  # share of the liked films of a user that the factors do not see
_ASPECTS = 10
_PRECISION = 0.72  # P@20 of Div400 that spreading should keep


class Question(NamedTuple):
    """The candidates of one query, best first."""

    vectors: Floats
    scores: Floats
    grades: Floats  # 1 for a relevant candidate
    aspects: Ints  # -1: off-topic


Select = Callable[[Floats, Floats, float], Ints]  # vectors, scores and the dial to positions


def ours(vectors: Floats, scores: Floats, keep: float) -> Ints:
    return mc.rerank(mc.Candidates(scores, vectors=vectors), mc.spread(mc.Vectors()), K, keep=keep).positions


def by_strength(vectors: Floats, scores: Floats, strength: float) -> Ints:
    return mc.rerank(mc.Candidates(scores, vectors=vectors), mc.spread(mc.Vectors()), K, strength=strength).positions


def method(make: Callable[[float], Any]) -> Select:
    """Return a method of the package that compares the vectors of the candidates by itself."""
    return lambda vectors, scores, dial: mc.rerank(mc.Candidates(scores, vectors=vectors), [], K, make(dial)).positions


def pyversity_strategy(strategy: str) -> Select:
    def select(vectors: Floats, scores: Floats, diversity: float) -> Ints:
        import pyversity

        result = pyversity.diversify(vectors, relevance(scores), k=K, strategy=strategy, diversity=diversity)
        return np.asarray(result.indices, np.int64)

    return select


METHODS: dict[str, tuple[Select, Sequence[float]]] = {
    "spread(Vectors()), keep": (ours, KEEP),
    "spread(Vectors())": (by_strength, DIAL),
    "Mmr": (method(mc.Mmr), DIAL),
    "KDpp": (method(KDpp), DIAL[:-1]),
    **{f"pyversity {name}": (pyversity_strategy(name), DIAL) for name in ("mmr", "msd", "dpp", "ssd")},
}


def movielens(folder: Path, users: int, draws: int = _DRAWS) -> list[Question]:
    """Return the questions of at most so many users, for each draw of the ratings that the factors do not see."""
    ratings = pd.read_csv(folder / "ratings.csv.gz")
    return [question for seed in range(draws) for question in _recommendations(ratings, seed)[:users]]


def _recommendations(ratings: pd.DataFrame, seed: int) -> list[Question]:
    """Return the best unseen films of every second user; constants of the method were chosen on the others."""
    rng = np.random.default_rng(seed)
    liked = ratings["rating"].to_numpy() >= _LIKED
    held_out = liked & (rng.random(len(ratings)) < _HELD_OUT)
    user, _ = pd.factorize(ratings["userId"])
    film, films = pd.factorize(ratings["movieId"])
    known = np.zeros((user.max() + 1, len(films)))
    known[user[~held_out], film[~held_out]] = 1.0
    seen = known > 0
    weights = np.sqrt(np.maximum(known.sum(axis=0), 1.0))
    values, left = np.linalg.eigh((known / weights) @ (known / weights).T)
    top = np.argsort(-values)[:_FACTORS]
    factors = ((known / weights).T @ left[:, top]) / np.sqrt(values[top])  # [films, factors], orthonormal columns
    scores = (known / weights) @ factors @ factors.T * weights
    questions = []
    for number in range(0, known.shape[0], 2):
        relevant = np.zeros(len(films))
        relevant[film[held_out & (user == number)]] = 1.0
        best = np.argsort(-np.where(seen[number], -np.inf, scores[number]), kind="stable")[:_CANDIDATES]
        if relevant[best].sum() >= 3:
            items = factors[best] * np.sqrt(values[top])
            questions.append(Question(items, scores[number, best], relevant[best], np.zeros(len(best), np.int64)))
    return questions


def passages(count: int, noise: float, seed: int = 2) -> list[Question]:
    """Return generated questions: 30% of the passages are near-copies of another, `noise` of them are off-topic.

    A passage is the topic, one of ten aspects, and its own words. Scores are cosines with the topic, with an error.
    """
    rng = np.random.default_rng(seed)
    questions = []
    for _ in range(count):
        size, on_topic = 100, 100 - round(100 * noise)
        topic, aspects = rng.normal(size=64), 0.6 * rng.normal(size=(_ASPECTS, 64))
        popularity = 1 / np.arange(1, _ASPECTS + 1)
        aspect = rng.choice(_ASPECTS, on_topic, p=popularity / popularity.sum())
        vectors = topic + aspects[aspect] + rng.normal(size=(on_topic, 64))
        copied = rng.random(on_topic) < 0.3
        original = rng.integers(0, on_topic, on_topic)
        vectors[copied] = vectors[original[copied]] + 0.05 * rng.normal(size=(int(copied.sum()), 64))
        aspect[copied] = aspect[original[copied]]
        off_topic = 0.3 * topic + 1.2 * rng.normal(size=(size - on_topic, 64))
        vectors = np.concatenate([vectors, off_topic])
        aspect = np.concatenate([aspect, np.full(size - on_topic, -1)])
        cosines = vectors @ topic / np.linalg.norm(vectors, axis=1) / np.linalg.norm(topic)
        scores = cosines + 0.05 * rng.normal(size=size)
        order = np.argsort(-scores)
        questions.append(
            Question(vectors[order], scores[order], (aspect[order] >= 0).astype(np.float64), aspect[order])
        )
    return questions


def measure(question: Question, positions: Ints) -> list[float]:
    """Return nDCG, relevance kept, mean and nearest distance, aspects found and precision of a selection."""
    discount = 1 / np.log2(np.arange(2, K + 2))
    ideal = np.sort(question.grades)[::-1][:K]
    scaled = relevance(question.scores)
    unit = question.vectors[positions] / np.linalg.norm(question.vectors[positions], axis=1, keepdims=True)
    distance = 1 - unit @ unit.T
    others = distance[~np.eye(len(positions), dtype=bool)].reshape(len(positions), -1)
    aspects = question.aspects[positions]
    available = len(set(question.aspects[question.aspects >= 0].tolist()))
    return [
        float((question.grades[positions] * discount).sum() / max((ideal * discount).sum(), 1e-9)),
        float(scaled[positions].sum() / np.sort(scaled)[::-1][:K].sum()), float(others.mean()),
        float(others.min(axis=1).mean()), len(set(aspects[aspects >= 0].tolist())) / max(available, 1),
        float((aspects >= 0).mean()),
    ]  # fmt: skip


def curve(questions: Sequence[Question], select: Select, dial: Sequence[float]) -> Floats:
    """Return the mean measures [dial, 6] over all questions. The results of every method are shown by relevance."""

    def mean(value: float) -> Floats:
        rows = [measure(q, np.sort(select(q.vectors, q.scores, value))) for q in questions]
        return np.asarray(np.mean(rows, axis=0))

    return np.array([mean(value) for value in dial])


def at(measures: Floats, column: int, level: float, wanted: int) -> float:
    """Return a measure where another one falls to a level, interpolated; the best one where it stays above."""
    reached = [
        float(low[wanted] + (high[wanted] - low[wanted]) * (low[column] - level) / (low[column] - high[column]))
        for low, high in pairwise(measures)
        if low[column] >= level > high[column]
    ]
    above = measures[measures[:, column] >= level, wanted]
    return max([*reached, *above.tolist()], default=float("nan"))


def movielens_table(questions: Sequence[Question]) -> None:
    print(f"\nMovieLens, {len(questions)} lists, k={K}: mean distance | nearest distance, at shares of the plain nDCG")
    print(f"{'':<26}{'95%':>8}{'90%':>8}{'80%':>8}   |{'95%':>8}{'90%':>8}{'80%':>8}")
    plain = float(np.mean([measure(q, np.arange(K))[0] for q in questions]))
    for name, (select, dial) in METHODS.items():
        measures = curve(questions, select, dial)
        mean, nearest = ([at(measures, 0, share * plain, column) for share in (0.95, 0.9, 0.8)] for column in (2, 3))
        print(f"{name:<26}" + "".join(f"{v:8.3f}" for v in mean) + "   |" + "".join(f"{v:8.3f}" for v in nearest))


def passages_table(count: int) -> None:
    print(f"\nPassages, {count} questions: aspects found at 0.90, 0.85, 0.80 of relevance; precision at strength 0.5")
    print(f"{'':<26}" + "".join(f"{f'noise {noise:.0%}':>34}" for noise in (0.05, 0.15, 0.3)))
    worlds = [passages(count, noise) for noise in (0.05, 0.15, 0.3)]
    for name, (select, dial) in METHODS.items():
        cells = []
        for questions in worlds:
            measures = curve(questions, select, dial)
            found = [at(measures, 1, level, 4) for level in (0.9, 0.85, 0.8)]
            precision = measures[list(dial).index(0.5), 5] if select is not ours else float("nan")
            cells.append("".join(f"{value:8.3f}" for value in [*found, precision]) + "  ")
        print(f"{name:<26}" + "".join(cells))


class Topic(NamedTuple):
    """The photographs of one landmark."""

    vectors: Floats
    scores: Floats
    users: Any  # [N] names
    relevant: Any  # [N] booleans
    clusters: Ints

    def measure(self, positions: Ints) -> list[float]:
        """Return P@20, CR@20 and F1@20 of a selection."""
        good = self.relevant[positions]
        judged = set(self.clusters[self.relevant].tolist())
        recall = len(set(self.clusters[positions][good].tolist())) / max(len(judged), 1)
        precision = float(good.mean())
        return [precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)]


def div400(folder: Path) -> list[Topic]:
    dataset = Div400(folder).load()
    assert dataset.vectors is not None
    users, clusters = dataset.columns["user"], dataset.columns["cluster"]
    return [
        Topic(dataset.vectors[hits.images], hits.scores, users[hits.images], hits.relevant, clusters[hits.images])
        for hits in dataset.hits(10_000)
    ]


def by_wishes(topic: Topic, look: Any, weight: float, strength: float) -> Ints:
    candidates = mc.Candidates(topic.scores, columns={"user": topic.users}, vectors=topic.vectors)
    return mc.rerank(candidates, [mc.spread("user"), mc.spread(look, weight)], K, strength=strength).positions


def by_pyversity(strategy: str, topic: Topic, weight: float, diversity: float) -> Ints:
    """Select by unit vectors of look, beside which a photographer is a one-hot vector of length `weight`."""
    unit = topic.vectors / np.linalg.norm(topic.vectors, axis=1, keepdims=True)
    users = topic.users[:, None] == np.unique(topic.users)
    return pyversity_strategy(strategy)(np.concatenate([unit, weight * users], axis=1), topic.scores, diversity)


def div400_table(topics: Sequence[Topic]) -> None:
    print(f"\nDiv400, {len(topics)} topics, photographer and look at strength 0.5: P@20, CR@20, F1@20")
    looks = {"Vectors()": mc.Vectors(), "Clusters(25)": Clusters(25), "Clusters(20)": Clusters(20)}
    for name, look in looks.items():
        mean = np.mean([topic.measure(by_wishes(topic, look, 1.0, 0.5)) for topic in topics], axis=0)
        print(f"{name:<26}" + "".join(f"{value:8.3f}" for value in mean))


def div400_choices(topics: Sequence[Topic]) -> None:
    """Print the setting of each method that finds most clusters at the precision, among all dials and four weights."""
    print(
        f"\nDiv400, most clusters at P@20 >= {_PRECISION}: P@20, CR@20, F1@20, weight, dial | odd topics, even topics"
    )
    methods: dict[str, tuple[Callable[[Topic, float, float], Ints], Sequence[float]]] = {
        "Vectors()": (lambda topic, weight, dial: by_wishes(topic, mc.Vectors(), weight, dial), (0.5, 1.0, 2.0, 4.0)),
        **{
            f"pyversity {name}": (partial(by_pyversity, name), (0.0, 0.5, 1.0, 2.0))
            for name in ("mmr", "msd", "dpp", "ssd")
        },
    }
    for name, (select, weights) in methods.items():
        settings = list(product(weights, DIAL))
        measures = np.array([[topic.measure(select(topic, *setting)) for topic in topics] for setting in settings])
        means = measures.mean(axis=1)
        best = int(np.argmax(np.where(means[:, 0] >= _PRECISION, means[:, 1], -1.0)))
        halves = [measures[best, half::2, :2].mean(axis=0) for half in (0, 1)]
        cells = "".join(f"{value:8.3f}" for value in means[best]) + "".join(f"{value:8g}" for value in settings[best])
        print(f"{name:<26}{cells}   |" + "".join(f"{value:8.3f}" for value in np.concatenate(halves)))


def speed_table(rounds: int) -> None:
    import pyversity

    print(
        "\nSpeed: one call, 768 numbers, k=10, one thread: microseconds (how many times as long pyversity's MMR takes)"
    )
    for size in (100, 1000, 10_000):
        rng = np.random.default_rng(0)
        vectors = rng.normal(size=(size, 768)).astype(np.float32)
        scores = np.sort(rng.random(size))[::-1].copy()
        wishes = {"spread(Vectors())": mc.spread(mc.Vectors()), "focus(Vectors())": mc.focus(mc.Vectors())}

        def call(wish: Any, scores: Any = scores, vectors: Any = vectors) -> Any:
            return mc.rerank(mc.Candidates(scores, vectors=vectors), wish, 10)

        def mmr(scores: Any = scores, vectors: Any = vectors) -> Any:
            return pyversity.diversify(vectors, scores, k=10, strategy=pyversity.Strategy.MMR, diversity=0.5)

        tasks: dict[str, Any] = {"pyversity mmr": (mmr, 1)}
        tasks |= {name: (lambda wish=wish, call=call: call(wish), 1) for name, wish in wishes.items()}
        times = interleave(tasks, rounds * max(1, 10_000 // size))
        cells = [f"{name} {value:,.0f} ({times['pyversity mmr'] / value:.1f}x)" for name, value in times.items()]
        print(f"N={size:<8,}" + "   ".join(cells), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with movielens and div400")
    parser.add_argument("--draws", type=int, default=_DRAWS, help=f"draws of MovieLens (default: {_DRAWS})")
    parser.add_argument("--users", type=int, default=150, help="users of MovieLens, and questions (default: 150)")
    parser.add_argument("--only", metavar="NAMES", default="movielens,passages,div400,speed", help="tables to print")
    options = parser.parse_args(arguments)
    names = options.only.split(",")
    if "movielens" in names and options.data:
        movielens_table(movielens(options.data / "movielens", options.users, options.draws))
    if "passages" in names:
        passages_table(max(options.users // 3, 1))
    if "div400" in names and options.data:
        topics = div400(options.data / "div400")
        div400_table(topics)
        div400_choices(topics)
    if "speed" in names:
        speed_table(10)


if __name__ == "__main__":
    main()
