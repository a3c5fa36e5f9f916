"""Limits on the cost of a request, estimated before any work. The library itself has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import mascot as mc
from mascot.attributes.category import labels_of
from mascot.kernels import native

MOST_PAIRED = {mc.KDpp: 1000, mc.MsDpp: 500, mc.Branches: 2000}  # candidates: all pairs of them are compared
MOST_REACHED = 10_000_000  # candidates x bins that each of them reaches
MOST_DENSE = 30_000_000  # candidates x bins, for methods that compute all of them
MOST_FEATURES = 5_000_000  # candidates x labels and clusters, for the methods that compare candidates
MOST_COMPARED = 400_000_000  # candidates x numbers of each x results, for Mmr
MOST_CLUSTERED = 400_000_000  # candidates x numbers of each x clusters
_KEEP = 4  # factor of work when the strength is searched for
_NUMPY = 4_000_000  # candidates x bins of a dense array in numpy
_SMALL = 60_000  # candidates x bins each of them reaches, up to which a request takes about a millisecond
_GLOBE = 32  # bins that a point on the globe or on a line reaches, at most
_FEW = 1000  # candidates whose labels need not be counted: they may all differ
_SCALED = 2000  # bins in all if the width depends on the candidates


@dataclass(frozen=True, slots=True)
class Cost:
    """The estimated cost of a request."""

    small: bool  # about a millisecond


def check(candidates: mc.Candidates, wishes: Sequence[mc.AnyWish], method: Any, k: int, keep: bool = False) -> Cost:
    """Estimate the cost of a request; refuse one that is too large."""
    count = len(candidates)
    for owner in (method, *(wish.attribute for wish in wishes)):
        most = MOST_PAIRED.get(type(owner), count)
        if count > most:
            name = type(owner).__name__
            raise mc.OptionError(f"{name} compares all pairs: here candidates must be at most {most}, got {count}")
    sizes = [_bins(wish.attribute, candidates) for wish in wishes]
    bins, reach = sum(size[0] for size in sizes), sum(min(size) for size in sizes)
    _require(count * reach, MOST_REACHED // (_KEEP if keep else 1), "candidates x bins each of them reaches")
    cluster_attributes = [wish.attribute for wish in wishes if isinstance(wish.attribute, mc.Clusters)]
    work = sum(count * _width(attribute, candidates) * attribute.count for attribute in cluster_attributes)
    is_plain = isinstance(method, (mc.Mascot, mc.Relevance))
    if isinstance(method, (mc.Clustering, mc.KDpp, mc.Mmr, mc.MsDpp)):
        work += _check_comparisons(candidates, wishes, [size[0] for size in sizes], method, k)
    elif isinstance(method, mc.Mascot) and (method.bin_weight == "query" or _has_neutral(wishes)):
        rule = "bin_weight 'query' and missing 'neutral' look at all bins: candidates x bins"
        _require(count * max((size[0] for size in sizes), default=0), MOST_DENSE, rule)
    _require(work, MOST_CLUSTERED, "candidates x numbers of a vector x clusters")
    has_branches = any(isinstance(wish.attribute, mc.Branches) for wish in wishes)
    small = is_plain and not keep and not cluster_attributes and not has_branches and count * reach <= _SMALL
    if not native.available():
        _require(count * bins, _NUMPY, "without the native kernel: candidates x bins")
    return Cost(small)


def most_candidates(method: Any, wishes: Sequence[mc.AnyWish], most: int) -> int:
    """Return how many candidates the method and the attributes of the wishes take, at most `most`."""
    return min(MOST_PAIRED.get(type(owner), most) for owner in (method, *(wish.attribute for wish in wishes)))


def _check_comparisons(
    candidates: mc.Candidates, wishes: Sequence[mc.AnyWish], bins: Sequence[int], method: Any, k: int
) -> int:
    """Check a method that compares candidates; return its work on clusters."""
    count, width = len(candidates), 0 if candidates.vectors is None else candidates.vectors.shape[1]
    label_types = (mc.Branches, mc.Category, mc.Clusters)
    pairs = zip(bins, wishes, strict=True)
    features = sum(size if isinstance(wish.attribute, label_types) else 3 for size, wish in pairs)
    _require(count * features, MOST_FEATURES, f"{type(method).__name__}: candidates x labels")
    if isinstance(method, mc.Mmr):
        _require(count * (width + features) * min(k, count), MOST_COMPARED, "Mmr: candidates x numbers x results")
    return count * (width + features) * method.clusters if isinstance(method, mc.Clustering) else 0


def _require(cost: int, most: int, rule: str) -> None:
    if cost > most:
        raise mc.OptionError(f"{rule} must be at most {most:,}, got {cost:,}: ask for less at once")


def _has_neutral(wishes: Sequence[mc.AnyWish]) -> bool:
    return any(getattr(wish.attribute, "missing", "last") == "neutral" for wish in wishes)


def _bins(attribute: Any, candidates: mc.Candidates) -> tuple[int, int]:
    """Return upper bounds: the number of bins, and how many of them one candidate reaches."""
    if isinstance(attribute, mc.Category):
        cells = candidates.columns.get(attribute.column, ())
        if isinstance(cells, np.ndarray) and cells.dtype.kind != "O":
            return len(cells) if len(cells) <= _FEW else len(np.unique(cells)), 1
        labels = [list(labels_of(cell)) for cell in cells]
        return _distinct(labels), max(map(len, labels), default=0)
    if isinstance(attribute, mc.Clusters):
        return attribute.count, 1
    if isinstance(attribute, mc.Branches):
        return sum(attribute.counts), len(attribute.counts)
    if isinstance(attribute, mc.Weekday):
        return 7, 7
    if isinstance(attribute, (mc.Cycle, mc.DayOfYear, mc.HourOfDay)):
        return attribute.bins, attribute.bins
    if isinstance(attribute, mc.Grid):
        return attribute.cells**2, attribute.cells**2
    bins = _GLOBE * len(candidates)
    has_fixed_width = any(getattr(attribute, name, None) for name in ("sigma", "sigma_days", "sigma_km"))
    return bins if has_fixed_width else min(_SCALED, bins), _GLOBE


def _distinct(labels: Sequence[Sequence[Any]]) -> int:
    try:
        return len({label for cell in labels for label in cell})
    except TypeError:  # the library reports which cell cannot be a label
        return sum(map(len, labels))


def _width(attribute: mc.Clusters, candidates: mc.Candidates) -> int:
    """Return the dimension of the vectors that are clustered."""
    if attribute.column is None:
        return 0 if candidates.vectors is None else candidates.vectors.shape[1]
    column = candidates.columns.get(attribute.column)
    if column is None:
        return 0
    if column.ndim == 2:
        return int(column.shape[1])
    return max((len(cell) for cell in column if isinstance(cell, (list, tuple))), default=0)
