"""Seconds of `Clusters` and of scikit-learn's KMeans, in one run: `python -m benchmarks.clusters [--quick]`.

Both start by greedy k-means++ and make at most 50 rounds of Lloyd's algorithm, once. Medians over
interleaved rounds. "noise" has no clusters to find, so that all 50 rounds are made; "looks" are unit
vectors around 200 centres.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.cluster import KMeans

import mascot as mc

Vectors = NDArray[Any]  # float32
Labels = NDArray[Any]  # integers

WIDTH = 384


def noise(rows: int) -> Vectors:
    return np.random.default_rng(0).standard_normal((rows, WIDTH), dtype=np.float32)


def looks(rows: int) -> Vectors:
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((200, WIDTH), dtype=np.float32)
    vectors = centres[rng.integers(200, size=rows)] + noise(rows)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def ours(vectors: Vectors, clusters: int) -> Labels:
    return mc.Clusters(clusters, seed=0).membership({}, vectors).indices


def theirs(vectors: Vectors, clusters: int) -> Labels:
    model = KMeans(clusters, init="k-means++", n_init=1, max_iter=50, tol=0.0, random_state=0)
    labels: Labels = model.fit(vectors).labels_
    return labels


def inertia(vectors: Vectors, labels: Labels) -> float:
    """The sum of squared distances from the mean of the own cluster, in float64."""
    total = 0.0
    for label in np.unique(labels):
        members = vectors[labels == label].astype(np.float64)
        total += float(((members - members.mean(axis=0)) ** 2).sum())
    return total


def compare(name: str, vectors: Vectors, clusters: int, rounds: int) -> None:
    tasks: dict[str, Callable[[Vectors, int], Labels]] = {"Clusters": ours, "KMeans": theirs}
    seconds: dict[str, list[float]] = {task: [] for task in tasks}
    inertias: dict[str, float] = {}
    for _ in range(rounds):
        for task, cluster in tasks.items():
            start = time.perf_counter()
            labels = cluster(vectors, clusters)
            seconds[task].append(time.perf_counter() - start)
            inertias[task] = inertia(vectors, labels)
    medians = {task: statistics.median(values) for task, values in seconds.items()}
    print(
        f"{name:6} {clusters:8} {medians['Clusters']:9.2f} s {medians['KMeans']:9.2f} s"
        f" {medians['KMeans'] / medians['Clusters']:7.2f}x {inertias['Clusters'] / inertias['KMeans']:9.4f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Clusters against scikit-learn's KMeans")
    parser.add_argument("--quick", action="store_true", help="10,000 vectors, one round")
    options = parser.parse_args()
    rows, rounds = (10_000, 1) if options.quick else (100_000, 3)
    print(f"{rows:,} x {WIDTH} float32, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, median of {rounds}")
    print(f"numpy {np.__version__}, scikit-learn {sklearn.__version__}, {platform.machine()}")
    print(f"{'data':6} {'clusters':>8} {'Clusters':>11} {'KMeans':>11} {'faster':>8} {'inertia':>9}")
    for data in (noise, looks):
        vectors = data(rows)
        for clusters in (10, 100):
            compare(data.__name__, vectors, clusters, rounds)


if __name__ == "__main__":
    main()
