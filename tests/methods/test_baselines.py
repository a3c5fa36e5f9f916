"""The baselines against their definitions, on problems of the shape of the published runs."""

import dataclasses

import numpy as np
import pytest
from scipy.linalg import expm, logm

import mascot as mc
from mascot.errors import InputError
from mascot.kernels.kmeans import kmeans
from mascot.methods import Clustering, KDpp, Mmr, MsDpp, Relevance
from mascot.methods.method import Problem, Table
from mascot.methods.similarity import Similarity, joined
from mascot.methods.tangents import combine, tangents


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
        weights=np.ones(len(signs)) if weights is None else np.array(weights, float), rules=("last",) * len(signs),
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


METHODS = [
    Relevance(), Mmr(0.5, published=True), KDpp(0.2, normalize=False), KDpp(1.0, beta=0.8, released=True), MsDpp(0.2),
    MsDpp(0.5, normalize="tn+tvms"), Clustering(strength=0.4, clusters=7),
]  # fmt: skip


def test_highest_scores_first_and_ties_by_position():
    assert selected(Relevance(), make_problem(scores=[0.1, 0.9, 0.5, 0.9, 0.5], count=5), 4) == [1, 3, 2, 4]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("signs", [(1, 1), (-1,)], ids=str)
def test_every_method(method, signs):
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


@pytest.mark.parametrize("method", [Mmr(), KDpp(0.5)], ids=repr)
def test_the_size_of_scores_and_outliers_change_nothing(method):
    problem = make_problem(seed=2, signs=())
    expected = selected(method, problem, 15)
    for scores in (25 * problem.scores, problem.scores - 900, np.append(1e6, problem.scores[1:])):
        assert selected(method, dataclasses.replace(problem, scores=scores), 15) == expected
    raw = dataclasses.replace(method, normalize=False)
    assert selected(raw, dataclasses.replace(problem, scores=25e3 * problem.scores), 15) == list(range(15))


@pytest.mark.parametrize("keep", [0.5, 0.9, 0.97, 1.0])
@pytest.mark.parametrize("method", [Mmr(), Mmr(published=True), KDpp(), MsDpp()], ids=lambda m: type(m).__name__)
def test_keep_finds_the_largest_strength(method, keep):
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
        assert len(set(ids(rows, Mmr(1.0)))) == len(set(ids(rows, KDpp(0.9)))) == 12
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


def clusters_by_definition(problem, clusters, seed):
    rows = joined(features(problem), problem.signs, problem.weights, vectors(problem))
    labels, _ = kmeans(rows, clusters, seed)
    members = {}
    for i in sorted(range(len(rows)), key=lambda i: (-problem.scores[i], i)):
        members.setdefault(labels[i], []).append(i)
    ranked = sorted(members.values(), key=lambda own: -np.mean(problem.scores[own]))
    if (problem.signs < 0).any():
        return [i for own in ranked for i in own]
    longest = max(len(own) for own in ranked)
    return [own[turn] for turn in range(longest) for own in ranked if turn < len(own)]


@pytest.mark.parametrize("clusters", [1, 5, 40])
@pytest.mark.parametrize("signs", [(1, 1), (-1,), ()], ids=str)
def test_clustering_is_the_definition(clusters, signs):
    problem = make_problem(signs=signs)
    assert selected(Clustering(clusters=clusters, seed=1), problem, 30) == clusters_by_definition(problem, clusters, 1)


def test_clusters_of_equal_scores_are_ranked_by_position():
    problem = make_problem(scores=np.full(30, 0.1))  # 0.1 * 3 / 3 is not 0.1: means would not tie
    rows = joined(features(problem), problem.signs, problem.weights, vectors(problem))
    labels = kmeans(rows, 7, 0)[0].tolist()
    opened = [labels[i] for i in selected(Clustering(clusters=7), problem, 30)]
    assert list(dict.fromkeys(opened)) == list(dict.fromkeys(labels))


def test_strength_of_clustering_mixes_two_rankings():
    problem = make_problem(seed=3, signs=(-1, -1))
    full = selected(Clustering(clusters=6), problem, 30)
    places = {i: 0.75 * i + 0.25 * full.index(i) for i in range(30)}
    expected = sorted(range(30), key=lambda i: (places[i], i))
    assert selected(Clustering(strength=0.25, clusters=6), problem, 30) == expected


