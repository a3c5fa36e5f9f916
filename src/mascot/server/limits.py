"""What a request may cost, estimated before it is worked on: the library itself has no limits, a server must."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mascot as mc
from mascot.attributes.category import labels_of

MOST_PAIRED = {mc.KDpp: 1000, mc.MsDpp: 500}  # candidates: all pairs of them are compared, and matrices inverted
MOST_REACHED = 10_000_000  # candidates x bins each of them reaches
MOST_LAID_OUT = 30_000_000  # candidates x bins, where all of them are laid out
MOST_FEATURES = 5_000_000  # candidates x labels and clusters, for the methods that compare candidates
MOST_COMPARED = 400_000_000  # candidates x numbers of each x results, for Mmr
MOST_CLUSTERED = 400_000_000  # candidates x numbers of each x clusters
_KEEP = 4  # times as much work where the strength is searched for
_DENSE = 4_000_000  # candidates x bins that may be laid out in full
_REACHED = 32  # bins a point on the globe or on a line reaches, at most
_SCALED = 2000  # bins in all where the width follows the candidates


def check(candidates: mc.Candidates, wishes: Sequence[mc.Wish], method: Any, k: int) -> str:
    """Refuse what would cost too much. Gives the backend that does the rest without laying it out in full."""
    count, name = len(candidates), type(method).__name__
    most = MOST_PAIRED.get(type(method), count)
    if count > most:
        raise mc.OptionError(f"{name} compares all pairs: here candidates must be at most {most}, got {count}")
    bins = [_bins(wish.attribute, candidates) for wish in wishes]
    reached = sum(min(own, _reached(wish.attribute, candidates)) for own, wish in zip(bins, wishes, strict=True))
    searched = isinstance(method, mc.Mascot) and method.keep is not None
    _require(count * reached, MOST_REACHED // (_KEEP if searched else 1), "candidates x bins each of them reaches")
    width = 0 if candidates.vectors is None else candidates.vectors.shape[1]
    clustered = sum(
        count * _width(wish.attribute, candidates) * wish.attribute.count
        for wish in wishes
        if isinstance(wish.attribute, mc.Clusters)
    )
    if isinstance(method, (mc.Clustering, mc.KDpp, mc.Mmr, mc.MsDpp)):
        labelled = (mc.Category, mc.Clusters)
        features = sum(
            own if isinstance(wish.attribute, labelled) else 3 for own, wish in zip(bins, wishes, strict=True)
        )
        _require(count * features, MOST_FEATURES, f"{name}: candidates x labels")
        if isinstance(method, mc.Mmr):
            _require(count * (width + features) * min(k, count), MOST_COMPARED, "Mmr: candidates x numbers x results")
        if isinstance(method, mc.Clustering):
            clustered += count * (width + features) * method.clusters
    elif isinstance(method, mc.Mascot) and (method.bin_weight == "query" or _neutral(wishes)):
        what = "bin_weight 'query' and missing 'neutral' look at all bins: candidates x bins"
        _require(count * max(bins, default=0), MOST_LAID_OUT, what)
    _require(clustered, MOST_CLUSTERED, "candidates x numbers of a vector x clusters")
    return "numba" if count * sum(bins) > _DENSE else "auto"


def _require(cost: int, most: int, what: str) -> None:
    if cost > most:
        raise mc.OptionError(f"{what} must be at most {most:,}, got {cost:,}: ask for less at once")


def _neutral(wishes: Sequence[mc.Wish]) -> bool:
    return any(getattr(wish.attribute, "missing", "last") == "neutral" for wish in wishes)


def _bins(attribute: Any, candidates: mc.Candidates) -> int:
    """How many bins there will be at most."""
    if isinstance(attribute, mc.Category):
        cells = candidates.columns.get(attribute.column, ())
        return len({label for cell in cells for label in labels_of(cell)})
    if isinstance(attribute, mc.Clusters):
        return attribute.count
    if isinstance(attribute, mc.Weekday):
        return 7
    if isinstance(attribute, (mc.Cycle, mc.DayOfYear, mc.HourOfDay)):
        return attribute.bins
    every = _REACHED * len(candidates)
    given = any(getattr(attribute, name, None) for name in ("sigma", "sigma_days", "sigma_km"))
    return every if given else min(_SCALED, every)


def _reached(attribute: Any, candidates: mc.Candidates) -> int:
    """How many bins one candidate reaches at most."""
    if isinstance(attribute, mc.Category):
        cells = candidates.columns.get(attribute.column, ())
        return max((len(list(labels_of(cell))) for cell in cells), default=0)
    if isinstance(attribute, mc.Clusters):
        return 1
    if isinstance(attribute, (mc.Cycle, mc.DayOfYear, mc.HourOfDay)):
        return attribute.bins
    return _REACHED


def _width(attribute: mc.Clusters, candidates: mc.Candidates) -> int:
    """Numbers of a vector that is put into clusters."""
    vectors = candidates.vectors if attribute.column is None else candidates.columns.get(attribute.column)
    return vectors.shape[1] if vectors is not None and vectors.ndim == 2 else 0
