"""Clustering against its definition."""

import numpy as np
import pytest
from problems import features, make_problem, selected, vectors

from mascot.kernels.kmeans import kmeans
from mascot.kernels.similarity import joined
from mascot.methods.clustering import Clustering


def by_definition(problem, clusters, seed):
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
def test_is_the_definition(clusters, signs):
    problem = make_problem(signs=signs)
    assert selected(Clustering(clusters=clusters, seed=1), problem, 30) == by_definition(problem, clusters, 1)


def test_clusters_of_equal_scores_are_ranked_by_position():
    problem = make_problem(scores=np.full(30, 0.1))  # 0.1 * 3 / 3 is not 0.1: means would not tie
    rows = joined(features(problem), problem.signs, problem.weights, vectors(problem))
    labels = kmeans(rows, 7, 0)[0].tolist()
    opened = [labels[i] for i in selected(Clustering(clusters=7), problem, 30)]
    assert list(dict.fromkeys(opened)) == list(dict.fromkeys(labels))


def test_strength_mixes_two_rankings():
    problem = make_problem(seed=3, signs=(-1, -1))
    full = selected(Clustering(clusters=6), problem, 30)
    places = {i: 0.75 * i + 0.25 * full.index(i) for i in range(30)}
    expected = sorted(range(30), key=lambda i: (places[i], i))
    assert selected(Clustering(strength=0.25, clusters=6), problem, 30) == expected
