"""k-means: properties of the labels, and the exact products under them."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mascot.kernels import kmeans as module
from mascot.kernels.kmeans import kmeans

# Few different values: duplicates, ties and fewer distinct points than clusters are common.
COARSE = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])
FINE = st.floats(-1e6, 1e6, allow_nan=False, width=32)
SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 5))
POINTS = st.one_of(arrays(np.float64, SHAPES, elements=COARSE), arrays(np.float64, SHAPES, elements=FINE))


@settings(max_examples=25)
@given(POINTS, st.integers(1, 12), st.integers(0, 5), st.sampled_from([1, 2, 50]))
def test_labels_are_a_partition_around_means(points, clusters, seed, iterations):
    labels, centres = kmeans(points, clusters, seed, iterations)
    distinct, member = np.unique(points, axis=0, return_inverse=True)
    assert len(centres) <= min(clusters, len(distinct))
    assert np.unique(labels).tolist() == list(range(len(centres)))  # no cluster is empty
    for label, centre in enumerate(centres):
        np.testing.assert_allclose(centre, points[labels == label].mean(axis=0), rtol=1e-12, atol=1e-9)
    if np.isin(points, [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]).all():  # equal points share a label, distinct ones suffice
        assert len(centres) == min(clusters, len(distinct))
        if iterations == 50:
            assert len(set(zip(member.ravel().tolist(), labels.tolist(), strict=True))) == len(distinct)


@settings(max_examples=15)
@given(POINTS, st.integers(1, 12), st.integers(-300, 300))
def test_labels_do_not_depend_on_type_unit_or_blocks(points, clusters, power):
    labels = kmeans(points, clusters, 0)[0].tolist()
    assert kmeans(points.astype(np.float32), clusters, 0)[0].tolist() == labels
    assert kmeans(points * 2.0**power, clusters, 0)[0].tolist() == labels
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_VALUES", 7)
        assert kmeans(points, clusters, 0)[0].tolist() == labels


def test_labels_are_those_of_earlier_versions():
    assert [part.shape for part in kmeans(np.empty((0, 7)), 5, seed=0)] == [(0,), (0, 7)]
    points = np.random.default_rng(0).normal(size=(60, 8))
    earlier = "304133102334043134000104404211334331101301333112034230441214"
    assert "".join(map(str, kmeans(points, 5, seed=3)[0])) == earlier


def test_an_outlier_does_not_blur_the_other_points():
    points = np.concatenate([np.repeat(np.eye(4), 5, axis=0), np.full((1, 4), 1e29)])
    labels, centres = kmeans(points, 5, seed=0)
    assert len(centres) == 5
    assert np.unique(labels[:20].reshape(4, 5), axis=1).shape == (4, 1)


PROGRAM = """
import hashlib
import numpy as np
from mascot.kernels.kmeans import kmeans

rng = np.random.default_rng(0)
for count, width, clusters in ((300, 100, 12), (2000, 384, 10)):
    labels, centres = kmeans(rng.normal(size=(count, width)), clusters, 0, iterations=6)
    print(hashlib.sha256(labels.tobytes() + centres.tobytes()).hexdigest())
"""


def test_labels_do_not_depend_on_the_number_of_threads():
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    digests = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env={**os.environ, **dict.fromkeys(names, threads)}, check=True,
            capture_output=True,
        ).stdout
        for threads in ("1", "3")
    }  # fmt: skip
    assert len(digests) == 1
