"""The baselines against their definitions, on problems of the shape of the published runs."""

import dataclasses

import numpy as np
import pytest
from scipy.linalg import expm, logm

import mascot as mc
from mascot.bench.methods import Clustering, KDpp, MsDpp
from mascot.bench.methods.similarity import Similarity, joined_features
from mascot.bench.methods.tangents import combine, tangents
from mascot.errors import InputError, OptionError
from mascot.kernels.kmeans import kmeans
from tests.methods import queries
from tests.methods.queries import bursts, features, make_problem, selected, vectors


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
    KDpp(0.2, normalize=False), KDpp(1.0, beta=0.8, released=True), MsDpp(0.2), MsDpp(0.5, normalize="tn+tvms"),
    Clustering(strength=0.4, clusters=7),
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("signs", [(1, 1), (-1,)], ids=str)
def test_every_method(method, signs):
    queries.selects_as_every_method(method, signs)


def test_the_size_of_scores_and_outliers_change_nothing():
    queries.ignores_the_size_of_scores(KDpp(0.5))


@pytest.mark.parametrize("keep", [0.5, 0.9, 0.97, 1.0])
@pytest.mark.parametrize("method", [KDpp(), MsDpp()], ids=repr)
def test_keep_finds_the_largest_strength(method, keep):
    queries.finds_the_largest_strength(method, keep)


def clusters_by_definition(problem, clusters, seed):
    rows = joined_features(problem, 0)
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
    rows = joined_features(problem, 0)
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


@pytest.mark.parametrize("wish", [mc.limit("who", 1), mc.share("who", {"a": 0.5})], ids=["limit", "share"])
@pytest.mark.parametrize("method", [KDpp(), MsDpp(), Clustering()], ids=repr)
def test_limits_and_shares_are_refused(method, wish):
    candidates = mc.Candidates([0.9, 0.8], columns={"who": ["a", "b"]})
    with pytest.raises(OptionError, match=rf"^{type(method).__name__} cannot obey limit\(...\) or share\(...\)"):
        mc.rerank(candidates, [mc.spread("who"), wish], 2, method)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_there_may_be_no_candidates(method):
    empty = mc.Candidates(scores=[], columns={"who": []})
    assert mc.rerank(empty, mc.spread("who"), 5, method).ids == []


@pytest.mark.parametrize("method", [KDpp(), MsDpp(), Clustering(clusters=5)], ids=repr)
def test_a_reranker_ranks_as_rerank_does(method):
    rng = np.random.default_rng(0)
    columns, vectors = {"hour": rng.uniform(0, 24, 100)}, rng.normal(size=(100, 8))
    ranker = mc.Reranker(mc.spread(mc.HourOfDay("hour")), method).fit(columns, vectors)
    rows, scores = rng.permutation(100)[:80].reshape(2, 40), rng.random((2, 40))
    many = ranker.rerank_many(rows, scores, k=10)
    second = ranker.rerank_many(rows, scores, 10, already=many)
    for q in range(2):
        candidates = mc.Candidates(scores[q], rows[q], {"hour": columns["hour"][rows[q]]}, vectors[rows[q]])
        alone = mc.rerank(candidates, mc.spread(mc.HourOfDay("hour")), 10, method)
        assert ranker.rerank(rows[q], scores[q], 10).ids == alone.ids == many[q].ids
        assert not set(second[q].ids) & set(alone.ids)
