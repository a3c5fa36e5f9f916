"""The formulas of the paper and of its released code, written literally and without the package.

Arrays: N candidates, U bins, K results; `scores` are [N], best first. Attributes are the places (`lat`, `lon` in
degrees) and the hours (0 to 24). Nothing here is fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, expm

Array = NDArray[Any]


def grid_bins(lat: Array, lon: Array, cells: int, sigma: float) -> Array:
    """Return [N, cells * cells] memberships: the centres include the ends, distances are in degrees without wrap."""
    latitudes, longitudes = np.linspace(-90, 90, cells), np.linspace(-180, 180, cells)
    columns = [
        np.exp(-((lat - y) ** 2 + (lon - x) ** 2) / (2 * sigma**2)) for y in latitudes for x in longitudes
    ]  # fmt: skip
    return _thresholded(np.stack(columns, axis=1))


def hour_bins(hours: Array, sigma: float) -> Array:
    """Return [N, 24] memberships with the cyclic distance."""
    distances = np.abs(hours[:, None] - np.arange(24))
    return _thresholded(np.exp(-(np.minimum(distances, 24 - distances) ** 2) / (2 * sigma**2)))


def _thresholded(memberships: Array) -> Array:
    return np.where(memberships < 0.01, 0.0, memberships)


def relevance(scores: Array) -> Array:
    return np.asarray((scores - scores.min()) / (scores.max() - scores.min() + 1e-8))


def importance(bins: Array, r: Array) -> Array:
    """Return [U] Omega: the largest membership times relevance."""
    return np.asarray((bins * r[:, None]).max(axis=0))


def objective(chosen: Sequence[int], r: Array, bins: Array, omega: Array, strength: float) -> float:
    """Return f(S) for spread."""
    coverage = 1 - np.prod(1 - bins[list(chosen)], axis=0)
    return float((1 - strength) * r[list(chosen)].sum() + strength * (omega * coverage).sum())


def greedy(
    scores: Array, blocks: Sequence[Array], signs: Sequence[int], strength: float, k: int, weight: str, normalize: bool
) -> list[int]:
    """Return the K positions of Algorithm 1; `weight` "uniform" and `normalize` false are the ablations."""
    r = relevance(scores) if normalize else scores
    omegas = [importance(bins, r) if weight == "query" else np.ones(bins.shape[1]) for bins in blocks]
    uncovered = [np.ones(bins.shape[1]) for bins in blocks]
    chosen: list[int] = []
    for _ in range(k):
        best, highest = -1, -np.inf
        for i in range(len(scores)):
            gain = (1 - strength) * r[i]
            for sign, bins, omega, left in zip(signs, blocks, omegas, uncovered, strict=True):
                gain += sign * strength * float((omega * left * bins[i]).sum())
            if i not in chosen and gain > highest:
                best, highest = i, gain
        chosen.append(best)
        uncovered = [left * (1 - bins[best]) for left, bins in zip(uncovered, blocks, strict=True)]
    return chosen


def place_points(lat: Array, lon: Array) -> Array:
    """Return [N, 3] points on the unit sphere."""
    y, x = np.radians(lat), np.radians(lon)
    return np.stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)], axis=1)


def hour_points(hours: Array) -> Array:
    """Return [N, 2] sine and cosine of the minutes of the day, divided by 1439 as published."""
    angle = 2 * np.pi * np.floor(hours * 60 + 1e-6) / 1439
    return np.stack([np.sin(angle), np.cos(angle)], axis=1)


def unit(rows: Array) -> Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def kernel(points: Array) -> Array:
    """Return [N, N] 1 / (1 + Euclidean distance)."""
    return np.asarray(1 / (1 + np.linalg.norm(points[:, None] - points[None], axis=-1)))


def mmr(scores: Array, images: Array, points: Sequence[Array], signs: Sequence[int], strength: float, k: int) -> Any:
    """Return the K positions of MMR on the concatenated features, whose signs vanish in the products."""
    parts = [sign / len(points) * block for sign, block in zip(signs, points, strict=True)]
    features = np.concatenate([images, *parts], axis=1)
    similarity = features @ features.T
    similarity = (similarity - similarity.min()) / (similarity.max() - similarity.min())
    chosen = [int(scores.argmax())]
    while len(chosen) < k:
        value = (1 - strength) * scores - strength * similarity[:, chosen].max(axis=1)
        value[chosen] = -np.inf
        chosen.append(int(value.argmax()))
    return chosen


def kdpp_matrix(images: Array, points: Sequence[Array], signs: Sequence[int], beta: float) -> Array:
    metadata = np.mean([sign * kernel(block) for sign, block in zip(signs, points, strict=True)], axis=0)
    return np.asarray((1 - beta) * metadata + beta * kernel(images))


def tangent(points: Array) -> Array:
    """Return [N, N] logm(S + 1e-3 I); eigenvalues below 0 count as 1."""
    values, vectors = eigh(kernel(points) + 1e-3 * np.eye(len(points)))
    return np.asarray((vectors * np.log(np.where(values < 0, 1.0, values))) @ vectors.T)


def msdpp_matrix(
    scores: Array, image: Array, tangents: Sequence[Array], signs: Sequence[int], beta: float, kind: str
) -> tuple[Array, Array]:
    """Return M and the relevance of "ms-dpp", "ms-dpp+tn" or "ms-dpp+tn+tvms" from the tangents of its kernels."""
    length = float(np.linalg.norm(np.log(scores)))
    common = {"ms-dpp": None, "ms-dpp+tn": length, "ms-dpp+tn+tvms": 1.0}[kind]
    parts = [part if common is None else _to_norm(part, common) for part in tangents]
    look = image if common is None else _to_norm(image, common)
    metadata = np.mean([sign * part for sign, part in zip(signs, parts, strict=True)], axis=0)
    if kind == "ms-dpp+tn":
        metadata = _to_norm(metadata, length)
    combined = (1 - beta) * metadata + beta * look
    if kind == "ms-dpp+tn+tvms":
        scores = np.exp(np.log(scores) / length)
        combined = _to_norm(combined, float(np.linalg.norm(np.log(scores))))
    return np.asarray(expm(combined)), scores


def _to_norm(matrix: Array, length: float) -> Array:
    return np.asarray(matrix * length / np.linalg.norm(matrix))


def map_inference(matrix: Array, relevances: Array, scores: Array, theta: float, k: int, released: bool) -> list[int]:
    """Return the K positions of greedy MAP; the released update divides by d^2 where the exact one divides by d."""
    quality = np.exp(theta / (2 * (1 - theta)) * relevances)
    ensemble = quality[:, None] * matrix * quality
    variance, rows = np.diag(ensemble).copy(), np.zeros((len(scores), 0))
    chosen = [int(variance.argmax())]
    while len(chosen) < k:
        last = chosen[-1]
        divisor = variance[last] + 1e-10 if released else np.sqrt(max(variance[last], 0.0))
        if divisor <= 0 or variance[last] <= 0:
            break
        update = (ensemble[last] - rows @ rows[last]) / divisor
        rows = np.column_stack([rows, update])
        variance = variance - update**2
        variance[chosen] = -np.inf
        if variance.max() <= 0:
            break
        chosen.append(int(variance.argmax()))
    return [*chosen, *(i for i in np.argsort(-scores, kind="stable").tolist() if i not in chosen)][:k]


def vendi(points: Array, order: float = 0.1, ridge: float = 1e-5) -> float:
    """Return the normalised Vendi score (V - 1) / (K - 1) of [K, d] points."""
    size = len(points)
    values = np.linalg.eigvalsh(kernel(points) / size + ridge * np.eye(size))
    return float((np.exp(np.log((values**order).sum()) / (1 - order)) - 1) / (size - 1))


def harmonic(values: Sequence[float]) -> float:
    return len(values) / sum(1 / value for value in values)


def average_precision(hits: Sequence[bool]) -> float:
    """Return the mean precision at the ranks of the positives found; 0 if none is found."""
    ranks = [rank for rank, hit in enumerate(hits, 1) if hit]
    return sum(place / rank for place, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0


def prs(diversities: Sequence[float]) -> float:
    """Return the mean of the slopes of the scaled values times the number of steps."""
    low, high = min(diversities), max(diversities)
    scaled = [(value - low) / (high - low) for value in diversities]
    return sum(after - before for before, after in pairwise(scaled))