def kdpp_kernel(problem, theta, beta):
    if not len(problem.signs):
        mixed = similarity(vectors(problem))
    else:
        parts = [s * similarity(f) for s, f in zip(problem.signs, features(problem), strict=True)]
        mixed = np.average(parts, axis=0, weights=problem.weights)
        if vectors(problem) is not None:
            mixed = (1 - beta) * mixed + beta * similarity(vectors(problem))
    alpha = np.exp(theta / (2 * (1 - theta)) * problem.scores)
    return np.diag(alpha) @ mixed @ np.diag(alpha)


@pytest.mark.parametrize(("strength", "beta"), [(0.1, 0.5), (1.0, 0.6), (0.5, 1.0)])
@pytest.mark.parametrize("shape", [{}, {"weights": (1, 4)}, {"with_vectors": False}, {"signs": ()}], ids=str)
def test_every_step_of_kdpp_is_the_largest_determinant(strength, beta, shape):
    problem = make_problem(count=25, **shape)
    expected = largest_determinants(kdpp_kernel(problem, 1 - strength, beta), 10)
    assert selected(KDpp(strength, beta, normalize=False), problem, 10) == expected
    # Rescaled scores, computed beforehand, select the same.
    rescaled = dataclasses.replace(problem, scores=problem.relevance_of(0, robust=True))
    expected = largest_determinants(kdpp_kernel(rescaled, 1 - strength, beta), 10)
    assert selected(KDpp(strength, beta), problem, 10) == expected


@pytest.mark.parametrize(("strength", "beta"), [(0.1, 0.5), (0.2, 0.4)])
def test_released_kdpp_is_the_published_update(strength, beta):
    problem = make_problem(count=25)
    expected = released_greedy(kdpp_kernel(problem, 1 - strength, beta), problem.scores, 10)
    assert selected(KDpp(strength, beta, released=True), problem, 10) == expected


@pytest.mark.parametrize("released", [False, True])
def test_focus_has_no_positive_variance_up_to_beta_one_half(released):
    problem = make_problem(signs=(-1, -1), count=20)
    assert selected(KDpp(0.1, beta=0.4, released=released), problem, 6) == [19, 0, 1, 2, 3, 4]  # the least relevant
    assert selected(KDpp(0.1, beta=0.5, released=released), problem, 6) == [0, 1, 2, 3, 4, 5]


def test_a_constant_added_to_the_scores_changes_nothing():
    scores = make_problem(seed=6).scores
    raw = KDpp(0.2, normalize=False)
    chosen = [selected(raw, make_problem(seed=6, scores=scores + c), 15) for c in (0, 7, 900, -900)]
    assert chosen[0] == chosen[1] == chosen[2] == chosen[3]


def test_similarity_is_exact_for_copies_and_the_definition_elsewhere():
    rng = np.random.default_rng(0)
    for width in (1, 3, 40):
        rows = rng.normal(size=(30, width))
        rows[5] = rows[6] + 1e-9
        rows[20:] = rows[:10]
        rows[28:] = 0.0
        matrix = Similarity(rows).of(0, 30)
        np.testing.assert_allclose(matrix, similarity(rows), rtol=0, atol=1e-12)
        assert (np.diagonal(matrix) == 1).all()
        assert (matrix[np.arange(8), np.arange(20, 28)] == 1).all()
        by_row = np.array([Similarity(rows).of(i, i + 1)[0] for i in range(30)])
        np.testing.assert_allclose(by_row, matrix, rtol=0, atol=1e-12)
        assert (by_row == 1)[matrix == 1].all()


every_variant = pytest.mark.parametrize("normalize", [None, "tn", "tn+tvms"])


def logarithm(rows):
    return np.real(logm(similarity(rows) + 1e-3 * np.eye(len(rows))))


def to_norm(matrix, length):
    return matrix * length / np.linalg.norm(matrix)


