"""Limits on the cost of a request, estimated before any work. The library itself has no limits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

import mascot as mc
from mascot.attributes import Clusters, Cycle, Grid
from mascot.attributes.category import Combination, labels_of
from mascot.kernels import native
from mascot.wishes import AnyWish

_MOST_REACHED = 10_000_000  # candidates x bins per candidate
_MOST_DENSE = 30_000_000  # candidates x bins, for methods that compute all of them
_MOST_FEATURES = 5_000_000  # candidates x labels and clusters, for Mmr
_MOST_COMPARED = 400_000_000  # candidates x dimension x results, for Mmr and Vectors
_MOST_CLUSTERED = 400_000_000  # candidates x dimension x clusters
_LABELLED = (mc.Category, Combination)
_KEEP = 4  # cost factor of searching for the strength
_NUMPY = 4_000_000  # candidates x bins of a dense array in numpy
_SMALL = 60_000  # candidates x bins per candidate, up to which a request takes about a millisecond
_GLOBE = 32  # the largest number of bins that a point on the globe or on a line belongs to
_HOURS = 96  # bins of a focus on the hour
_FEW = 1000  # the labels of fewer candidates are not counted but assumed to be distinct
_MOST_LABELS = 400_000  # labels of all candidates, over all wishes: half a second
_MOST_CHARACTERS = 20_000_000  # of the labels of combinations
_SCALED = 2000  # number of bins if the width depends on the candidates


def check(candidates: mc.Candidates, wishes: Sequence[AnyWish], method: Any, k: int, keep: bool = False) -> bool:
    """Refuse a request that is too expensive; return whether it takes only about a millisecond."""
    count, attributes = len(candidates), [wish.attribute for wish in wishes]
    labels = _count_labels(attributes, candidates)
    sizes = [_bins(attribute, candidates) for attribute in attributes]
    bins, reach = sum(size[0] for size in sizes), sum(min(size) for size in sizes)
    _require(count * reach, _MOST_REACHED // (_KEEP if keep else 1), "candidates x bins per candidate")
    work = sum(count * _width(it, candidates) * it.count for it in attributes if isinstance(it, Clusters))
    if isinstance(method, mc.Mmr):
        labelled = (mc.Category, Clusters)
        pairs = zip(sizes, attributes, strict=True)
        features = sum(size[0] if isinstance(attribute, labelled) else 3 for size, attribute in pairs)
        _require(count * features, _MOST_FEATURES, "candidates x labels, for Mmr")
        width = features + (0 if candidates.vectors is None else candidates.vectors.shape[1])
        cost = count * width * min(k, count) * (_KEEP if keep else 1)
        _require(cost, _MOST_COMPARED, "candidates x dimension x results, for Mmr")
    elif isinstance(method, mc.Mascot) and (
        method.bin_weight == "query" or any(getattr(it, "missing", "last") == "neutral" for it in attributes)
    ):
        rule = "candidates x bins, with bin_weight 'query' or missing 'neutral'"
        _require(count * max((size[0] for size in sizes), default=0), _MOST_DENSE, rule)
    compared = sum(_width(attribute, candidates) for attribute in attributes if isinstance(attribute, mc.Vectors))
    work_on_vectors = count * compared * min(k, count) * (_KEEP if keep else 1)
    _require(work_on_vectors, _MOST_COMPARED, "Vectors: candidates x numbers x results")
    _require(work, _MOST_CLUSTERED, "candidates x dimension x clusters")
    if not native.available():
        _require(count * bins, _NUMPY, "candidates x bins, without the native kernel")
    has_clusters = any(isinstance(attribute, (Clusters, mc.Vectors)) for attribute in attributes)
    is_plain = isinstance(method, (mc.Mascot, mc.Relevance)) and not keep and not has_clusters
    return is_plain and count * reach <= _SMALL and labels <= _SMALL


def _require(cost: int, most: int, rule: str) -> None:
    if cost > most:
        raise mc.OptionError(f"request too expensive ({rule}: {cost:,} > {most:,}): send fewer candidates or bins")


def _count_labels(attributes: Sequence[Any], candidates: mc.Candidates) -> int:
    """Return the number of labels over all attributes; refuse too many of them, before any is read."""
    owners = [
        it.columns if isinstance(it, Combination) else (it.column,) for it in attributes if isinstance(it, _LABELLED)
    ]
    cells = {name: candidates.columns.get(name, ()) for name in dict.fromkeys(chain(*owners))}
    lengths = {name: np.fromiter(map(_length, column), np.int64, len(column)) for name, column in cells.items()}
    counts = [np.prod([lengths[name] for name in owner], axis=0) for owner in owners]
    labels = sum(int(count.sum()) for count in counts)
    _require(labels, _MOST_LABELS, "labels of all candidates, over all wishes")
    characters = 0
    for owner, count in zip(owners, counts, strict=True):
        if len(owner) > 1:
            longest = [np.fromiter(map(_longest, cells[name]), np.int64, len(cells[name])) for name in owner]
            characters += int((count * np.sum(longest, axis=0)).sum())
    _require(characters, _MOST_CHARACTERS, "characters of combined labels")
    return labels


def _length(cell: Any) -> int:
    return len(cell) if isinstance(cell, (list, tuple, np.ndarray)) else 1


def _longest(cell: Any) -> int:
    """Return the length of the longest label of a cell."""
    labels = cell if isinstance(cell, (list, tuple, np.ndarray)) else (cell,)
    return max((len(str(label)) for label in labels), default=0)


def _bins(attribute: Any, candidates: mc.Candidates) -> tuple[int, int]:
    """Return upper bounds of the number of bins, and of the bins that one candidate belongs to."""
    if isinstance(attribute, mc.Category):
        cells = candidates.columns.get(attribute.column, ())
        if isinstance(cells, np.ndarray) and cells.dtype.kind != "O":
            return len(cells) if len(cells) <= _FEW else len(np.unique(cells)), 1
        labels = [list(labels_of(cell)) for cell in cells]
        try:
            distinct = len({label for cell in labels for label in cell})
        except TypeError:  # the library reports which cell cannot be a label
            distinct = sum(map(len, labels))
        return distinct, max(map(len, labels), default=0)
    if isinstance(attribute, Clusters):
        return attribute.count, 1
    if isinstance(attribute, mc.Vectors):
        return 1, 1
    if isinstance(attribute, mc.Weekday):
        return 7, 7
    if isinstance(attribute, (Cycle, mc.DayOfYear, mc.HourOfDay)):
        bins = attribute.bins or _HOURS
        return bins, bins
    if isinstance(attribute, Grid):
        return attribute.cells**2, attribute.cells**2
    bins = _GLOBE * len(candidates)
    has_fixed_width = any(getattr(attribute, name, None) for name in ("sigma", "sigma_days", "sigma_km"))
    return bins if has_fixed_width else min(_SCALED, bins), _GLOBE


def _width(attribute: Clusters | mc.Vectors, candidates: mc.Candidates) -> int:
    """Return the dimension of the vectors that an attribute reads."""
    vectors: Any = candidates.vectors if attribute.column is None else candidates.columns.get(attribute.column)
    if vectors is None:
        return 0
    if vectors.ndim == 2:
        return int(vectors.shape[1])
    return max((len(cell) for cell in vectors if isinstance(cell, (list, tuple))), default=0)
