"""Compare ways to diversify by vectors: `python -m benchmarks.steering vectors --data DIR`.

- **MovieLens** (DIR/movielens): recommendations for users by factors of their ratings. Mean cosine distance of two
  results, and of each result to its nearest other result, at equal shares of the nDCG that relevance alone has. The
  nDCG of 120 users is so uncertain that methods change places with the draw of the ratings that the factors do not
  see. The table is therefore of several draws.
- **Passages** (generated): answers to a question that has ten aspects, with near-copies and off-topic passages. Aspects
  found at equal shares of relevance, and the share of on-topic results at the default strength.
- **Manuals** (DIR/manuals.npz): paragraphs of manual pages. Distinct pages and near-copies at equal relevance.
- **Copies** (DIR/manuals.npz): how many near-copies by words each cosine catches.
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
from mascot.bench.datasets.dataset import Floats, Ints
from mascot.bench.datasets.div400 import Div400
from mascot.bench.methods.pyversity import relevance

K = 20
DIAL = tuple(step / 20 for step in range(21))
_CANDIDATES = 200
_FACTORS = 64
_LIKED = 4.0  # stars
_DRAWS = 2  # of the ratings that the factors do not see
_HELD_OUT = 0.3  # share of the liked films of a user that the factors do not see
_ASPECTS = 10
_PRECISION = 0.72  # P@20 of Div400 that spreading should keep


class Question(NamedTuple):
    """The candidates of one query, best first."""

    vectors: Floats
    scores: Floats
    grades: Floats  # 1 for a relevant candidate
    aspects: Ints  # -1: off-topic
    items: Ints = np.empty(0, np.int64)  # numbers of the films


Select = Callable[..., Ints]  # vectors, scores, the dial and k to positions


def by_strength(vectors: Floats, scores: Floats, strength: float, k: int = K) -> Ints:
    return mc.rerank(mc.Candidates(scores, vectors=vectors), mc.spread(mc.Vectors()), k, strength=strength).positions


def pyversity_strategy(strategy: str) -> Select:
    def select(vectors: Floats, scores: Floats, diversity: float, k: int = K) -> Ints:
        import pyversity

        result = pyversity.diversify(vectors, relevance(scores), k=k, strategy=strategy, diversity=diversity)
        return np.asarray(result.indices, np.int64)

    return select


OURS = "spread(Vectors())"
METHODS: dict[str, Select] = {
    OURS: by_strength, **{f"pyversity {name}": pyversity_strategy(name) for name in ("mmr", "dpp", "ssd")},
}  # fmt: skip


def movielens(folder: Path, users: int, draws: int = _DRAWS) -> list[Question]:
    """Return the questions of at most so many users, for each draw of the ratings that the factors do not see."""
    ratings = pd.read_csv(folder / "ratings.csv.gz")
    return [question for seed in range(draws) for question in recommendations(ratings, seed)[:users]]


def recommendations(ratings: pd.DataFrame, seed: int) -> list[Question]:
    """Return the best unseen films of every second user."""
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
            no_aspects = np.zeros(len(best), np.int64)
            own = scores[number, best]
            questions.append(Question(items, own, relevant[best], no_aspects, np.asarray(films)[best]))
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


def curve(questions: Sequence[Question], select: Select) -> Floats:
    """Return the mean measures [dial, 6] over all questions. The results of every method are shown by relevance."""

    def mean(value: float) -> Floats:
        rows = [measure(q, np.sort(select(q.vectors, q.scores, value))) for q in questions]
        return np.asarray(np.mean(rows, axis=0))

    return np.array([mean(value) for value in DIAL])


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
    print(f"{'':<20}{'95%':>8}{'90%':>8}{'80%':>8}   |{'95%':>8}{'90%':>8}{'80%':>8}")
    plain = float(np.mean([measure(q, np.arange(K))[0] for q in questions]))
    rows = {}
    for name, select in METHODS.items():
        measures = curve(questions, select)
        rows[name] = [at(measures, 0, share * plain, column) for column in (2, 3) for share in (0.95, 0.9, 0.8)]
        print(line(name, rows[name]))
    bars(rows, {"dpp": (0.0, 0.0), "ssd": (0.0, 0.0), "mmr": (-0.02, -0.02)})


def passages_table(count: int) -> None:
    print(f"\nPassages, {count} questions: aspects found at 0.90, 0.85, 0.80 of relevance; precision at strength 0.5")
    for noise in (0.05, 0.15, 0.3):
        questions, rows = passages(count, noise), {}
        for name, select in METHODS.items():
            measures = curve(questions, select)
            rows[name] = [at(measures, 1, level, 4) for level in (0.9, 0.85, 0.8)]
            print(f"{noise:5.0%} noise  " + line(name, [*rows[name], measures[DIAL.index(0.5), 5]], half=9))
        bars(rows, {"dpp": (-0.006,)})


class Manuals(NamedTuple):
    """The candidates of one question: paragraphs of manual pages, best first."""

    vectors: Floats
    scores: Floats
    groups: Ints  # which manual page
    copies: Ints  # near-copies by words have one number


def manuals(folder: Path) -> list[Manuals]:
    with np.load(folder / "manuals.npz") as data:
        vectors = data["vectors"].astype(np.float32)
        lists = zip(data["rows"], data["scores"].astype(float), data["page"], data["copy_group"], strict=True)
        return [Manuals(vectors[rows], scores, page, copies) for rows, scores, page, copies in lists]


def manuals_table(questions: Sequence[Manuals], k: int = 10) -> None:
    print(
        f"\nManuals, {len(questions)} questions, k={k}: share of distinct pages | near-copies, at shares of relevance"
    )
    print(f"{'':<20}{'98%':>8}{'95%':>8}{'90%':>8}   |{'98%':>8}{'95%':>8}{'90%':>8}")
    rows = {}
    for name, select in METHODS.items():
        measures = []
        for value in DIAL:
            own = []
            for q in questions:
                page, scaled = select(q.vectors, q.scores, value, k), relevance(q.scores)
                kept = scaled[page].sum() / np.sort(scaled)[::-1][:k].sum()
                own.append([kept, len(set(q.groups[page].tolist())) / k, k - len(set(q.copies[page].tolist()))])
            measures.append(np.mean(own, axis=0))
        order = np.argsort([kept for kept, *_ in measures])
        kept, *columns = np.array(measures)[order].T
        rows[name] = [float(np.interp(share, kept, column)) for column in columns for share in (0.98, 0.95, 0.9)]
        print(line(name, rows[name]))
    bars({name: [*row[:3], *(-value for value in row[3:])] for name, row in rows.items()}, {"dpp": (0.0, -0.03)})


def copies_table(questions: Sequence[Manuals], k: int = 10) -> None:
    print(
        "\nCopies, manuals: near-copies caught, share of pairs that are none; limit(Vectors(copies), 1): copies, kept"
    )
    cosines, is_copy = [], []
    for q in questions:
        unit = q.vectors.astype(np.float64) / np.linalg.norm(q.vectors.astype(np.float64), axis=1, keepdims=True)
        pairs = np.triu_indices(len(unit), 1)
        cosines.append((unit @ unit.T)[pairs])
        is_copy.append((q.copies[:, None] == q.copies)[pairs])
    cosine, copy = np.concatenate(cosines), np.concatenate(is_copy)
    for copies in (0.75, 0.8, 0.85, 0.9, 0.95):
        wish, own = mc.limit(mc.Vectors(copies=copies), 1), []
        for q in questions:
            page = mc.rerank(mc.Candidates(q.scores, vectors=q.vectors), wish, k).positions
            scaled = relevance(q.scores)
            own.append([k - len(set(q.copies[page].tolist())), scaled[page].sum() / scaled[:k].sum()])
        caught = cosine >= copies
        shown, kept = np.mean(own, axis=0)
        print(f"{copies:6.2f}{caught[copy].mean():8.3f}{1 - copy[caught].mean():8.3f}{shown:8.2f}{kept:8.3f}")


def line(name: str, values: Sequence[float], half: int = 3) -> str:
    cells = [f"{value:8.3f}" for value in values]
    return f"{name:<20}" + "".join(cells[:half]) + ("   |" + "".join(cells[half:]) if cells[half:] else "")


def bars(rows: dict[str, list[float]], least: dict[str, tuple[float, ...]]) -> None:
    """Print how far ours is ahead of its rivals, three levels for each measure, and which are below a bar."""
    for rival, allowed in least.items():
        ahead = np.subtract(rows[OURS], rows[f"pyversity {rival}"])
        missed = [f"{value:+.3f}" for value, bar in zip(ahead, np.repeat(allowed, 3), strict=True) if value < bar]
        told = "holds" if not missed else f"missed by {', '.join(missed)}"
        print(f"  ahead of {rival}: {' '.join(f'{value:+.3f}' for value in ahead)}; bar {told}")


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
    mean = np.mean([topic.measure(by_wishes(topic, mc.Vectors(), 1.0, 0.5)) for topic in topics], axis=0)
    print(f"\nDiv400, {len(topics)} topics, photographer and look at strength 0.5: P@20, CR@20, F1@20")
    print(line("Vectors()", mean.tolist()))


def div400_choices(topics: Sequence[Topic]) -> None:
    """Print the setting of each method that finds most clusters at the precision, among all dials and four weights."""
    print(
        f"\nDiv400, most clusters at P@20 >= {_PRECISION}: P@20, CR@20, F1@20, weight, dial | odd topics, even topics"
    )
    methods: dict[str, tuple[Callable[[Topic, float, float], Ints], Sequence[float]]] = {
        "Vectors()": (lambda topic, weight, dial: by_wishes(topic, mc.Vectors(), weight, dial), (0.5, 1.0, 2.0, 4.0)),
        **{f"pyversity {name}": (partial(by_pyversity, name), (0.0, 0.5, 1.0, 2.0)) for name in ("mmr", "dpp", "ssd")},
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
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with movielens, manuals.npz and div400")
    parser.add_argument("--draws", type=int, default=_DRAWS, help=f"draws of MovieLens (default: {_DRAWS})")
    parser.add_argument("--users", type=int, default=150, help="users of MovieLens, and questions (default: 150)")
    parser.add_argument(
        "--only", metavar="NAMES", default="movielens,passages,manuals,copies,div400,speed", help="tables to print"
    )
    options = parser.parse_args(arguments)
    names = options.only.split(",")
    if "movielens" in names and options.data:
        movielens_table(movielens(options.data / "movielens", options.users, options.draws))
    if "passages" in names:
        passages_table(max(options.users // 3, 1))
    if "manuals" in names and options.data:
        manuals_table(manuals(options.data))
    if "copies" in names and options.data:
        copies_table(manuals(options.data))
    if "div400" in names and options.data:
        topics = div400(options.data / "div400")
        div400_table(topics)
        div400_choices(topics)
    if "speed" in names:
        speed_table(10)


if __name__ == "__main__":
    main()