def msdpp_kernel(problem, theta, beta, normalize=None):
    """The published formulas, with scipy."""
    scores = problem.scores
    parts = [logarithm(rows) for rows in features(problem)]
    image = None if vectors(problem) is None else logarithm(vectors(problem))
    length = np.linalg.norm(np.log(scores))
    if normalize is not None:
        common = length if normalize == "tn" else 1.0
        parts = [to_norm(part, common) for part in parts]
        image = None if image is None else to_norm(image, common)
    combined = image
    if parts:
        signed = [s * t for s, t in zip(problem.signs, parts, strict=True)]
        combined = np.average(signed, axis=0, weights=problem.weights)
        if normalize == "tn":
            combined = to_norm(combined, length)
        if image is not None:
            combined = (1 - beta) * combined + beta * image
    if normalize == "tn+tvms":
        scores = np.exp(np.log(scores) / length)
        combined = to_norm(combined, np.linalg.norm(np.log(scores)))
    alpha = np.diag(np.exp(theta / (2 * (1 - theta)) * scores))
    return alpha @ expm(combined) @ alpha


@every_variant
@pytest.mark.parametrize(
    ("shape", "strength", "beta"),
    [
        ({"signs": (1, -1), "weights": (1, 2)}, 0.1, 0.5), ({"signs": (-1, -1), "weights": (1, 2)}, 1.0, 0.6),
        ({"with_vectors": False}, 0.1, 0.5), ({"signs": ()}, 0.1, 0.5),
    ],
)  # fmt: skip
def test_every_step_of_msdpp_is_the_largest_determinant(normalize, shape, strength, beta):
    problem = make_problem(seed=1, count=15, **shape)
    expected = largest_determinants(msdpp_kernel(problem, 1 - strength, beta, normalize), 7)
    assert selected(MsDpp(strength, beta, normalize), problem, 7) == expected


@every_variant
@pytest.mark.parametrize("signs", [(1, 1), (1, -1)], ids=str)
def test_released_msdpp_is_the_published_update(normalize, signs):
    problem = make_problem(count=25, signs=signs)
    expected = released_greedy(msdpp_kernel(problem, 0.9, 0.5, normalize), problem.scores, 10)
    assert selected(MsDpp(0.1, 0.5, normalize, released=True), problem, 10) == expected


def test_exponents_beyond_the_largest_are_scaled_down():
    tangent = np.diag([0.5, 0.0, -0.5]) + 200.0 * np.eye(3)
    matrix = combine(tangent[None], None, np.ones(3), np.ones(1), np.ones(1), 0.0, None)
    np.testing.assert_allclose(np.diag(matrix), np.exp([100.0, 99.5, 99.0]), rtol=1e-12)


@every_variant
def test_opposite_wishes_for_one_attribute_cancel(normalize):
    problem = make_problem(count=20)
    place = tangents(features(problem)[:1])[0]
    signs, weights = np.array([1.0, 1.0, -1.0]), np.array([0.1, 0.2, 0.3])  # 0.1 + 0.2 - 0.3 is not 0
    matrix = combine(np.stack([place] * 3), None, problem.scores, signs, weights, 0.5, normalize)
    np.testing.assert_allclose(matrix, np.eye(20), atol=1e-12)


@pytest.mark.parametrize("normalize", ["tn", "tn+tvms"])
def test_normalising_needs_positive_scores(normalize):
    even = make_problem(count=6, scores=np.ones(6))  # there is no tangent to scale to
    assert selected(MsDpp(0.5, normalize=normalize), even, 6) == [0, 1, 2, 3, 4, 5]
    problem = make_problem(count=3, scores=[0.5, 0.2, -0.1])
    with pytest.raises(InputError, match=r"^MsDpp.normalize takes logarithms and needs scores > 0, got -0.1$"):
        MsDpp(normalize=normalize).select(problem, k=2)
    assert len(selected(MsDpp(), problem, 2)) == 2


@every_variant
def test_copies_tie_although_their_eigenvectors_differ(normalize):
    picks = selected(MsDpp(0.5, normalize=normalize), bursts(), 30)
    for burst in range(20):
        own = [pick for pick in picks if pick // 10 == burst]
        assert own == sorted(own)
